from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PointStamped
from node_process import environment
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.ros.qos import EVENTS, SENSOR, STATE
from pace_ros.ros.sim_robot import SimRobotNode

TOPICS = {
    'joint_states': (JointState, SENSOR), 'audio_level': (msg.AudioLevel, SENSOR), 'ground_truth': (msg.Onset, EVENTS),
}
SLACK = 0.05  # s from publication here to reception there, on a busy machine


class Bystander:
    """Commands the robot and keeps what it shows."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('bystander')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.seen: dict[str, list[Any]] = {name: [] for name in TOPICS}
        for name, (kind, qos) in TOPICS.items():
            self.node.create_subscription(kind, name, self.seen[name].append, qos)
        self._publishers = {
            PointStamped: self.node.create_publisher(PointStamped, 'gaze_target', STATE),
            msg.Gesture: self.node.create_publisher(msg.Gesture, 'gesture', EVENTS),
            msg.AudioChunk: self.node.create_publisher(msg.AudioChunk, 'speech_audio', EVENTS),
        }

    def send(self, message: Any, ahead: float = 0.0) -> float:
        """Publish, stamped with so many s from now; returns the stamp."""
        stamp = self.node.get_clock().now() + rclpy.duration.Duration(seconds=ahead)
        message.header.stamp = stamp.to_msg()
        self._publishers[type(message)].publish(message)
        return seconds(message.header.stamp)

    def spin(self, duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def ready(self) -> None:
        deadline = time.monotonic() + 20.0
        while not (self.seen['joint_states'] and all(
            each.get_subscription_count() for each in self._publishers.values()
        )):
            assert time.monotonic() < deadline
            self.executor.spin_once(timeout_sec=0.05)
        self.spin(0.3)

    def truth(self, modality: int) -> list[msg.Onset]:
        return [each for each in self.seen['ground_truth'] if each.modality == modality]

    def track(self, joint: str) -> tuple[np.ndarray, np.ndarray]:
        """Stamps (s) and positions (rad)."""
        states = self.seen['joint_states']
        stamps = np.array([seconds(each.header.stamp) for each in states])
        return stamps, np.array([each.position[list(each.name).index(joint)] for each in states])


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (tmp_path / 'log').open('w') as log:
        started = subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.ros.sim_robot', '--ros-args', '-p', 'rest.idle_after:=60.0'],
            env=environment(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )
        yield started
    started.kill()
    started.wait()


@pytest.fixture
def bystander() -> Iterator[Bystander]:
    made = Bystander()
    yield made
    made.executor.shutdown(timeout_sec=0.5)
    made.node.destroy_node()


def test_it_moves_plays_and_tells_the_truth(
    process: subprocess.Popen[bytes], bystander: Bystander, tmp_path: Path,
) -> None:
    bystander.ready()
    look = PointStamped()
    look.header.frame_id = 'visitor'
    looked = bystander.send(look)
    nodded = bystander.send(msg.Gesture(turn_id='t1', name='nod', intensity=1.0))
    samples = [0] * 160 + [8000] * 160  # 10 ms of silence, 10 ms of sound
    played = bystander.send(msg.AudioChunk(
        turn_id='t1', sample_rate=16000, samples=samples, start=True, content=msg.Onset.CONTENT_ANSWER,
    ), ahead=0.2)
    bystander.spin(0.8)
    for name in ('wave', 'wave'):
        bystander.send(msg.Gesture(name=name))
    bystander.spin(0.3)

    [gaze] = bystander.truth(msg.Onset.MODALITY_GAZE)
    assert gaze.detail == (
        f'simulated: gaze target stamped {look.header.stamp.sec}.{look.header.stamp.nanosec:09d}: head_yaw'
    )
    assert 0.03 <= seconds(gaze.header.stamp) - looked <= 0.032 + SLACK
    assert gaze.elapsed == pytest.approx(seconds(gaze.header.stamp) - looked, abs=1e-6)
    [nod] = bystander.truth(msg.Onset.MODALITY_GESTURE)
    assert nod.turn_id == 't1'
    assert 0.03 <= seconds(nod.header.stamp) - nodded <= 0.032 + SLACK
    [spoken] = bystander.truth(msg.Onset.MODALITY_SPEECH)
    assert seconds(spoken.header.stamp) - played == pytest.approx(0.01 + 0.01, abs=1e-4)

    # What the joints and the levels show agrees with it.
    stamps, yaw = bystander.track('head_yaw')
    instant = seconds(gaze.header.stamp)
    assert np.abs(yaw[stamps < instant] - 0.35).max() < 0.005
    assert np.abs(yaw[stamps > instant + 0.05] - 0.35).min() > 0.01
    assert yaw[-1] == pytest.approx(math.atan2(-0.4, 1.5), abs=0.005)
    assert np.median(np.diff(stamps)) == pytest.approx(0.01, abs=0.002)
    levels = [(seconds(each.header.stamp) + index * each.hop, rms)
              for each in bystander.seen['audio_level'] for index, rms in enumerate(each.rms)]
    loud = [instant for instant, rms in levels if rms > 0.01]
    assert abs(loud[0] - seconds(spoken.header.stamp)) <= 0.005
    markers = [marker for each in bystander.seen['audio_level'] for marker in each.markers]
    assert [(each.turn_id, each.content) for each in markers] == [('t1', msg.Onset.CONTENT_ANSWER)]

    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(5.0) == 0
    assert time.monotonic() - begin < 2.0
    log = (tmp_path / 'log').read_text()
    assert 'a simulated robot is moving' in log
    assert log.count("no gesture 'wave'") == 1


def test_a_value_out_of_range_is_one_sentence() -> None:
    ended = subprocess.run(
        [sys.executable, '-m', 'pace_ros.ros.sim_robot', '--ros-args', '-p', 'head.delay:=-1.0'],
        env=environment(), capture_output=True, text=True, timeout=20.0, check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.strip() == "Parameter 'head.delay' must be from 0.0 to 2.0, not -1.0."


def test_a_corrected_clock_stands_still_and_one_set_back_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(SimRobotNode, '_now', lambda _self: now)
    robot, warnings = SimRobotNode(), list[str]()
    monkeypatch.setattr(robot.get_logger(), 'warning', warnings.append)
    stamps = list[float]()
    monkeypatch.setattr(robot._joints, 'publish', lambda state: stamps.append(seconds(state.header.stamp)))
    try:
        for now, commands in ((100.0, ['nod']), (99.6, []), (100.1, []), (98.0, [])):
            for name in commands:
                robot._on_gesture(msg.Gesture(turn_id='t1', name=name, intensity=1.0))
            robot._sense()
            gesturing = robot._body.joints['head_pitch'].gesturing()
            assert gesturing == (now > 99.0), 'a correction takes nothing away'
    finally:
        robot.destroy_node()
    assert stamps == [100.0, 100.0, 100.1, 98.0]
    assert warnings == ['time went back by 2.100 s: the robot starts anew']
