"""A session recorded from a real node and replayed into another, and a public bag on real topics."""
from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rclpy
from bag_process import Tool
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, String
from support import Script, answer

from pace_ros.bags import read_messages
from pace_ros.bags.info import describe
from pace_ros.ros.qos import SENSOR

PUBLIC = Path(__file__).resolve().parents[3] / 'shared/data/rosbags'
KNOWN = 'What is the range of the Lark?'


def slow(*pieces: str) -> Script:
    """An answer that takes a while to begin."""
    return Script([0.6, answer(*pieces)])


def test_a_session_is_recorded_replayed_and_compared(
    tmp_path: Path, bag: Callable[..., Tool], cloud: Callable[..., Any], robot: Callable[..., Any],
    listener: Callable[..., Any],
) -> None:
    scripts = [slow('Dust', ' and ice.'), slow('Never', ' heard.'), slow('Paris.')]
    folder = tmp_path / 'second'
    folder.mkdir()
    robot(cloud(*scripts).base_url)
    second = robot(cloud(*scripts).base_url, folder=folder, remaps=('__ns:=/robot2',), wait='')
    heard = listener()
    voice = heard.node.create_publisher(Bool, 'user_speaking', SENSOR)
    recorder = bag('record', tmp_path / 'session')
    recorder.wait_for('recording')
    heard.until(lambda: voice.get_subscription_count() >= 2)  # the node and the recorder
    heard.spin(0.3)
    voice.publish(Bool(data=False))
    heard.say('Tell me about the rings of Saturn', conversation_id='anna')
    heard.turns(1)
    heard.say(KNOWN, conversation_id='ben', utterance_id='known')
    heard.turns(2)
    heard.spin(0.7)  # a pause that a fast replay does not make
    heard.say('Who was the first emperor of Rome?', conversation_id='anna', utterance_id='cut')
    heard.spin(0.2)
    heard.say('What is the capital of France?', conversation_id='anna', utterance_id='barge')
    heard.turns(4)
    recorder.process.send_signal(signal.SIGINT)
    code, words = recorder.end()
    assert code == 0, words
    found = describe(tmp_path / 'session')
    assert not found.cut
    assert {each.topic for each in found.topics} >= {
        '/utterance', '/user_speaking', '/turn', '/answer', '/onset', '/controller_state', '/diagnostics'}
    assert found.conversations['anna'].outcomes == {'ANSWERED': 2, 'PREEMPTED': 1}
    assert found.conversations['ben'].paths == {'L1': 1}

    second.wait_for('listening')
    again = ('replay', tmp_path / 'session', '--namespace', 'robot2', '--compare')
    same = bag(*again, '--fast', '--clock', '--tolerance', '0.5')
    code, words = same.end()
    assert code == 0, words
    assert '4 turns compared: same paths' in words
    other = bag(*again, '--rate', '4', '--json')
    code, words = other.end()
    assert code == 1, words
    differences = json.loads(words.splitlines()[-1])['differences']
    assert ['path', 'L2', 'L0'] in [[each['what'], each['recorded'], each['replayed']] for each in differences]


def test_a_public_bag_is_replayed(bag: Callable[..., Tool]) -> None:
    if not PUBLIC.is_dir():
        pytest.skip('the public bags are not on this machine')
    node = rclpy.create_node('public_listener')
    heard: list[str] = []
    node.create_subscription(String, '/robot1/topic', lambda message: heard.append(message.data), QoSProfile(depth=100))
    try:
        player = bag('replay', PUBLIC / 'talker_sqlite3', '--all', '--rate', '10', '--namespace', 'robot1')
        deadline = time.monotonic() + 20.0
        while len(heard) < 10 and time.monotonic() < deadline:
            rclpy.spin_once(node, timeout_sec=0.05)
        assert player.end()[0] == 0
    finally:
        node.destroy_node()
    expected = [each.message.data for each in read_messages(PUBLIC / 'talker_mcap', topics=['/topic'])]
    assert heard == expected


@pytest.mark.parametrize(('name', 'count'), [('talker_mcap', 10), ('wbag_mcap', 6074)])
def test_other_public_bags_are_replayed_whole(bag: Callable[..., Tool], name: str, count: int) -> None:
    """The other storage, and one split in five. Nobody listens, and nobody is waited for."""
    if not PUBLIC.is_dir():
        pytest.skip('the public bags are not on this machine')
    code, words = bag('replay', PUBLIC / name, '--all', '--fast', '--wait', '0.1').end()
    assert code == 0, words
    assert f'{count} messages published' in words
