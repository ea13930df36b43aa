from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.cache.slots import VectorSlots
from pace_ros.embedding import Vector


def axis(number: int, sign: float = 1.0) -> Vector:
    vector = np.zeros(8, dtype=np.float32)
    vector[number] = sign
    return vector


def test_a_slot_stays_valid_while_others_come_and_go() -> None:
    slots = VectorSlots(8, 4)
    a, b, c = (slots.put(axis(number)) for number in range(3))
    slots.free(a)
    assert slots.vector(b).tolist() == axis(1).tolist()
    assert slots.nearest(axis(2), 1) == [(c, 1.0)]
    slots.put(axis(3))
    slots.put(axis(4))
    assert slots.nearest(axis(1), 1) == [(b, 1.0)]


def test_a_freed_slot_scores_nothing_and_is_used_again() -> None:
    slots = VectorSlots(8, 2)
    first = slots.put(axis(0))
    slots.put(axis(1))
    slots.free(first)
    assert all(score <= 0.0 for slot, score in slots.nearest(axis(0), 8) if slot == first)
    assert slots.put(axis(2)) == first
    assert slots.nearest(axis(0), 1)[0][1] == 0.0
    assert slots.nearest(axis(2), 1) == [(first, 1.0)]


def test_no_more_than_the_capacity_is_taken() -> None:
    slots = VectorSlots(8, 2)
    assert (len(slots), slots.full) == (0, False)
    slots.put(axis(0))
    second = slots.put(axis(1))
    assert (len(slots), slots.full) == (2, True)
    with pytest.raises(OverflowError, match='all 2 slots'):
        slots.put(axis(2))
    slots.free(second)
    assert (len(slots), slots.full) == (1, False)


def test_the_nearest_come_best_first_and_are_no_more_than_there_are() -> None:
    slots = VectorSlots(8, 4)
    far = slots.put(axis(1))
    near = slots.put(axis(0))
    opposite = slots.put(axis(0, -1.0))
    assert slots.nearest(axis(0), 100) == [(near, 1.0), (far, 0.0), (opposite, -1.0)]


def test_a_query_without_numbers_finds_nothing() -> None:
    slots = VectorSlots(8, 4)
    assert slots.nearest(axis(0), 3) == []
    slots.put(axis(0))
    for bad in (np.nan, np.inf):
        assert slots.nearest(np.full(8, bad, dtype=np.float32), 3) == []


def test_a_vector_handed_out_is_a_copy() -> None:
    slots = VectorSlots(8, 4)
    slot = slots.put(axis(0))
    slots.vector(slot)[:] = 9.0
    assert slots.vector(slot).tolist() == axis(0).tolist()


@given(st.lists(st.one_of(st.integers(0, 7), st.just('free')), max_size=60))
def test_slots_hold_what_a_dict_holds(actions: list[int | str]) -> None:
    slots, model = VectorSlots(8, 5), dict[int, int]()
    for action in actions:
        if action == 'free':
            if model:
                slot = next(iter(model))
                slots.free(slot)
                del model[slot]
        elif len(model) < 5:
            slot = slots.put(axis(int(action)))
            assert slot not in model
            model[slot] = int(action)
        assert len(slots) == len(model)
    for number in range(8):
        hits = {slot for slot, score in slots.nearest(axis(number), 5) if score > 0.5}
        assert hits == {slot for slot, kept in model.items() if kept == number}
