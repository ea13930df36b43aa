"""What a bag has to replay."""
from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest
from bag_support import BEGIN, SECOND, frame, made, said, turn, written
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from pace_ros.bags import BagError, BagWriter
from pace_ros.bags.definitions import installed_store
from pace_ros.bags.script import read_script
from pace_ros.bags.session import FRAME, SPEECH, TURN, UTTERANCE

VOICE = ('/user_speaking', 'std_msgs/msg/Bool', made('std_msgs/msg/Bool', data=True))


def test_the_inputs_with_the_turns_they_led_to(tmp_path: Path) -> None:
    path = written(
        tmp_path / 'bag', (0.0, VOICE), (1.0, said('Rings?')), (2.0, frame('9c', 'Dust.')), (2.1, turn('9c')),
        (5.0, said('Lark?', 'ben', 'u2')), (5.1, turn('u2', 'ben', path=2)),
    )
    script = read_script(path)
    assert script.prefix == '/'
    assert [each.raw.channel.topic for each in script.messages] == ['/user_speaking', '/utterance', '/utterance']
    assert [each.utterance_id for each in script.inputs] == ['', 'replay-1', 'u2']
    assert [each.path for each in script.recorded if each] == ['L2', 'L1']
    first = script.recorded[0]
    assert first is not None
    assert first.frames == (('ANSWER', 'Dust.'),)
    assert [step.gap for step in script.steps(2.0)] == [0.0, 0.5, 2.5]
    assert script.steps(2.0)[2].waits == (1,)


def over(utterance_id: str, outcome: str = 'spoken', *, speaking: bool = False) -> tuple[str, str, bytes]:
    return '/speech_state', SPEECH, made(SPEECH, turn_id=f't-{utterance_id}', speaking=speaking, outcome=outcome)


def test_a_turn_lasts_until_its_speech_is_over(tmp_path: Path) -> None:
    """The second question came into the speech of the first, the third after that of the second."""
    path = written(
        tmp_path / 'bag', (0.0, said('Rings?', 'anna', 'u1')), (1.0, turn('u1')), (1.1, over('u1', speaking=True)),
        (3.0, said('Stop!', 'anna', 'u2')), (3.01, over('u1', 'stopped')), (4.0, turn('u2')), (6.0, over('u2')),
        (8.0, said('Lark?', 'anna', 'u3')), (8.1, turn('u3')), (8.2, over('u3', '')),
    )
    script = read_script(path)
    assert script.speaks
    assert [each.ended and round(each.ended - BEGIN / SECOND, 2) for each in script.order] == [3.01, 6.0, 8.2]
    steps = script.steps(4.0)
    assert [(step.gap, step.waits) for step in steps] == [(0.0, ()), (3.0, ()), (1.25, (0, 1))]
    assert [each and each.outcome for each in script.recorded] == ['ANSWERED'] * 3


def test_a_recording_that_tells_nothing_of_speech_knows_its_turns_only(tmp_path: Path) -> None:
    path = written(tmp_path / 'bag', (0.0, said('Rings?', 'anna', 'u1')), (1.0, turn('u1')))
    assert not read_script(path).speaks


def test_how_long_ago_the_visitor_had_stopped_speaking(tmp_path: Path) -> None:
    store = installed_store(UTTERANCE)
    time, header = store.types['builtin_interfaces/msg/Time'], store.types['std_msgs/msg/Header']
    stamp = header(stamp=time(sec=BEGIN // SECOND, nanosec=SECOND // 2), frame_id='')
    path = written(tmp_path / 'bag', (1.0, said('Rings?', header=stamp)), (2.0, said('Lark?')))
    script = read_script(path)
    assert script.messages[0].since_speech == pytest.approx(0.5)
    assert math.isnan(script.messages[1].since_speech)


def test_everything(tmp_path: Path) -> None:
    path = written(tmp_path / 'bag', (0.0, VOICE), (1.0, turn('u1')), (3.0, ('/clock', 'rosgraph_msgs/msg/Clock', b'')))
    script = read_script(path, everything=True)
    assert set(script.topics) == {'/user_speaking', '/turn'}
    assert [step.gap for step in script.steps(4.0)] == [0.0, 0.25]


def test_topics_for_latecomers_are_known(tmp_path: Path) -> None:
    forever = QosTime(9223372036, 854775807)
    qos = Qos(QosHistory.UNKNOWN, 0, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, forever, forever,
              QosLiveliness.AUTOMATIC, forever, avoid_ros_namespace_conventions=False)
    with BagWriter(tmp_path / 'bag') as writer:
        writer.add_topic('/gaze_target', 'std_msgs/msg/Bool', qos=[qos])
        writer.write('/gaze_target', 'std_msgs/msg/Bool', BEGIN, VOICE[2])
        writer.write(*VOICE[:2], BEGIN, VOICE[2])
    assert read_script(tmp_path / 'bag', everything=True).topics == {
        '/gaze_target': ('std_msgs/msg/Bool', True), '/user_speaking': ('std_msgs/msg/Bool', False)}


def test_the_namespace_of_the_recording(tmp_path: Path) -> None:
    topic, kind, data = said('Rings?', utterance_id='u1')
    path = written(tmp_path / 'one', (0.0, ('/robot1' + topic, kind, data)))
    assert read_script(path).prefix == '/robot1/'
    path = written(tmp_path / 'two', (0.0, ('/robot1' + topic, kind, data)), (1.0, ('/robot2' + topic, kind, data)))
    with pytest.raises(BagError, match='several robots: /robot1/utterance, /robot2/utterance'):
        read_script(path)


def test_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(BagError, match='no utterance to replay'):
        read_script(written(tmp_path / 'silent', (0.0, VOICE)))
    with pytest.raises(BagError, match='without text'):
        read_script(written(tmp_path / 'redacted', (0.0, said('')), (1.0, said(''))))
    with pytest.raises(BagError, match='no message'):
        read_script(written(tmp_path / 'empty'), everything=True)


def test_damaged_messages_are_left_out_with_one_warning_a_topic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(
        tmp_path / 'bag', (0.0, said('Rings?', 'anna', 'u1')), (0.1, frame('u1', 'Dust.')),
        (0.2, frame('u1', 'Ice.', kind=9)), (0.3, ('/answer', FRAME, b'\0\1\0\0')), (0.4, turn('u1')),
        (1.0, ('/utterance', UTTERANCE, said('Lark?')[2][:30])), (1.1, ('/turn', TURN, turn('u2')[2][:50])),
        (2.0, said('Heron?', 'anna', 'u3')), (2.1, turn('u3', outcome=9)), (2.2, ('/speech_state', SPEECH, b'\0\1')),
    )
    with caplog.at_level(logging.WARNING):
        script = read_script(path)
    assert [each.utterance.text for each in script.messages] == ['Rings?', 'Heron?']
    assert [each and each.frames for each in script.recorded] == [(('ANSWER', 'Dust.'),), None]
    assert [step.said.number for step in script.steps(1.0)] == [0, 1]
    assert caplog.text.count('are left out') == 4
