"""The command line, as far as it needs no robot."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from bag_support import said, turn, written

from pace_ros.bags import tool


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, 'argv', ['bag', *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_info(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / 'bag', (0.0, said('Rings?')), (1.0, turn('u1')))
    assert run(monkeypatch, 'info', path) == 0
    words = capsys.readouterr().out
    assert '1.0 s, 2 messages' in words
    assert 'anna' in words
    assert run(monkeypatch, 'info', '--json', path, path, '--ros-args', '-r', '__node:=x') == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line['messages'] for line in lines] == [2, 2]


def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, 'info', tmp_path / 'nothing') == tool.REFUSED
    assert capsys.readouterr().err == f'{tmp_path / "nothing"} does not exist.\n'
    path = written(tmp_path / 'bag', (0.0, turn('u1')))
    assert run(monkeypatch, 'replay', path) == tool.REFUSED
    assert 'no utterance to replay' in capsys.readouterr().err
    assert run(monkeypatch, 'replay', path, '--all', '--compare') == tool.REFUSED
    assert run(monkeypatch, 'replay', path, '--rate', '0') == 2
    assert 'no number above 0' in capsys.readouterr().err


@pytest.mark.parametrize('lacks', ['rosbags', 'rclpy'])
@pytest.mark.parametrize('command', ['record', 'replay', 'info'])
def test_a_missing_package_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, lacks: str
) -> None:
    path = written(tmp_path / 'bag', (0.0, said('Rings?')))
    for name in [name for name in sys.modules if name.startswith(('pace_ros.bags.', 'pace_ros.ros.', 'rosbags'))]:
        if name != tool.__name__:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, lacks, None)
    code = run(monkeypatch, command, tmp_path / 'new' if command == 'record' else path)
    words = capsys.readouterr().err
    if (command, lacks) == ('info', 'rclpy'):
        assert (code, words) == (0, '')
        return
    assert code == tool.REFUSED
    assert ('requirements/study.txt' if lacks == 'rosbags' else 'ROS 2') in words
    assert words.count('\n') == 1
