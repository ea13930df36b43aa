"""The observer's own process, on a simulated clock: a made-up robot moves and speaks, the observer reports."""
from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import rclpy
from node_process import environment
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.ros.conversions import stamp_of
from pace_ros.ros.qos import EVENTS, SENSOR

START_DEADLINE = 30.0
BEGIN = 1_000_000.0
COMMANDED, OBSERVED = msg.Onset.SOURCE_COMMANDED, msg.Onset.SOURCE_OBSERVED
SPEECH, GAZE, GESTURE = msg.Onset.MODALITY_SPEECH, msg.Onset.MODALITY_GAZE, msg.Onset.MODALITY_GESTURE


def start(log: Path, *parameters: str) -> subprocess.Popen[bytes]:
    arguments = [part for each in parameters for part in ('-p', each)]
    with log.open('w') as file:
        return subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.ros.onset_observer', '--ros-args', *arguments],
            env=environment(), stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )


class Robot:
    """Publishes what a robot and its dialogue would, and keeps what is observed."""

    def __init__(self) -> None:
        self.node = rclpy.create_node(f'robot_{time.monotonic_ns() % 10**9}')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.observed: list[msg.Onset] = []
        self.node.create_subscription(msg.Onset, 'onset', self._keep, EVENTS)
        self.onset = self.node.create_publisher(msg.Onset, 'onset', EVENTS)
        self.clock = self.node.create_publisher(Clock, '/clock', EVENTS)
        self.joints = self.node.create_publisher(JointState, 'joint_states', SENSOR)
        self.level = self.node.create_publisher(msg.AudioLevel, 'audio_level', SENSOR)
        self.speech = self.node.create_publisher(msg.SpeechState, 'speech_state', EVENTS)
        self.observer = self.node.create_client(GetParameters, 'onset_observer/get_parameters')

    def _keep(self, message: msg.Onset) -> None:
        if message.source == OBSERVED:
            self.observed.append(message)

    def until(self, condition: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, self.observed
            self.executor.spin_once(timeout_sec=0.02)

    def ready(self) -> None:
        publishers = (self.onset, self.clock, self.joints, self.level, self.speech)
        self.until(lambda: all(each.get_subscription_count() for each in publishers), START_DEADLINE)
        self.until(lambda: self.node.count_publishers(self.node.resolve_topic_name('onset')) > 1, START_DEADLINE)
        self.until(self.observer.service_is_ready, START_DEADLINE)
        self.in_step()  # whoever answers knows of all that was made before

    def in_step(self) -> None:
        """Let the observer catch up."""
        answered = self.observer.call_async(GetParameters.Request())
        self.until(answered.done, 10.0)

    def command(self, at: float, modality: int, content: int, **fields: object) -> None:
        message = msg.Onset(turn_id='t1', conversation_id='c', modality=modality, content=content, source=COMMANDED,
                            elapsed=at - 2.0, **fields)
        message.header.stamp = stamp_of(BEGIN + at)
        self.onset.publish(message)

    def tick(self, at: float, **joints: float) -> None:
        stamp = stamp_of(BEGIN + at)
        self.clock.publish(Clock(clock=stamp))
        state = JointState(name=list(joints), position=list(joints.values()))
        state.header.stamp = stamp
        self.joints.publish(state)
        self.in_step()

    def silenced(self, at: float) -> None:
        message = msg.SpeechState(turn_id='t1', conversation_id='c', outcome='stopped')
        message.header.stamp = stamp_of(BEGIN + at)
        self.speech.publish(message)

    def sound(self, at: float, rms: list[float], content: int) -> None:
        message = msg.AudioLevel(hop=0.005, rms=rms, markers=[msg.AudioMarker(turn_id='t1', content=content, index=0)])
        message.header.stamp = stamp_of(BEGIN + at)
        self.level.publish(message)


def test_a_look_a_missing_pose_and_a_sentence_are_reported_and_the_process_ends_cleanly(tmp_path: Path) -> None:
    log = tmp_path / 'observer.log'
    process = start(log, 'use_sim_time:=true')
    robot = Robot()
    try:
        robot.ready()
        rng = np.random.default_rng(1)
        for index in range(430):
            at = 0.01 * index
            if index == 201:
                robot.command(at, GAZE, msg.Onset.CONTENT_ACKNOWLEDGEMENT, audible=math.nan, detail='speaker')
                robot.command(at, GESTURE, msg.Onset.CONTENT_FILLER, audible=math.nan, detail='think')
                robot.command(at, SPEECH, msg.Onset.CONTENT_ANSWER, audible=0.1, detail='Hello.')
            if index == 212:
                robot.sound(2.1, [0.0, 0.0, 0.0, 0.1, 0.1], msg.Onset.CONTENT_ANSWER)
            if index == 360:
                robot.command(at, GAZE, msg.Onset.CONTENT_ANSWER, audible=math.nan)
            if index == 365:
                robot.silenced(at)
            yaw = 10.0 * min(0.1, max(0.0, at - 2.05)) ** 2  # 20 rad/s² from 2.05 s on: perceptible at 2.0525 s
            robot.tick(at, head_yaw=yaw + rng.normal(0, 0.0002), right_elbow=rng.normal(0, 0.0002))
        robot.until(lambda: len(robot.observed) >= 4, 10.0)
        by_modality = {each.modality: each for each in robot.observed if each.modality != GAZE or each.elapsed < 1.0}
        (cut,) = [each for each in robot.observed if each.modality == GAZE and not each.elapsed < 1.0]
        assert cut.detail == 'not observed: silenced 0.05 s after it, before any motion'
        assert seconds(by_modality[GAZE].header.stamp) - BEGIN == pytest.approx(2.0525, abs=0.01)
        assert by_modality[GAZE].elapsed == pytest.approx(0.0525, abs=0.01)
        assert by_modality[GAZE].content == msg.Onset.CONTENT_ACKNOWLEDGEMENT
        assert by_modality[SPEECH].elapsed == pytest.approx(0.115, abs=1e-3)
        assert math.isnan(by_modality[GESTURE].elapsed)
        assert by_modality[GESTURE].detail == 'not observed: no motion within 1.5 s'
        assert {each.turn_id for each in robot.observed} == {'t1'}
        process.send_signal(signal.SIGTERM)
        assert process.wait(5.0) == 0
        assert 'observing: gaze by head_yaw, head_pitch' in log.read_text()
        assert 'Traceback' not in log.read_text()
    finally:
        process.kill()
        process.wait()
        robot.executor.shutdown(timeout_sec=0.5)
        robot.node.destroy_node()


def test_bad_parameters_end_it_with_one_sentence(tmp_path: Path) -> None:
    log = tmp_path / 'observer.log'
    process = start(log, 'gesture.names_file:=/nowhere/gestures.yaml')
    assert process.wait(START_DEADLINE) == 1
    assert '/nowhere/gestures.yaml cannot be read' in log.read_text()
    assert 'Traceback' not in log.read_text()
