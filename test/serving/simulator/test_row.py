"""Turns, and the conversations they make."""
from __future__ import annotations

import math

from pace_ros.serving.simulator.row import COLUMNS, Row, conversations, frame_of


def row(key: str, turn: int, arrival: float, *, last: bool = False, ttfet: float = math.nan, refused: str = '',
        tbt: float = 0.1) -> Row:
    return Row(key, turn, last, arrival, 10, 5, 10, ttfet=ttfet, refused=refused, tbt_mean=tbt, tbt_max=2 * tbt,
               energy=1.5)


ROWS = [
    row('b', 1, 5.0, last=True, ttfet=0.5),
    row('a', 1, 1.0),
    row('a', 2, 9.0, last=True, ttfet=2.0, tbt=0.3),
    row('c', 1, 2.0, ttfet=1.0, tbt=0.4),
    row('c', 2, 8.0, last=True, refused='full', tbt=math.nan),
]


def test_turns_are_in_order_and_every_column_is_explained() -> None:
    frame = frame_of(ROWS)
    assert list(frame) == list(COLUMNS)
    assert all(COLUMNS.values())
    assert list(frame['arrival']) == [1.0, 2.0, 5.0, 8.0, 9.0]


def test_a_conversation_is_seen_from_its_arrival() -> None:
    whole = conversations(frame_of(ROWS)).set_index('conversation')
    assert list(whole.index) == ['a', 'c', 'b']
    assert dict(whole['ttfet']) == {'a': 10.0, 'b': 0.5, 'c': 1.0}
    assert dict(whole['complete']) == {'a': True, 'b': True, 'c': False}
    assert dict(whole['last_tbt_max']) == {'a': 0.6, 'b': 0.2, 'c': 0.8}
    assert dict(whole['energy']) == {'a': 3.0, 'b': 1.5, 'c': 3.0}
    assert dict(whole['turns']) == {'a': 2, 'b': 1, 'c': 2}
