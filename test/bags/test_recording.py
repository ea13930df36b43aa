"""The queue and the thread behind `bag record`."""
from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from bag_support import BEGIN, content, frame, made, said, turn

from pace_ros.bags import BagError, BagWriter, read_messages
from pace_ros.bags.recording import Heard, Recording
from pace_ros.bags.session import TURN


def heard(message: tuple[str, str, bytes], time: int = BEGIN, *, words: bool = True) -> Heard:
    return Heard(*message[:2], time, message[2], words=words)


def test_everything_put_is_in_the_bag(tmp_path: Path) -> None:
    recording = Recording(BagWriter(tmp_path / 'bag'))
    for number in range(500):
        recording.put(heard(turn(f'u{number}'), BEGIN + number))
    recording.close()
    assert recording.error == ''
    assert recording.written == 500
    assert [each.message.utterance_id for each in read_messages(tmp_path / 'bag')] == [f'u{n}' for n in range(500)]


def test_words_are_left_out_where_they_may_not_be_kept(tmp_path: Path) -> None:
    recording = Recording(BagWriter(tmp_path / 'bag'))
    onset = made('pace_msgs/msg/Onset', detail='a secret', elapsed=0.5)
    for message in (
        said('a secret', alternatives=['a regret']), turn('u1', answer='a secret', reason='L2: refused: a secret'),
        frame('u1', 'a secret'), ('/onset', 'pace_msgs/msg/Onset', onset),
        ('/l2_traffic', 'pace_msgs/msg/L2Traffic', made('pace_msgs/msg/L2Traffic', request='secret')),
        ('/turn', TURN, turn('u2', answer='a secret')[2][:80]),
    ):
        recording.put(heard(message, words=False))
    recording.put(heard(turn('u3', answer='no surprise')))
    recording.close()
    assert recording.lost == 1  # damaged: nobody knows which of its bytes are words
    assert b'secret' not in content(tmp_path / 'bag')
    assert b'no surprise' in content(tmp_path / 'bag')
    *others, last = read_messages(tmp_path / 'bag')
    assert last.message.answer == 'no surprise'
    messages = {each.topic: each.message for each in others}
    assert set(messages) == {'/utterance', '/turn', '/answer', '/onset'}
    assert messages['/turn'].reason == 'L2: refused'
    assert messages['/turn'].ptfr == 0.5
    assert messages['/onset'].elapsed == 0.5


def test_a_type_nobody_knows_costs_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recording = Recording(BagWriter(tmp_path / 'bag'))
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            recording.put(Heard('/x', 'nowhere_msgs/msg/Nothing', BEGIN, b''))
        recording.put(heard(turn('u1')))
        recording.close()
    assert (recording.written, recording.lost, recording.error) == (1, 3, '')
    assert len(caplog.records) == 1


class FullDisk(BagWriter):
    """Takes three messages."""

    def write(self, topic: str, kind: str, time: int, data: bytes) -> None:
        if self.written == 3:
            raise BagError(f'{self.path} cannot be written: no space left.')
        super().write(topic, kind, time, data)


def test_a_full_disk_ends_the_recording_with_a_sentence(tmp_path: Path) -> None:
    recording = Recording(FullDisk(tmp_path / 'bag'))
    for number in range(5):
        recording.put(heard(turn(f'u{number}')))
    recording.close()
    assert recording.error.endswith('no space left.')
    recording.put(heard(turn('late')))
    assert recording.lost >= 1


class SlowDisk(BagWriter):
    """Takes nothing until it is let go."""

    gate = threading.Event()

    def write(self, topic: str, kind: str, time: int, data: bytes) -> None:
        assert self.gate.wait(10.0)
        super().write(topic, kind, time, data)


def test_a_slow_disk_loses_what_does_not_fit_and_says_how_much(tmp_path: Path) -> None:
    SlowDisk.gate.clear()
    recording = Recording(SlowDisk(tmp_path / 'bag'), max_pending=len(turn('u0')[2]) * 3)
    for number in range(20):
        recording.put(heard(turn(f'u{number % 10}')))
    SlowDisk.gate.set()
    recording.close()
    assert recording.written + recording.lost == 20
    assert recording.lost >= 14
