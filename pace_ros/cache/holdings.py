"""The entries held: rows in SQLite, and in memory the index of their vectors and a few numbers each, in step."""
from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from pace_ros.cache.cache_file import DamagedFile, open_store
from pace_ros.cache.entry import CacheEntry, Source, StoredEntry
from pace_ros.cache.rows import Rows
from pace_ros.cache.store import Store
from pace_ros.cache.stored_row import DamagedEntry, Row, Use
from pace_ros.cache.vector_index import TRAINING, VectorIndex
from pace_ros.embedding import Vector
from pace_ros.language import is_encodable, normal_form

log = logging.getLogger(__name__)
T = TypeVar('T')
CANDIDATES = 8  # looked at first; more only if those of another scope or out of date take the places
ROUGH_CANDIDATES = 64  # looked at first where scores are rough
ROUGHNESS = 0.03  # by how much a rough score may miss the exact one (measured: 0.002 at 512 dimensions)
UNIT = 1e-3  # how far from 1 the length of a unit vector may be
BATCH = 2_000  # rows loaded at once


class Held(NamedTuple):
    """An entry as it is stored, with its row number in memory."""

    row: int
    stored: Row


class Holdings:
    """Every call is made under ``lock``.

    A write is a transaction first, and in memory after that: what SQLite refuses has not happened, except that what
    was to be removed is served no more, and is removed from the file later. ``error`` says what SQLite refused last,
    ``damaged`` counts the rows that were found changed, and removed.
    """

    def __init__(self, dimension: int, capacity: int, flat_limit: int, lock: threading.Lock) -> None:
        self.rows = Rows()
        self.error = ''
        self.damaged = 0
        self._dimension = dimension
        self._capacity = capacity
        self._flat_limit = flat_limit
        self._index = VectorIndex(dimension, lock, flat_limit=flat_limit)
        self._used: set[int] = set()  # rows whose use is not in the file yet
        self._doomed: set[int] = set()  # ids removed that are in the file still

    def open(self, file: Path | None, fingerprint: str, now: float) -> None:
        """Open or begin the file. Raises CacheFileError."""
        self.store = open_store(file, dimension=self._dimension, fingerprint=fingerprint, now=now, load=self._load)

    @property
    def index(self) -> VectorIndex:
        """The vectors, by row number."""
        return self._index

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, row: int) -> Row | None:
        """An entry as it is stored, None if it cannot be read; a damaged one is removed."""
        return self._attempt(lambda: self.store.read(int(self.rows.entry_id[row])))

    def same(self, question: str, scope: str) -> Held | None:
        """The entry of the same question in normal form."""
        if not is_encodable(question + scope):
            return None
        stored = self._attempt(lambda: self.store.find(scope, normal_form(question)))
        row = None if stored is None else self.rows.of(stored.entry_id)
        return None if stored is None or row is None else Held(row, stored)

    def near(self, vector: Vector, scope: str, threshold: float) -> Iterator[tuple[int, float]]:
        """The rows of a scope, nearest first, searched in growing portions until one ends below the threshold."""
        if not self.is_unit(vector):
            return
        number = self.rows.number(scope)
        seen: set[int] = set()  # by row: those dropped meanwhile have lost their rank
        exact = self._index.exact
        wanted, floor = (CANDIDATES, threshold) if exact else (ROUGH_CANDIDATES, threshold - ROUGHNESS)
        while fresh := [each for each in self._index.nearest(vector, wanted) if each[0] not in seen]:
            mine = [each for each in fresh if self.rows.scope[each[0]] == number]
            yield from mine if exact else self._rescored(mine, vector, floor)
            if fresh[-1][1] < floor:
                return
            seen.update(row for row, _ in fresh)
            wanted *= 8

    def page(self, after: int, count: int) -> tuple[list[StoredEntry], int] | None:
        """Some of the next entries by id, with their use, and the id they end at, which is 0 behind the last; None
        where they cannot be read.
        """
        page = self._attempt(lambda: self.store.page(after, count))
        if page is None:
            return None
        for each in page:
            if isinstance(each, DamagedEntry):
                self._drop_damaged(each)
        held = [(self.rows.of(each.entry_id), each) for each in page if isinstance(each, Row)]
        return [self.with_use(row, each) for row, each in held if row is not None], page[-1].entry_id if page else 0

    def with_use(self, row: int, stored: Row) -> StoredEntry:
        """An entry with its use up to now."""
        use = self._use(row)
        return StoredEntry(stored.entry_id, stored.entry, use.hits, use.last_hit)

    def is_unit(self, vector: Vector) -> bool:
        """Whether a vector is one of the space: of its dimension, finite, of length 1."""
        return vector.shape == (self._dimension,) and bool(abs(float(np.linalg.norm(vector)) - 1.0) <= UNIT)

    # -- writing ----------------------------------------------------------------------------------------------------

    def put(self, entry: CacheEntry, vector: Vector, weight: float) -> bool:
        """Hold an entry in the place of the same question's, or where all places are taken of the lightest."""
        try:
            same = self.store.id_of(entry.scope, normal_form(entry.question))
            old = None if same is None else self.rows.of(same)
            if old is None and len(self.rows) >= self._capacity:
                old = self.rows.lightest()
            evicted = [] if old is None else [int(self.rows.entry_id[old])]
            entry_id = self.store.insert(entry, vector, weight, evicted=evicted)
        except sqlite3.Error as error:
            self._trouble(error)
            return False
        if old is not None:
            self._forget(old)
        row = self._index.put(vector)
        self.rows.put(row, entry_id, entry.scope, life=(entry.written, entry.expires), weight=weight)
        self.error = ''
        return True

    def drop(self, ids: Iterable[int]) -> int:
        """Hold these entries no longer; returns how many there were."""
        gone = {entry_id: row for entry_id in ids if (row := self.rows.of(entry_id)) is not None}
        for row in gone.values():
            self._forget(row)
        self._doomed.update(gone)
        if self._doomed:
            try:
                self._delete_doomed()
            except sqlite3.Error as error:
                self._trouble(error)
        return len(gone)

    def clear(self) -> int:
        """Hold nothing; returns how many entries there were."""
        gone = list(self.rows)
        self.rows = Rows()
        self._used.clear()
        self._index.clear()
        try:
            self.store.clear()
            self._doomed.clear()
            self.error = ''
        except sqlite3.Error as error:
            self._doomed.update(gone)
            self._trouble(error)
        return len(gone)

    def use(self, row: int, weight: float, now: float) -> None:
        """Count a hit; the file learns of it by ``write_uses``."""
        self.rows.use(row, weight, now)
        self._used.add(row)

    def write_uses(self, count: int) -> bool:
        """Bring some uses into the file, and removals that it refused; says whether more are left. Raises
        sqlite3.Error.
        """
        self._delete_doomed()
        some = [row for row, _ in zip(self._used, range(count), strict=False)]
        if some:
            self.store.note_uses(map(self._use, some))
            self._used.difference_update(some)
        return bool(self._used)

    def outdated(self, versions: Mapping[str, str]) -> list[Source] | None:
        """What entries were built on that is not in ``versions``; None where it cannot be read."""
        built_on = self._attempt(self.store.sources)
        return built_on and [each for each in built_on if versions.get(each.entry_id) != each.version]

    def built_on(self, find: Callable[[], list[int]]) -> list[int]:
        """The entries that ``find`` finds by their sources; all of them where it cannot be known."""
        found = self._attempt(find)
        return list(self.rows) if found is None else found

    # -- inside -----------------------------------------------------------------------------------------------------

    def _attempt(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except DamagedEntry as damage:
            self._drop_damaged(damage)
        except sqlite3.Error as error:
            self._trouble(error)
        return None

    def _drop_damaged(self, damage: DamagedEntry) -> None:
        self.damaged += 1
        log.error('a cached answer is removed: %s', damage)
        row = self.rows.of(damage.entry_id)
        if row is not None:
            self._forget(row)
        try:
            self.store.delete_damaged(damage.entry_id)
        except sqlite3.Error as error:
            self._doomed.add(damage.entry_id)
            self._trouble(error)

    def _rescored(self, rough: list[tuple[int, float]], vector: Vector, floor: float) -> list[tuple[int, float]]:
        """Candidates with their exact cosine, best first; those below ``floor`` keep the rough one."""
        near = [row for row, score in rough if score >= floor]
        ids = [int(self.rows.entry_id[row]) for row in near]
        vectors = self._attempt(lambda: self.store.vectors(ids)) if near else None
        exact = [] if vectors is None else zip(near, map(float, vectors @ vector), strict=True)
        return sorted(exact, key=lambda each: -each[1]) + rough[len(near):]

    def _use(self, row: int) -> Use:
        rows, hits = self.rows, int(self.rows.hits[row])
        return Use(float(rows.weight[row]), hits, float(rows.last_hit[row]) if hits else None, int(rows.entry_id[row]))

    def _forget(self, row: int) -> None:
        self.rows.drop(row)
        self._index.free(row)
        self._used.discard(row)

    def _delete_doomed(self) -> None:
        if self._doomed:
            self.store.delete(self._doomed)
            self._doomed.clear()
            self.error = ''

    def _trouble(self, error: sqlite3.Error) -> None:
        if not self.error:
            log.error('the cache meets trouble with its file: %s', error)
        self.error = str(error) or type(error).__name__

    # -- from the file ----------------------------------------------------------------------------------------------

    def _load(self, store: Store) -> None:
        """Take in everything, verified. Raises DamagedFile or DamagedEntry."""
        self.rows = Rows()
        self._index.clear()
        count = store.count()
        if count > self._capacity:
            store.keep_heaviest(self._capacity)
            log.info('%d cached answers are more than the capacity of %d: the least used go', count, self._capacity)
            count = self._capacity
        provenance = 0
        for batch in store.batches(BATCH):
            if batch.vectors.shape[1] != self._dimension or not _all_unit(batch.vectors):
                raise DamagedFile('a vector is none of this encoder')
            if not len(self.rows) and count > self._flat_limit:
                self._index.train(store.sample(max(1, count // TRAINING)))
            rows = self._index.put_all(batch.vectors).tolist()
            for row, entry_id, scope, life, use in zip(
                rows, batch.ids, batch.scopes, batch.life, batch.uses, strict=True
            ):
                self.rows.put(row, entry_id, scope, life=life, weight=use.weight)
                self.rows.resume(row, use.hits, use.last_hit)
            provenance += batch.provenance
        if provenance != store.provenance():
            raise DamagedFile('what answers were built on is damaged')


def _all_unit(vectors: np.typing.NDArray[np.float32]) -> bool:
    return bool((np.abs(np.linalg.norm(vectors, axis=1) - 1.0) <= UNIT).all())
