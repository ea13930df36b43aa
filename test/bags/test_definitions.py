"""Definitions agree with what ROS itself generated."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from pace_ros.bags.definitions import UnknownType, definition, installed_store, own_folder, stored

KINDS = [f'pace_msgs/msg/{path.stem}' for path in sorted(own_folder().glob('*.msg'))]
OTHERS = ['geometry_msgs/msg/PointStamped', 'sensor_msgs/msg/JointState', 'diagnostic_msgs/msg/DiagnosticArray',
          'rcl_interfaces/msg/ParameterEvent']


def hash_of(kind: str) -> str:
    package, _, name = kind.partition('/msg/')
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        file = Path(prefix) / 'share' / package / 'msg' / f'{name}.json'
        if file.is_file():
            hashes = json.loads(file.read_text())['type_hashes']
            return next(each['hash_string'] for each in hashes if each['type_name'] == kind)
    pytest.skip(f'{kind} is not installed')


@pytest.mark.parametrize('kind', [*KINDS, *OTHERS])
def test_the_hash_is_the_one_ros_generated(kind: str) -> None:
    assert definition(kind).digest == hash_of(kind)


def test_the_text_keeps_comments_and_carries_all_it_is_made_of() -> None:
    text = definition('pace_msgs/msg/Onset').text
    assert '# the instant' not in text.splitlines()[0]
    assert 'float64 elapsed             # s since receipt' in text
    separator = '=' * 80 + '\n'
    first, header, time = text.split(separator)
    assert first.startswith('# The instant')
    assert header.startswith('MSG: std_msgs/Header\n')
    assert time.startswith('MSG: builtin_interfaces/Time\n')


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(UnknownType, match='nowhere_msgs/msg/Nothing'):
        definition('nowhere_msgs/msg/Nothing')


def test_the_bags_own_definition_comes_first() -> None:
    older = MessageDefinition(MessageDefinitionFormat.MSG, 'string text\n')
    store = stored('pace_msgs/msg/Utterance', older)
    assert [name for name, _ in store.fielddefs['pace_msgs/msg/Utterance'][1]] == ['text']
    nothing = MessageDefinition(MessageDefinitionFormat.NONE, '')
    assert stored('pace_msgs/msg/Utterance', nothing) is installed_store('pace_msgs/msg/Utterance')


def test_a_definition_that_is_none_is_said_to_be_none() -> None:
    with pytest.raises(UnknownType, match='cannot be read'):
        stored('pace_msgs/msg/Utterance', MessageDefinition(MessageDefinitionFormat.MSG, '((('))
