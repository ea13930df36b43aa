from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.cache.vector_index import InvertedVectors, VectorIndex
from pace_ros.embedding import Vector


def axis(number: int, sign: float = 1.0) -> Vector:
    vector = np.zeros(8, dtype=np.float32)
    vector[number] = sign
    return vector


def units(count: int, seed: int = 1) -> Vector:
    table = np.random.default_rng(seed).standard_normal((count, 16)).astype(np.float32)
    return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.fixture
def lock() -> threading.Lock:
    return threading.Lock()


@pytest.fixture
def index(lock: threading.Lock) -> VectorIndex:
    return VectorIndex(8, lock)


def test_a_row_stays_valid_while_others_come_and_go(index: VectorIndex) -> None:
    a, b, c = (index.put(axis(number)) for number in range(3))
    index.free(a)
    assert index.nearest(axis(2), 1) == [(c, 1.0)]
    index.put(axis(3))
    index.put(axis(4))
    assert index.nearest(axis(1), 1) == [(b, 1.0)]


def test_a_freed_row_scores_nothing_and_is_used_again(index: VectorIndex) -> None:
    first = index.put(axis(0))
    index.put(axis(1))
    index.free(first)
    assert all(score <= 0.0 for row, score in index.nearest(axis(0), 8) if row == first)
    assert index.put(axis(2)) == first
    assert index.nearest(axis(0), 1)[0][1] == 0.0
    assert index.nearest(axis(2), 1) == [(first, 1.0)]
    assert len(index) == 2


def test_the_nearest_come_best_first_and_are_no_more_than_there_are(index: VectorIndex) -> None:
    far = index.put(axis(1))
    near = index.put(axis(0))
    opposite = index.put(axis(0, -1.0))
    assert index.nearest(axis(0), 100) == [(near, 1.0), (far, 0.0), (opposite, -1.0)]


def test_a_query_without_numbers_finds_nothing(index: VectorIndex) -> None:
    assert index.nearest(axis(0), 3) == []
    index.put(axis(0))
    for bad in (np.nan, np.inf):
        assert index.nearest(np.full(8, bad, dtype=np.float32), 3) == []


def test_many_at_once_get_the_rows_behind_the_last(index: VectorIndex) -> None:
    index.put(axis(0))
    assert index.put_all(np.stack([axis(1), axis(2)])).tolist() == [1, 2]
    assert index.nearest(axis(2), 1) == [(2, 1.0)]


def test_beyond_the_limit_an_inverted_file_takes_over(lock: threading.Lock) -> None:
    table = units(200)
    index = VectorIndex(16, lock, flat_limit=150)
    with lock:
        rows = [index.put(vector) for vector in table[:150]]
        assert index.exact
        rows += [index.put(table[150])]
    index.settle()
    assert not index.exact
    with lock:
        rows += [index.put(vector) for vector in table[151:]]
        index.free(rows[3])
        for row, vector in zip(rows, table, strict=True):
            (found, score), *_ = index.nearest(vector, 1)
            assert (found == row) is (row != rows[3])
            assert score == pytest.approx(1.0 if found == row else score, abs=0.05)
        assert index.put(table[3]) == rows[3]
        assert index.nearest(table[3], 1)[0][0] == rows[3]
        assert len(index) == 200


def test_what_changes_during_the_building_is_not_lost(lock: threading.Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The building waits while vectors are freed, replaced and added."""
    table, goes_on = units(120), threading.Event()
    add = InvertedVectors.add

    def add_late(self: InvertedVectors, *arguments: object) -> None:
        assert goes_on.wait(10)
        add(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(InvertedVectors, 'add', add_late)
    index = VectorIndex(16, lock, flat_limit=50)
    with lock:
        for vector in table[:51]:
            index.put(vector)
        index.free(5)
        index.free(7)
        assert index.put(table[100]) == 7
        assert [index.put(vector) for vector in table[101:103]] == [5, 51]
        index.free(9)
    assert index.exact
    goes_on.set()
    index.settle()
    assert not index.exact
    content = {row: table[row] for row in range(51) if row not in {5, 7, 9}}
    content |= {7: table[100], 5: table[101], 51: table[102]}
    with lock:
        assert len(index) == len(content)
        assert {row for row, _ in index.nearest(table[0], 500)} == content.keys()
        for row, vector in content.items():
            assert index.nearest(vector, 1)[0][0] == row


def test_a_building_outrun_by_a_clear_changes_nothing(lock: threading.Lock) -> None:
    table = units(60)
    index = VectorIndex(16, lock, flat_limit=50)
    with lock:
        for vector in table[:51]:
            index.put(vector)
        index.clear()
        index.put(table[55])
    index.settle()
    assert (index.exact, len(index)) == (True, 1)
    assert index.nearest(table[55], 1)[0][0] == 0
    assert index.nearest(table[0], 5)[0][0] == 0


def test_of_two_buildings_the_later_counts(lock: threading.Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    table, goes_on = units(120), threading.Event()
    add = InvertedVectors.add

    def add_late(self: InvertedVectors, *arguments: object) -> None:
        assert goes_on.wait(10)
        add(self, *arguments)  # type: ignore[arg-type]

    index = VectorIndex(16, lock, flat_limit=50)
    with lock:
        with monkeypatch.context() as patch:
            patch.setattr(InvertedVectors, 'add', add_late)
            for vector in table[:51]:
                index.put(vector)
            first = index._builder
            index.clear()
            for vector in table[60:111]:
                index.put(vector)
            goes_on.set()
        assert first is not None
    first.join(10)
    index.settle()
    with lock:
        assert {row for row, _ in index.nearest(table[0], 500)} == set(range(51))
        assert [index.nearest(vector, 1)[0][0] for vector in table[60:111]] == list(range(51))


def test_closing_ends_a_building(lock: threading.Lock) -> None:
    index = VectorIndex(16, lock, flat_limit=50)
    with lock:
        for vector in units(51):
            index.put(vector)
    index.close()
    assert not any(thread.name == 'cache-index' for thread in threading.enumerate())


@given(st.lists(st.one_of(st.integers(0, 7), st.just('free')), max_size=60))
def test_it_holds_what_a_dict_holds(actions: list[int | str]) -> None:
    held, modelled = held_and_modelled(VectorIndex(8, threading.Lock()), actions)
    assert held == modelled


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 7), st.just('free')), max_size=60))
def test_an_inverted_file_holds_what_a_dict_holds(actions: list[int | str]) -> None:
    index = VectorIndex(8, threading.Lock())
    index.train(np.eye(8, dtype=np.float32))
    held, modelled = held_and_modelled(index, actions)
    assert held == modelled


def held_and_modelled(index: VectorIndex, actions: list[int | str]) -> tuple[list[set[int]], list[set[int]]]:
    """By axis, the rows that the index finds there, and those that a dictionary has."""
    model = dict[int, int]()
    for action in actions:
        if action == 'free':
            if model:
                row = next(iter(model))
                index.free(row)
                del model[row]
        elif len(model) < 5:
            row = index.put(axis(int(action)))
            assert row not in model
            model[row] = int(action)
        assert len(index) == len(model)
    held = [{row for row, score in index.nearest(axis(number), 5) if score > 0.5} for number in range(8)]
    return held, [{row for row, kept in model.items() if kept == number} for number in range(8)]
