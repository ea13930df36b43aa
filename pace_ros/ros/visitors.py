"""Simulated visitors: they ask, listen to the end or interrupt, by topics alone. For sessions and campaigns."""
from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from pace_msgs import msg
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.qos import EVENTS, SENSOR
from pace_ros.turn import Content, Modality, Source

SETTLE = 1.0  # s for further listeners, a recorder above all, to know of a new node
QUIET = 0.3  # s without sound after which the robot has finished speaking
GIVEN_UP = 2.0  # s of quiet after its turn in which a moment to interrupt will not come any more
LOUD = 0.01  # rms from which it is heard
VOICE_HELD = 0.3  # s for which a visitor who interrupts is heard as voice activity
UTTERANCE, VOICE, STOP = 'utterance', 'voice', 'stop'
MOMENTS = {
    'filler': (Modality.SPEECH, Content.FILLER),
    'answer': (Modality.SPEECH, Content.ANSWER),
    'gesture': (Modality.GESTURE, Content.FILLER),
}


class RobotAbsent(RuntimeError):
    """The robot is not there or does not answer in time; the message says which."""


@dataclass(frozen=True)
class Interruption:
    """Break in ``after`` s after the turn's ``moment`` (filler, answer, gesture), by utterance, voice or stop."""

    by: str
    moment: str
    after: float = 0.2


@dataclass(frozen=True)
class Interrupted:
    """What was done to which turn, and when (s, ROS time)."""

    turn_id: str
    by: str
    moment: str
    stamp: float


class Visitors:
    """One node for all visitors. A context manager: leaving it takes the node down."""

    def __init__(self, namespace: str = '') -> None:
        self._own_context = not rclpy.ok()
        if self._own_context:
            rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(f'visitors_{time.time_ns() % 1_000_000_000}', namespace=namespace or None)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._utterances = self.node.create_publisher(msg.Utterance, 'utterance', EVENTS)
        self._activity = self.node.create_publisher(Bool, 'user_speaking', SENSOR)
        self._stop = self.node.create_client(Trigger, 'dialogue/stop')
        self.turns: dict[str, msg.Turn] = {}
        self.onsets: dict[str, list[msg.Onset]] = defaultdict(list)
        self._of_utterance: dict[str, str] = {}
        self._over: set[str] = set()
        self._last_sound = 0.0
        self._ears = [
            self.node.create_subscription(msg.Turn, 'turn', self._on_turn, EVENTS),
            self.node.create_subscription(msg.Onset, 'onset', self._on_onset, EVENTS),
            self.node.create_subscription(msg.SpeechState, 'speech_state', self._on_speech, EVENTS),
            self.node.create_subscription(msg.AudioLevel, 'audio_level', self._on_level, SENSOR),
        ]

    def __enter__(self) -> Visitors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(timeout_sec=0.5)
        self.node.destroy_node()
        if self._own_context:
            rclpy.try_shutdown()

    def wait_for_robot(self, timeout: float) -> None:
        """Wait until the node hears and is heard. Raises RobotAbsent after ``timeout`` s."""
        met = Handshake(self.node, self.node.resolve_topic_name('turn'))

        def there() -> bool:
            return (
                self._utterances.get_subscription_count() > 0
                and self._stop.service_is_ready()
                and all(self.node.count_publishers(ear.topic_name) for ear in self._ears)
            )

        try:
            if not self.until(there, timeout) or not self.until(lambda: met.poll(time.monotonic()), timeout):
                raise RobotAbsent('The robot is not there: dialogue node and a loudspeaker are needed.')
        finally:
            met.close()
        self.pause(SETTLE)

    def until(self, condition: Callable[[], object], timeout: float) -> bool:
        """Spin until the condition holds; says whether it does within ``timeout`` s."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._executor.spin_once(timeout_sec=0.01)
        return True

    def pause(self, seconds: float) -> None:
        """Do nothing for a while but hear."""
        self.until(lambda: False, seconds)

    def say(self, text: str, conversation: str) -> str:
        """Say something; returns the utterance's id."""
        utterance = msg.Utterance(text=text, conversation_id=conversation, utterance_id=uuid.uuid4().hex)
        utterance.header.stamp = self.node.get_clock().now().to_msg()
        self._utterances.publish(utterance)
        return str(utterance.utterance_id)

    def turn_of(self, utterance_id: str, timeout: float) -> msg.Turn:
        """Wait for the turn of an utterance. Raises RobotAbsent after ``timeout`` s."""
        if not self.until(lambda: utterance_id in self._of_utterance, timeout):
            raise RobotAbsent(f'No turn came for an utterance within {timeout:g} s.')
        return self.turns[self._of_utterance[utterance_id]]

    def listen_to_the_end(self, utterance_id: str, timeout: float) -> msg.Turn:
        """Wait for the turn and until the robot has said it all. Raises RobotAbsent after ``timeout`` s."""
        turn = self.turn_of(utterance_id, timeout)
        self.until(lambda: turn.turn_id in self._over, timeout)
        self.until(self.is_quiet, timeout)
        return turn

    def is_quiet(self, since: float = QUIET) -> bool:
        """Whether nothing has been heard for so many s."""
        return time.monotonic() - self._last_sound > since

    def interrupt(self, known: set[str], interruption: Interruption, timeout: float) -> Interrupted | None:
        """Wait for the moment in a turn that is not ``known`` and break in as told; None if the moment never came.

        An interruption by utterance is noted only: the caller says what the visitor says. One by voice is one over the
        robot's own speech: it waits until the robot has begun to speak.
        """
        moment = MOMENTS[interruption.moment]

        def found() -> str:
            here = (each for each in self.onsets if each not in known and self._shown(each, *moment))
            return next((each for each in here if interruption.by != VOICE or self._has_spoken(each)), '')

        self.until(lambda: found() or (self.turns.keys() - known and self.is_quiet(GIVEN_UP)), timeout)
        turn_id = found()
        if not turn_id:
            return None
        self.pause(interruption.after)
        stamp = self.node.get_clock().now().nanoseconds * 1e-9
        if interruption.by == VOICE:
            self._activity.publish(Bool(data=True))
            self.pause(VOICE_HELD)
            self._activity.publish(Bool(data=False))
        elif interruption.by == STOP:
            self.stop(timeout)
        return Interrupted(turn_id, interruption.by, interruption.moment, stamp)

    def stop(self, timeout: float) -> None:
        """Call `~/stop` and wait for its answer, ``timeout`` s at most."""
        future = self._stop.call_async(Trigger.Request())
        self.until(future.done, timeout)

    def _has_spoken(self, turn_id: str) -> bool:
        return any(self._shown(turn_id, Modality.SPEECH, content) for content in Content)

    def _shown(self, turn_id: str, modality: Modality, content: Content) -> bool:
        return any(
            each.modality == modality and each.content == content and each.source == Source.COMMANDED
            for each in list(self.onsets.get(turn_id, ()))
        )

    def _on_turn(self, turn: msg.Turn) -> None:
        self.turns[turn.turn_id] = turn
        self._of_utterance[turn.utterance_id] = turn.turn_id

    def _on_speech(self, state: msg.SpeechState) -> None:
        if not state.speaking:
            self._over.add(state.turn_id)

    def _on_onset(self, onset: msg.Onset) -> None:
        self.onsets[onset.turn_id].append(onset)

    def _on_level(self, level: Any) -> None:
        if any(rms > LOUD for rms in level.rms):
            self._last_sound = time.monotonic()
