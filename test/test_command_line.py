from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pace_ros.command_line import own_words
from pace_ros.ros import ask
from pace_ros.serving import l2_gateway, l2_replica, local_fleet, local_llm

ROS = ['--ros-args', '-r', '__node:=x', '-p', 'use_sim_time:=true']


@pytest.mark.parametrize(('words', 'own'), [
    ([], []), (['--port', '1'], ['--port', '1']), (['a', *ROS], ['a']), ([*ROS, '--', 'b'], ['b']),
    (['a', '--ros-args', '--', 'b', '--ros-args', '-r', 'x'], ['a', 'b']), (['--', 'a'], ['--', 'a']),
])
def test_what_ros_adds_is_passed_over(words: list[str], own: list[str]) -> None:
    assert own_words(words) == own


def test_without_words_they_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sys.argv', ['l2_fleet', '--port', '0', *ROS])
    assert own_words() == ['--port', '0']


@pytest.mark.parametrize(('arguments', 'needed', 'mistyped'), [
    (local_fleet.arguments, [], '--prefilers'), (l2_replica.arguments, [], '--slotz'),
    (l2_gateway.arguments, ['fleet.yaml'], '--prot'), (local_llm.arguments, [], '--thread-s'),
    (ask.arguments, ['hello'], '--locael'),
])
def test_a_mistyped_option_is_named(
    arguments: Callable[[list[str]], Any], needed: list[str], mistyped: str, capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        arguments([*needed, mistyped, '3', *ROS])
    assert f'unrecognized arguments: {mistyped} 3' in capsys.readouterr().err
    arguments([*needed, *ROS])


def test_a_port_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, needed in ((local_fleet.arguments, []), (l2_gateway.arguments, ['fleet.yaml'])):
        with pytest.raises(SystemExit):
            arguments([*needed, '--port', '99999'])
        assert "--port: must be from 0 to 65535, not '99999'" in capsys.readouterr().err
