from __future__ import annotations

import math

import pytest

from pace_ros.cache.rows import ROOM, Rows


def put(rows: Rows, row: int, entry_id: int, *, weight: float = 1.0, expires: float | None = None) -> None:
    rows.put(row, entry_id, 'en', life=(10.0, expires), weight=weight)


def test_ids_and_rows_lead_to_each_other_while_held() -> None:
    rows = Rows()
    put(rows, 0, 7)
    put(rows, 1, 9)
    assert (rows.of(7), rows.of(9), rows.of(8), list(rows), len(rows)) == (0, 1, None, [7, 9], 2)
    rows.drop(0)
    assert (rows.of(7), len(rows)) == (None, 1)
    put(rows, 0, 10)
    assert rows.of(10) == 0


def test_the_lightest_is_never_a_free_row() -> None:
    rows = Rows()
    for row, weight in enumerate((3.0, -5.0, 2.0)):
        put(rows, row, row + 1, weight=weight)
    assert rows.lightest() == 1
    rows.drop(1)
    assert rows.lightest() == 2


def test_a_scope_nobody_has_is_that_of_no_row_not_even_a_free_one() -> None:
    rows = Rows()
    put(rows, 0, 1)
    put(rows, 1, 2)
    rows.drop(1)
    assert rows.number('zh') not in rows.scope
    assert rows.scope[0] == rows.number('en') != rows.scope[1]


@pytest.mark.parametrize(('now', 'expired'), [(9.9, True), (10.0, False), (19.9, False), (20.0, True)])
def test_a_life_is_from_writing_to_its_end(now: float, *, expired: bool) -> None:
    rows = Rows()
    put(rows, 0, 1, expires=20.0)
    put(rows, 1, 2)
    assert rows.expired(0, now) is expired
    assert not rows.expired(1, now)


def test_rows_far_beyond_the_room_keep_the_others() -> None:
    rows = Rows()
    put(rows, 0, 1, weight=4.0)
    rows.use(0, 4.0, 12.0)
    put(rows, 3 * ROOM, 2)
    assert (rows.of(1), rows.of(2), rows.weight[0], rows.hits[0], rows.last_hit[0]) == (0, 3 * ROOM, 5.0, 1, 12.0)


def test_a_row_used_again_begins_without_hits() -> None:
    rows = Rows()
    put(rows, 0, 1)
    rows.resume(0, 5, 11.0)
    rows.use(0, 1.0, 12.0)
    assert (rows.hits[0], rows.last_hit[0]) == (6, 12.0)
    rows.drop(0)
    put(rows, 0, 2)
    assert rows.hits[0] == 0
    assert math.isnan(rows.last_hit[0])
