"""The recorder's own parts, and whose words it keeps."""
from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from bag_process import Tool
from bag_support import content
from node_process import Listener, Robot
from rcl_interfaces.srv import SetParameters
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from pace_msgs import msg
from pace_ros.bags import read_messages
from pace_ros.bags.recording import Recording
from pace_ros.bags.session import TURN, UTTERANCE, Choice
from pace_ros.bags.writing import BagWriter
from pace_ros.ros import bag_record
from pace_ros.ros.bag_record import Recorder, attend, spin, stamped
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.qos import EVENTS

Nodes = Callable[..., Node]


@pytest.fixture
def executor() -> Iterator[SingleThreadedExecutor]:
    made = SingleThreadedExecutor()
    yield made
    made.shutdown(timeout_sec=0.5)


@pytest.fixture
def nodes(executor: SingleThreadedExecutor) -> Iterator[Nodes]:
    """Makes nodes that spin in the test's executor."""
    made: list[Node] = []

    def make(name: str, namespace: str = '', *, answers: bool = True, speaks: bool = False) -> Node:
        made.append(rclpy.create_node(name, namespace=namespace or None, start_parameter_services=answers))
        if speaks:
            made[-1].create_publisher(msg.Turn, 'turn', EVENTS)
        executor.add_node(made[-1])
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def until(executor: SingleThreadedExecutor, condition: Callable[[], object], timeout: float = 10.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        executor.spin_once(timeout_sec=0.05)


def services(node: Node) -> set[str]:
    return {client.srv_name for client in node.clients}


def test_a_publisher_that_cannot_answer_does_not_hide_one_that_can(
    nodes: Nodes, executor: SingleThreadedExecutor
) -> None:
    nodes('mute', 'meeting', answers=False, speaks=True)
    own = nodes('own')
    until(executor, lambda: own.count_publishers('/meeting/turn') == 1)
    nodes('robot', 'meeting', speaks=True)
    handshake = Handshake(own, '/meeting/turn')
    until(executor, lambda: handshake.poll(time.monotonic()))
    assert services(own) == {'/meeting/mute/get_parameters', '/meeting/robot/get_parameters'}
    handshake.close()
    assert services(own) == set()


def test_robots_that_do_not_answer_are_waited_for_only_so_long(
    nodes: Nodes, executor: SingleThreadedExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bag_record, 'GREETING', 1.0)
    nodes('mute', answers=False, speaks=True)
    recording = Recording(BagWriter(tmp_path / 'bag'))
    recorder = Recorder(nodes('own'), recording, Choice(), 'auto')

    def hears() -> bool:
        recorder.poll()
        return recorder.hearing.is_set()

    until(executor, hears)
    assert '/mute: no answer' in capfd.readouterr().err
    assert recorder.without_text
    recording.close()


@pytest.mark.parametrize('informed', [True, False])
def test_the_time_of_receipt_with_and_without_rclpys_help(*, informed: bool) -> None:
    heard: list[tuple[bytes, int]] = []
    callback = stamped(lambda data, stamp: heard.append((data, stamp)), informed=informed)
    before = time.time_ns()
    callback(b'x', {'received_timestamp': 5}) if informed else callback(b'x')
    [(data, stamp)] = heard
    assert data == b'x'
    assert stamp == 5 if informed else before <= stamp <= time.time_ns()


class Failing:
    """An executor that ends in its own way."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def spin(self) -> None:
        raise self._error


@pytest.mark.parametrize(('error', 'words'), [
    (RuntimeError('a callback fell over'), 'a callback fell over'), (ExternalShutdownException(), '')])
def test_a_recorder_that_hears_nothing_more_ends_with_a_sentence(
    nodes: Nodes, tmp_path: Path, error: Exception, words: str
) -> None:
    recording = Recording(BagWriter(tmp_path / 'bag'))
    recorder = Recorder(nodes('own'), recording, Choice(), 'keep')
    spin(Failing(error), recorder)  # type: ignore[arg-type]
    assert words in recorder.error
    assert bool(recorder.error) is bool(words)
    if words:
        attend(recorder, recording, threading.Event(), tmp_path, bag_record.Console())  # returns
    recording.close()


def text_off(listener: Listener, node: str) -> None:
    request = SetParameters.Request(parameters=[Parameter('record.text', value=False).to_parameter_msg()])
    assert listener.call(SetParameters, f'{node}/set_parameters', request).results[0].successful


def test_each_robots_words_are_kept_as_it_allows_and_as_long(
    tmp_path: Path, bag: Callable[..., Tool], cloud: Callable[..., Any], robot: Callable[..., Robot],
    listener: Callable[..., Listener],
) -> None:
    """Two robots and everything recorded: one keeps its words to itself, the other from a moment on."""
    for name in ('first', 'second'):
        (tmp_path / name).mkdir()
    robot(cloud().base_url, 'record.text:=false', folder=tmp_path / 'first', wait='',
          remaps=('__ns:=/robot1', '__node:=concierge'))
    second = robot(cloud().base_url, folder=tmp_path / 'second', remaps=('__ns:=/robot2',))
    second.wait_for('listening')
    shy, open_ = listener('robot1'), listener('robot2')
    recorder = bag('record', tmp_path / 'bag', '--all')
    recorder.wait_for('recording')
    for each in (shy, open_):
        each.until(lambda each=each: each.utterances.get_subscription_count() >= 2)  # the node and the recorder
    shy.say('Hush is a hidden word', conversation_id='anna')
    shy.turns(1)
    file = tmp_path / 'bag' / 'bag.mcap'
    for count in range(1, 10):  # until the recorder has discovered the robot and got its permission
        open_.say('Loud is a public word', conversation_id='ben')
        open_.turns(count)
        flushed = time.monotonic() + 1.5  # it does so once a second
        while not (kept := b'Loud is a public word' in file.read_bytes()) and time.monotonic() < flushed:
            open_.spin(0.1)
        if kept:
            break
    text_off(open_, '/robot2/dialogue')
    open_.say('Late is a hidden word', conversation_id='ben')
    open_.turns(count + 1)
    recorder.process.send_signal(signal.SIGINT)
    code, words = recorder.end()
    assert code == 0, words
    assert b'hidden word' not in content(tmp_path / 'bag')
    messages = list(read_messages(tmp_path / 'bag', types=[UTTERANCE, TURN]))
    said = [(each.topic, each.message.text) for each in messages if each.type == UTTERANCE]
    assert ('/robot1/utterance', '') in said
    assert said[-2:] == [('/robot2/utterance', 'Loud is a public word'), ('/robot2/utterance', '')]
    turns = [(each.topic, bool(each.message.answer)) for each in messages if each.type == TURN]
    assert turns[-2:] == [('/robot2/turn', True), ('/robot2/turn', False)]
    assert ('/robot1/turn', True) not in turns
