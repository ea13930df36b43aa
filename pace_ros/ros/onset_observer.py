"""The `onset_observer` node: what a bystander could perceive of each turn, and when."""
from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.embodiment.gestures import GestureBook, GestureError
from pace_ros.embodiment.level import HOP, Marker
from pace_ros.observing import Observation, Observer, ObserverSettings
from pace_ros.observing.hops import Hops
from pace_ros.places import or_packaged
from pace_ros.ros.conversions import content_of, onset_message, stamp_of
from pace_ros.ros.declared import declare_tree
from pace_ros.ros.plain_node import run_node
from pace_ros.ros.qos import EVENTS, SENSOR
from pace_ros.settings import ConfigError
from pace_ros.turn import Modality, Onset, Outcome, Source

TICK = 0.25  # s, on a steady clock: a frozen ROS time holds up no report


class OnsetObserver(Node):
    """Hears commands, joints and sound, and publishes observed onsets; it decides nothing itself."""

    def __init__(self, **options: Any) -> None:
        """Declare the parameters and begin to listen.

        Raises ConfigError or GestureError with a sentence that says what is wrong.
        """
        super().__init__('onset_observer', **options)
        settings = declare_tree(self, ObserverSettings)
        self._observer = Observer(settings, GestureBook.read(or_packaged(settings.gesture.names_file, 'gestures.yaml')))
        self._hops = Hops()
        self._qos = {'qos_overriding_options': QoSOverridingOptions.with_default_policies()}
        # A publisher's queue must hold what a barge-in ends at once; a level lost is a sentence lost.
        levels = QoSProfile(depth=100, reliability=SENSOR.reliability, durability=SENSOR.durability)
        self._onset = self.create_publisher(msg.Onset, 'onset', EVENTS, **self._qos)
        self._hear(msg.Onset, 'onset', self._on_onset, EVENTS)
        self._hear(msg.Turn, 'turn', self._on_turn, EVENTS)
        self._hear(msg.SpeechState, 'speech_state', self._on_speech, EVENTS)
        self._hear(msg.Gesture, 'gesture', self._on_gesture, EVENTS)
        self._hear(JointState, 'joint_states', self._on_joints, levels)
        if settings.sound.source == 'microphone':
            self._hear(msg.AudioChunk, 'microphone', self._on_microphone, levels)
        else:
            self._hear(msg.AudioLevel, 'audio_level', self._on_level, levels)
        self.create_timer(TICK, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'observing: gaze by {", ".join(settings.gaze.joints)}, gestures by {", ".join(settings.gesture.joints)}, '
            f'sound by {"microphone" if settings.sound.source == "microphone" else "audio_level"}'
        )

    def _hear(self, kind: type, topic: str, callback: Any, qos: QoSProfile) -> None:
        def heard(message: Any) -> None:
            self._tell(self._observer.time_is(self._now()))
            callback(message)

        self.create_subscription(kind, topic, heard, qos, **self._qos)

    def close(self) -> None:
        """Report what is still waited for."""
        self._tell(self._observer.close())

    def _on_onset(self, message: msg.Onset) -> None:
        onset = onset_from(message)
        if onset is not None:
            self._tell(self._observer.hear_onset(onset, seconds(message.header.stamp), steady=time.monotonic()))

    def _on_turn(self, message: msg.Turn) -> None:
        if message.outcome in set(Outcome):
            self._observer.hear_turn(message.turn_id, Outcome(message.outcome), seconds(message.header.stamp))

    def _on_speech(self, message: msg.SpeechState) -> None:
        if not message.speaking:
            self._observer.hear_speech(message.turn_id, message.outcome, seconds(message.header.stamp))

    def _on_gesture(self, message: msg.Gesture) -> None:
        self._observer.hear_gesture(message.turn_id, message.name, seconds(message.header.stamp))

    def _on_joints(self, message: JointState) -> None:
        self._tell(self._observer.hear_joints(seconds(message.header.stamp), message.name, message.position))

    def _on_level(self, message: msg.AudioLevel) -> None:
        marks = [Marker(each.turn_id, content_of(each.content), each.index) for each in message.markers]
        hop = float(message.hop) or HOP
        self._tell(self._observer.hear_level(seconds(message.header.stamp), hop, message.rms, marks))

    def _on_microphone(self, message: msg.AudioChunk) -> None:
        try:
            begin, rms = self._hops.cut(seconds(message.header.stamp), message.samples, message.sample_rate)
        except ValueError as error:
            self.get_logger().warning(str(error), once=True)
            return
        self._tell(self._observer.hear_level(begin, HOP, rms))

    def _on_tick(self) -> None:
        self._tell(self._observer.tick(self._now(), steady=time.monotonic()))

    def _now(self) -> float:
        """ROS time (s)."""
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def _tell(self, observations: Iterable[Observation]) -> None:
        for each in observations:
            self._onset.publish(onset_message(each.onset, stamp_of(each.stamp)))


def onset_from(message: msg.Onset) -> Onset | None:
    """The core's onset; None for a modality or source nobody knows."""
    if message.modality not in set(Modality) or message.source not in set(Source):
        return None
    return Onset(
        message.turn_id, message.conversation_id, Modality(message.modality), content_of(message.content),
        message.elapsed, source=Source(message.source), detail=message.detail, audible=message.audible,
    )


def main() -> None:
    """Run the node until SIGINT or SIGTERM."""
    run_node(OnsetObserver, (ConfigError, GestureError), close=OnsetObserver.close)


if __name__ == '__main__':
    main()
