"""The launch files for bags, where ROS 2's launch is installed."""
from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('launch.actions', reason='ROS 2 launch is not installed')
launch = pytest.importorskip('launch')

LAUNCH = Path(__file__).resolve().parents[1] / 'launch'


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, LAUNCH / f'{name}.launch.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(name: str, function: str, **values: str) -> list[str]:
    """The command line it would start with these arguments."""
    module = loaded(name)
    context = launch.LaunchContext()
    for argument, default, _ in module.ARGUMENTS:
        context.launch_configurations[argument] = values.get(argument, default)
    [process] = getattr(module, function)(context)
    return [''.join(context.perform_substitution(part) for part in each) for each in process.cmd]


def test_they_declare_their_arguments() -> None:
    arguments = {name: {each.name for each in loaded(name).generate_launch_description().get_launch_arguments()}
                 for name in ('record', 'replay')}
    assert arguments == {
        'record': {'namespace', 'out', 'storage', 'also'},
        'replay': {'bag', 'recorded', 'namespace', 'rate', 'everything'},
    }


def test_record_names_the_topics_of_one_robot() -> None:
    line = command('record', 'recorder', namespace='robot1', out='/data/monday', also='speech_audio')
    assert line[:7] == ['ros2', 'bag', 'record', '-s', 'mcap', '-o', '/data/monday']
    pattern = line[-1]
    for topic in ('/robot1/turn', '/robot1/utterance', '/robot1/speech_audio', '/diagnostics'):
        assert re.search(pattern, topic)
    for topic in ('/turn', '/robot2/turn', '/robot1/turns'):
        assert not re.search(pattern, topic)


def test_replay_plays_the_inputs_to_another_robot() -> None:
    line = command('replay', 'player', bag='b', recorded='robot1', namespace='robot2', rate='2.0')
    assert line[:8] == ['ros2', 'bag', 'play', 'b', '--clock', '100', '--rate', '2.0']
    assert line[9:12] == ['/robot1/utterance', '/robot1/user_speaking', '/robot1/speaker_position']
    assert '/robot1/utterance:=/robot2/utterance' in line
    assert '--remap' not in command('replay', 'player')
    assert '/turn' in command('replay', 'player', everything='true')
