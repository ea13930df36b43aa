"""Exchanges with the language model out of a bag."""
from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pace_ros.bags import BagError, BagWriter
from pace_ros.bags.definitions import installed_store
from pace_ros.bags.l2_traffic import TYPE, exchanges_of
from pace_ros.llm.traffic import Exchanged

FIRST = Exchanged(
    1_800_000_000.25, '{"q":"续航"}', 200, 'text/event-stream', '', (b'ab', b'\xe4', b'c'), (0.5, 0.5, 1.0), 1.5,
)
SECOND = Exchanged(1_800_000_001.5, '{}', 429, 'application/json', '3', (b'{}',), (0.1,), 0.1, 'ReadError: gone')
THIRD = Exchanged(1_800_000_002.0, '{}', 0, '', '', (), (), 0.75, '', abandoned=True)


def message_of(exchanged: Exchanged, **other: object) -> Any:
    """The exchange as rosbags' message."""
    types = installed_store(TYPE).types
    seconds = int(exchanged.begun_wall)
    stamp = types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=round((exchanged.begun_wall - seconds) * 1e9))
    fields = dataclasses.asdict(exchanged)
    del fields['begun_wall'], fields['chunks']
    fields |= {
        'header': types['std_msgs/msg/Header'](stamp=stamp, frame_id=''),
        'body': np.frombuffer(exchanged.body, dtype=np.uint8),
        'sizes': np.array(exchanged.sizes, dtype=np.uint32),
        'times': np.array(exchanged.times, dtype=np.float64),
        **other,
    }
    return types[TYPE](**fields)


def written(path: Path, messages: list[Any], storage: str = 'mcap') -> Path:
    """A bag of the messages."""
    with BagWriter(path, storage=storage) as bag:  # type: ignore[arg-type]
        for number, message in enumerate(messages):
            bag.write('/pace/l2_traffic', TYPE, number, bytes(installed_store(TYPE).serialize_cdr(message, TYPE)))
    return path


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_every_field_comes_back_in_the_order_of_the_requests(tmp_path: Path, storage: str) -> None:
    # An exchange is published at its end, so a later one may stand first.
    path = written(tmp_path / 'bag', [message_of(each) for each in (SECOND, FIRST, THIRD)], storage)
    assert exchanges_of(path) == [FIRST, SECOND, THIRD]


def test_a_bag_without_traffic_has_none(tmp_path: Path) -> None:
    path = tmp_path / 'bag'
    with BagWriter(path) as bag:
        bag.add_topic('/pace/l2_traffic', TYPE)
    assert exchanges_of(path) == []


def test_what_is_no_bag_is_refused_in_the_readers_words(tmp_path: Path) -> None:
    with pytest.raises(BagError, match='nowhere'):
        exchanges_of(tmp_path / 'nowhere')


@pytest.mark.parametrize(
    'wrong',
    [
        {'sizes': np.array([2, 1], dtype=np.uint32)},
        {'sizes': np.array([2, 2], dtype=np.uint32)},
        {'times': np.array([0.5, 1.0])},
        {'times': np.array([0.5, 0.4, 1.0])},
        {'times': np.array([0.5, np.nan, 1.0])},
        {'times': np.array([-0.5, 0.5, 1.0])},
        {'ended': 0.9},
    ],
    ids=['too-few-sizes', 'wrong-sizes', 'too-few-times', 'disorder', 'nan', 'negative', 'end-before-the-last'],
)
def test_an_exchange_that_does_not_fit_together_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    path = written(tmp_path / 'bag', [message_of(FIRST, **wrong)])
    with pytest.raises(BagError, match=r'bag: bytes, sizes and times of the L2 exchange .* do not fit together'):
        exchanges_of(path)
