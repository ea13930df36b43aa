from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.store import Store
from pace_ros.cache.stored_row import DamagedEntry, Row, Use

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


def entry(question: str, *sources: Source, expires: float | None = None) -> CacheEntry:
    return CacheEntry(question, f'answer to {question}', 'en', sources, 100.5, expires, 'price: ttl 60 s', 'price')


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store(None)
    store.begin({})
    yield store
    store.close()


def ids(store: Store) -> list[int]:
    return [each.entry_id for each in store.page(0, 100)]


@pytest.mark.parametrize('question', ['How far?', '多远？', 'a "b"\n\u2028🚗'])
@pytest.mark.parametrize('expires', [None, 1e9 + 0.25, 7])
def test_what_is_written_is_read(store: Store, question: str, expires: float | None) -> None:
    value = entry(question, Source('a', '1'), Source('b', '版'), expires=expires)
    entry_id = store.insert(value, VECTOR, 20833.123456789)
    row = store.read(entry_id)
    assert row is not None
    assert (row.entry, row.vector.tolist(), row.weight) == (value, VECTOR.tolist(), 20833.123456789)
    assert (row.hits, row.last_hit, row.vector.dtype) == (0, None, np.float32)
    assert store.read(entry_id + 1) is None


def test_the_same_question_is_replaced_under_a_new_id(store: Store) -> None:
    assert store.insert(entry('A?'), VECTOR, 1.0) == 1
    assert store.insert(entry('a'), VECTOR, 1.0) == 2
    assert ids(store) == [2]
    found = store.find('en', 'a')
    assert found is not None
    assert found.entry_id == store.id_of('en', 'a') == 2
    assert store.id_of('zh', 'a') is None


def test_an_insertion_that_fails_evicts_nothing(store: Store) -> None:
    store.insert(entry('a'), VECTOR, 1.0)
    with pytest.raises(sqlite3.Error):
        store.insert(entry('b'), VECTOR, None, evicted=[1])  # type: ignore[arg-type]
    assert ids(store) == [1]
    assert store.insert(entry('b'), VECTOR, 1.0, evicted=[1]) == 2
    assert ids(store) == [2]


def test_provenance_follows_every_change(store: Store) -> None:
    store.insert(entry('a', Source('x', '1'), Source('y', '1'), Source('x', '1')), VECTOR, 1.0)
    store.insert(entry('b', Source('x', '2')), VECTOR, 1.0)
    store.insert(entry('c', Source('z', '1')), VECTOR, 1.0)
    assert store.built_on(['x', 'x', 'z', 'unknown']) == [1, 2, 3]
    assert store.built_on_version([Source('x', '2'), Source('y', '9')]) == [2]
    assert set(store.sources()) == {Source('x', '1'), Source('x', '2'), Source('y', '1'), Source('z', '1')}
    store.insert(entry('a', Source('w', '1')), VECTOR, 1.0)
    store.delete([3, 99])
    assert store.built_on(['x', 'y', 'z', 'w']) == [2, 4]
    store.clear()
    assert (store.sources(), ids(store)) == ([], [])


def test_only_the_heaviest_are_kept(store: Store) -> None:
    for question, weight in (('a', 2.0), ('b', 9.0), ('c', 4.0), ('d', 7.0)):
        store.insert(entry(question), VECTOR, weight)
    store.keep_heaviest(2)
    assert ids(store) == [2, 4]


def test_batches_give_everything(store: Store) -> None:
    for number in range(5):
        store.insert(entry(f'q{number}', Source('x', '1')), VECTOR, float(number))
    store.note_uses([Use(7.5, 3, 8.25, 2)])
    batches = list(store.batches(2))
    assert [batch.ids for batch in batches] == [[1, 2], [3, 4], [5]]
    assert batches[0].uses == [Use(0.0, 0, None, 1), Use(7.5, 3, 8.25, 2)]
    assert batches[0].vectors.tolist() == [VECTOR.tolist()] * 2
    assert sum(batch.provenance for batch in batches) == store.provenance()


@pytest.mark.parametrize('change', [
    'question = "other"', 'answer = answer || " "', 'scope = "zh"', 'normal = "other"', 'sources = "[]"',
    'written = written + 1', 'expires = 5.0', 'reason = ""', 'category = ""', "vector = x'0000003f0000003f'",
    'vector = "text"', 'crc = crc + 1', 'id = id + 1',
])
def test_any_change_of_what_never_changes_is_found(store: Store, change: str) -> None:
    store.insert(entry('a', Source('x', '1')), VECTOR, 1.0)
    store._db.execute('UPDATE entry SET ' + change.replace('"', "'"))  # noqa: S608
    (entry_id,) = ids(store)
    with pytest.raises(DamagedEntry, match=f'entry {entry_id}'):
        store.read(entry_id)
    with pytest.raises(DamagedEntry):
        list(store.batches(10))
    assert not isinstance(store.page(0, 10)[0], Row)
    store.delete_damaged(entry_id)
    assert ids(store) == []
    assert store.sources() == []


# -- the journal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def crashed(tmp_path: Path) -> Callable[[int], Path]:
    """A copy of file and journal as a crash after so many insertions would leave them, nothing of it checkpointed."""

    def crash(count: int) -> Path:
        store, copy = Store(tmp_path / 'alive.sqlite'), tmp_path / 'crashed.sqlite'
        store.begin({})
        for number in range(count):
            store.insert(entry(f'q{number}', Source('x', '1')), VECTOR, 1.0)
        for part in ('', '-wal'):
            shutil.copy(f'{store.file}{part}', f'{copy}{part}')
        store.close()
        return copy

    return crash


def reopened(file: Path) -> list[str]:
    store = Store(file)
    assert store.check() == ''
    if store.is_new:
        found = []
    else:
        found = [each.entry.question for each in store.page(0, 1000) if isinstance(each, Row)]
        assert store.provenance() == sum(batch.provenance for batch in store.batches(100))
    store.close()
    return found


def test_a_journal_without_a_checkpoint_is_whole(crashed: Callable[[int], Path]) -> None:
    assert reopened(crashed(20)) == [f'q{number}' for number in range(20)]


@pytest.mark.parametrize('cut', [1, 100, 8_000, 8_216, 50_000, 200_000])
def test_a_torn_end_of_the_journal_is_dropped(crashed: Callable[[int], Path], cut: int) -> None:
    file = crashed(20)
    journal = Path(f'{file}-wal')
    with journal.open('r+b') as torn:
        torn.truncate(journal.stat().st_size - cut)
    kept = reopened(file)
    assert kept == [f'q{number}' for number in range(len(kept))]
    assert len(kept) == (19 if cut <= 8_216 else len(kept))
    assert len(kept) < 20


@pytest.mark.parametrize('place', [0, 10, 40, 0.3, 0.6, 0.99])
def test_a_flipped_byte_in_the_journal_costs_what_came_after_it_only(
    crashed: Callable[[int], Path], place: float
) -> None:
    file = crashed(20)
    journal = Path(f'{file}-wal')
    content = bytearray(journal.read_bytes())
    content[int(place * len(content)) if 0 < place < 1 else int(place)] ^= 0xFF
    journal.write_bytes(content)
    kept = reopened(file)
    assert kept == [f'q{number}' for number in range(len(kept))]
    assert len(kept) < 20


def test_a_checkpoint_brings_the_journal_into_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path / 'a.sqlite')
    store.begin({})
    store.insert(entry('a'), VECTOR, 1.0)
    store.checkpoint(5.0)
    shutil.copy(tmp_path / 'a.sqlite', tmp_path / 'alone.sqlite')
    assert reopened(tmp_path / 'alone.sqlite') == ['a']
    assert store.meta()['saved'] == '5.0'
    before = Path(f'{store.file}-wal').stat().st_size
    for number in range(50):  # the journal begins anew: it does not grow for ever
        store.insert(entry(f'q{number}'), VECTOR, 1.0)
        store.checkpoint(6.0)
    assert Path(f'{store.file}-wal').stat().st_size <= before
    store.close()


def test_a_checkpoint_goes_on_beside_a_transaction(tmp_path: Path) -> None:
    store = Store(tmp_path / 'a.sqlite')
    store.begin({})
    reader = sqlite3.connect(tmp_path / 'a.sqlite', isolation_level=None)
    reader.execute('BEGIN')
    assert reader.execute('SELECT count(*) FROM entry').fetchone() == (0,)
    store.insert(entry('a'), VECTOR, 1.0)
    store.checkpoint(5.0)
    assert reader.execute('SELECT count(*) FROM entry').fetchone() == (0,)  # its own view stays
    reader.close()
    store.close()


def test_vectors_and_samples_come_as_matrices(store: Store) -> None:
    for number in range(4):
        store.insert(entry(f'q{number}'), np.eye(2, dtype=np.float32)[number % 2], 1.0)
    assert store.vectors([2, 3]).tolist() == [[0, 1], [1, 0]]
    assert store.sample(1).shape == (4, 2)
