"""`bag replay`: gives a running node what a bag's robot was given, and hears what becomes of it."""
from __future__ import annotations

import argparse
import math
import signal
import threading
import time
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock

from pace_msgs import msg
from pace_ros.bags.bag_clock import BagClock
from pace_ros.bags.compare import Told, told
from pace_ros.bags.replay_plan import Step
from pace_ros.bags.replay_schedule import Schedule
from pace_ros.bags.script import Script
from pace_ros.bags.session import resolved
from pace_ros.ros.bag_record import message_class
from pace_ros.ros.conversions import stamp_of
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.qos import EVENTS

SETTLE = 0.3  # s for frames that come after their turn, and for listeners to know of us
LISTENERS = 3.0  # s: a replay of everything may have none
CLOCK_PERIOD = 0.01  # s
TICK = 0.05  # s between looks for the end


class NoNode(RuntimeError):
    """Nobody listens to what would be replayed; the message says to what."""


def filled(target: Any, source: Any, *, skip: tuple[str, ...] = ()) -> Any:
    """A ROS message with the fields of a decoded one by name; what the recording does not know stays as it is."""
    for name in target.get_fields_and_field_types():
        value = getattr(source, name, None)
        if value is None or name in skip:
            continue
        inner = getattr(target, name)
        if hasattr(inner, 'get_fields_and_field_types'):
            filled(inner, value)
        else:
            setattr(target, name, type(inner)(value) if isinstance(inner, list) else value)
    return target


class Player:
    """Publishes the steps of a script when they are due. ``turns`` and ``frames`` are what the node made of them."""

    def __init__(self, node: Node, script: Script, namespace: str | None, *, clock: bool) -> None:
        self._node = node
        self._script = script
        self._namespace = script.prefix if namespace is None else resolved('', namespace).rstrip('/') + '/'
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._publishers: dict[str, Any] = {}
        for topic, (kind, latched) in script.topics.items():
            try:
                self._publishers[topic] = node.create_publisher(
                    message_class(kind), self._renamed(topic), _profile(latched=latched))
            except ImportError as error:
                node.get_logger().warning(f'{topic} is not replayed: {error}')
        self._clock = node.create_publisher(Clock, '/clock', 10) if clock else None
        self._schedule: Schedule | None = None
        self.turns: dict[str, msg.Turn] = {}
        self._heard: dict[str, msg.Turn] = {}
        self._over: set[str] = set()
        self.frames: list[msg.ResponseFrame] = []
        self.published = 0
        self._ears = [] if script.everything else [
            node.create_subscription(msg.Turn, f'{self._namespace}turn', self._on_turn, EVENTS),
            node.create_subscription(msg.SpeechState, f'{self._namespace}speech_state', self._on_speech, EVENTS),
            *(node.create_subscription(msg.ResponseFrame, f'{self._namespace}{name}', self._on_frame, EVENTS)
              for name in ('filler', 'answer')),
        ]

        self._handshake = Handshake(node, f'{self._namespace}turn')

    def wait_for_node(self, timeout: float, stop: threading.Event) -> None:
        """Wait until the node hears us and we hear it, or ``stop``; for listeners to everything only a moment.

        Raises NoNode after ``timeout`` s.
        """
        everything = self._script.everything
        deadline = time.monotonic() + (min(timeout, LISTENERS) if everything else timeout)
        while not self._connected() and not stop.is_set():
            if time.monotonic() > deadline:
                if everything:
                    break
                raise NoNode(f'No dialogue node listens to {self._namespace}utterance and publishes '
                             f'{self._namespace}turn: start it with `ros2 run pace_ros dialogue`.')
            self._executor.spin_once(timeout_sec=TICK)
        end = time.monotonic() + (SETTLE if everything else 0.0)
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=TICK)

    def play(self, rate: float, patience: float, stop: threading.Event) -> Schedule:
        """Publish everything when it is due and wait for the turns, each ``patience`` s at most."""
        start = time.monotonic()
        schedule = self._schedule = Schedule(self._script.steps(rate), start=start, patience=patience)
        recorded = self._script.inputs[0].time if self._script.inputs else 0.0
        clock = BagClock(recorded, rate, start=start)
        ticked = 0.0
        while not stop.is_set():
            now = time.monotonic()
            for step in schedule.due(now):
                self._publish(step, clock, now)
            if self._clock and now >= ticked + CLOCK_PERIOD:
                ticked = now
                self._clock.publish(Clock(clock=stamp_of(clock.now(now))))
            if schedule.given and (self._script.everything or not schedule.unanswered(now)):
                break
            wait = min(schedule.next_time() or math.inf, now + (CLOCK_PERIOD if self._clock else TICK)) - now
            self._executor.spin_once(timeout_sec=max(0.0, wait))
        end = time.monotonic() + SETTLE
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=TICK)
        return schedule

    def replayed(self, schedule: Schedule) -> list[Told | None]:
        """What became of each utterance, in recorded order."""
        ids = (schedule.turns.get(each.said.number) for each in self._script.order)
        return [told(self.turns[turn_id], self.frames) if turn_id in self.turns else None for turn_id in ids]

    def close(self) -> None:
        """End the executor."""
        self._handshake.close()
        self._executor.shutdown(timeout_sec=0.5)

    def _publish(self, step: Step, clock: BagClock, now: float) -> None:
        clock.give(step.said.time, now)
        message = self._script.messages[step.said.number]
        publisher = self._publishers.get(message.raw.channel.topic)
        if publisher is None:
            return
        self.published += 1
        if message.utterance is None or self._script.everything:
            publisher.publish(message.raw.data)
            return
        utterance = filled(msg.Utterance(), message.utterance, skip=('header',))
        utterance.utterance_id = step.said.utterance_id
        if not math.isnan(message.since_speech):
            ros_time = clock.now(now) if self._clock else self._node.get_clock().now().nanoseconds / 1e9
            utterance.header.stamp = stamp_of(ros_time - message.since_speech)
        publisher.publish(utterance)

    def _renamed(self, topic: str) -> str:
        name = topic if topic.startswith('/') else f'/{topic}'
        own = name.startswith(self._script.prefix)
        return self._namespace + name.removeprefix(self._script.prefix) if own else name

    def _connected(self) -> bool:
        if self._script.everything:
            return any(each.get_subscription_count() for each in self._publishers.values())
        utterance = self._publishers.get(f'{self._script.prefix}utterance')
        return bool(utterance and utterance.get_subscription_count()) and self._handshake.poll(time.monotonic())

    def _on_turn(self, turn: msg.Turn) -> None:
        self._heard[turn.turn_id] = turn
        self._end(turn.turn_id)

    def _on_speech(self, state: msg.SpeechState) -> None:
        if not state.speaking:
            self._over.add(state.turn_id)
            self._end(state.turn_id)

    def _end(self, turn_id: str) -> None:
        """A turn has ended once its record is here and, where the recording tells of speech, its speech is over."""
        turn = self._heard.get(turn_id)
        if turn is None or self._schedule is None or (self._script.speaks and turn_id not in self._over):
            return
        if self._schedule.ended(turn.conversation_id, turn.utterance_id, turn_id, time.monotonic()):
            self.turns[turn_id] = turn

    def _on_frame(self, frame: msg.ResponseFrame) -> None:
        self.frames.append(frame)


def _profile(*, latched: bool) -> QoSProfile:
    """Heard by whoever listens, however little or much they demand."""
    return QoSProfile(
        depth=1 if latched else 1000,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def replay(script: Script, options: argparse.Namespace) -> tuple[Player, Schedule]:
    """Replay a script into the running node. Raises NoNode and KeyboardInterrupt."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f'bag_replay_{time.time_ns() % 1_000_000_000}')
    try:
        player = Player(node, script, options.namespace, clock=options.clock)
        player.wait_for_node(options.wait, stop)
        schedule = player.play(options.rate, options.patience, stop)
        player.close()
        if stop.is_set():
            raise KeyboardInterrupt
        return player, schedule
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
