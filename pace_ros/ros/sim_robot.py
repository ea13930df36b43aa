"""The `sim_robot` node: a simulated humanoid that moves, plays and measures as commanded, and says when it did."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState

from pace_msgs import msg
from pace_ros.clock import Forward, seconds
from pace_ros.ros.conversions import content_of, level_message, stamp_of
from pace_ros.ros.declared import declare_tree
from pace_ros.ros.plain_node import run_node
from pace_ros.ros.qos import EVENTS, SENSOR, STATE
from pace_ros.settings import ConfigError
from pace_ros.simulation import Body, Encoders, Loudspeaker, NotUnderstood, Shown, SimRobot

DIAGNOSTICS_PERIOD = 1.0  # s


class SimRobotNode(Node):
    """Head, arms and a silent loudspeaker on topics, in ROS time."""

    def __init__(self, **options: Any) -> None:
        """Declare the parameters and begin. Raises ConfigError with a sentence that names the parameter at fault."""
        super().__init__('sim_robot', **options)
        self.settings = declare_tree(self, SimRobot)
        self._said: set[str] = set()
        self._commands = 0
        self._encoders = Encoders(self.settings.sensors)
        self._forward = Forward()
        self._forward.goes_on(self._now())
        self._begin(self._forward.now)
        self._speak()
        self._listen()
        self.create_timer(1.0 / self.settings.sensors.rate, self._sense)
        self.create_timer(self.settings.sound.period, self._sound)
        self.create_timer(DIAGNOSTICS_PERIOD, self._diagnose, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info('a simulated robot is moving: no motor turns and no sound is heard')

    def _begin(self, now: float) -> None:
        sound = self.settings.sound
        self._body = Body(self.settings, now)
        self._loudspeaker = Loudspeaker(now, latency=sound.latency, audible=self.settings.perceptible.amplitude)

    def _speak(self) -> None:
        options = {'qos_overriding_options': QoSOverridingOptions.with_default_policies()}
        self._joints = self.create_publisher(JointState, 'joint_states', SENSOR, **options)
        self._levels = self.create_publisher(msg.AudioLevel, 'audio_level', SENSOR, **options)
        self._truth = self.create_publisher(msg.Onset, 'ground_truth', EVENTS, **options)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', EVENTS, **options)

    def _listen(self) -> None:
        options = {'qos_overriding_options': QoSOverridingOptions.with_default_policies()}
        self.create_subscription(PointStamped, 'gaze_target', self._on_gaze, STATE, **options)
        self.create_subscription(msg.Gesture, 'gesture', self._on_gesture, EVENTS, **options)
        self.create_subscription(msg.AudioChunk, 'speech_audio', self._on_chunk, EVENTS, **options)

    # -- commands ---------------------------------------------------------------------------------------------------

    def _on_gaze(self, message: PointStamped) -> None:
        stamp, point = message.header.stamp, message.point
        name = f'gaze target stamped {stamp.sec}.{stamp.nanosec:09d}'
        self._obey(lambda now: self._body.look(
            now, message.header.frame_id, (point.x, point.y, point.z), stamp=seconds(stamp) or now, name=name,
        ))

    def _on_gesture(self, message: msg.Gesture) -> None:
        self._obey(lambda now: self._body.gesture(
            now, message.name, stamp=seconds(message.header.stamp) or now, turn_id=message.turn_id,
            intensity=message.intensity,
        ))

    def _on_chunk(self, message: msg.AudioChunk) -> None:
        self._obey(lambda now: self._play(now, message))

    def _play(self, now: float, message: msg.AudioChunk) -> None:
        if message.flush:
            self._loudspeaker.flush(now)
            return
        self._body.stay_awake(now)
        self._loudspeaker.play(
            now, seconds(message.header.stamp), np.asarray(message.samples, dtype=np.int16), message.sample_rate,
            turn_id=message.turn_id, content=content_of(message.content), start=message.start,
        )

    def _obey(self, act: Callable[[float], None]) -> None:
        self._commands += 1
        try:
            act(self._time())
        except NotUnderstood as error:
            if str(error) not in self._said:
                self._said.add(str(error))
                self.get_logger().warning(f'{error} Such commands are ignored from now on.')

    # -- what shows -------------------------------------------------------------------------------------------------

    def _sense(self) -> None:
        now = self._time()
        self._tell(self._body.advance(now))
        positions, velocities = self._encoders.read(joint.at(now) for joint in self._body.joints.values())
        message = JointState(
            name=list(self._body.joints), position=positions.tolist(), velocity=velocities.tolist(),
        )
        message.header.stamp = stamp_of(now)
        self._joints.publish(message)

    def _sound(self) -> None:
        now = self._time()
        level = self._loudspeaker.levels(now)
        if level is not None:
            self._levels.publish(level_message(level, stamp_of(now - level.age)))
        self._tell(self._loudspeaker.settle(now))

    def _tell(self, shown: list[Shown]) -> None:
        for each in shown:
            self._truth.publish(truth_message(each))

    def _diagnose(self) -> None:
        values = {'commands': self._commands, 'late sounds': self._loudspeaker.late}
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK,
            name=f'{self.get_fully_qualified_name()}: simulation',
            hardware_id='simulated robot',
            message='simulated: no motor turns and no sound is heard',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    # -- time -------------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def _time(self) -> float:
        """ROS time (s), which only goes forward; when it is set back, as by a replay, the robot starts anew."""
        last, now = self._forward.now, self._now()
        if not self._forward.goes_on(now):
            self.get_logger().warning(f'time went back by {last - now:.3f} s: the robot starts anew')
            self._begin(now)
        return self._forward.now


def truth_message(shown: Shown) -> msg.Onset:
    """An onset of the ground truth: ``elapsed`` is s since the command's own stamp, NaN for what never shows."""
    command, never = shown.command, math.isnan(shown.instant)
    message = msg.Onset(
        turn_id=command.turn_id,
        modality=int(command.modality),
        content=int(command.content),
        source=msg.Onset.SOURCE_UNKNOWN,
        elapsed=shown.instant - command.stamp,
        detail=f'simulated: {shown.detail}',
        audible=math.nan,
    )
    message.header.stamp = stamp_of(command.stamp if never else shown.instant)
    return message


def main() -> None:
    """Run the node until SIGINT or SIGTERM."""
    run_node(SimRobotNode, (ConfigError,), close=lambda _node: None)


if __name__ == '__main__':
    main()
