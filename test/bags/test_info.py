"""What is in a bag."""
from __future__ import annotations

import logging
from pathlib import Path

import pytest
from bag_support import said, turn, written

from pace_ros.bags.info import Topic, describe
from pace_ros.bags.session import TURN, UTTERANCE


def test_topics_conversations_and_turns(tmp_path: Path) -> None:
    path = written(
        tmp_path / 'bag', (0.0, said('Ri', partial=True)), (0.5, said('Rings?')), (1.0, turn('u1')),
        (2.0, said('Lark?', '')), (2.5, turn('u2', 'default', path=2)), (4.5, turn('u3', outcome=2, path=0)),
    )
    found = describe(path)
    assert (found.storage, found.cut, found.messages, found.duration) == ('mcap', False, 6, 4.5)
    assert found.topics == [Topic('/turn', TURN, 3), Topic('/utterance', UTTERANCE, 3)]
    anna = found.conversations['anna']
    assert (anna.utterances, anna.turns) == (1, 2)
    assert anna.outcomes == {'ANSWERED': 1, 'PREEMPTED': 1}
    assert found.conversations['default'].paths == {'L1': 1}
    assert found.as_json()['conversations']['anna']['paths'] == {'L2': 1, 'UNKNOWN': 1}


def test_damaged_messages_are_counted_by_topic_only_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torn = ('/turn', TURN, turn('u1')[2][:50])
    path = written(tmp_path / 'bag', (0.0, torn), (1.0, turn('u2', outcome=9)), (2.0, turn('u3', path=9)),
                   (3.0, turn('u4')))
    with caplog.at_level(logging.WARNING):
        found = describe(path)
    assert found.topics == [Topic('/turn', TURN, 4)]
    assert (found.conversations['anna'].turns, found.conversations['anna'].paths) == (1, {'L2': 1})
    assert caplog.text.count('are left out') == 1
