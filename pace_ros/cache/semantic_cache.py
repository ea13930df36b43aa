"""L0: earlier answers, found again by the similarity of the question."""
from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pace_ros.cache.entry import CacheEntry, CacheMatch
from pace_ros.cache.slots import VectorSlots
from pace_ros.clock import Clock
from pace_ros.embedding import Vector
from pace_ros.language import normal_form

CANDIDATES = 8  # looked at first; more only if those of another scope or out of date take the places


@dataclass(frozen=True)
class CacheRow:
    """What a saved cache keeps of one entry: the entry, its vector (d,), and its standing for eviction."""

    entry: CacheEntry
    vector: Vector
    weight: float


class SemanticCache:
    """Thread-safe store of answers. Every operation is one step under one lock.

    Eviction weighs frequency and recency: an entry's weight is the sum over its uses of 2^((t - now)/half_life), so
    a use counts half after ``half_life`` seconds. The decay is common to all, so log2 of the sum, taken at time 0,
    orders the entries and needs no ageing sweep.
    """

    def __init__(self, *, dimension: int, capacity: int, half_life: float, clock: Clock) -> None:
        self._slots = VectorSlots(dimension, capacity)
        self._weights = np.full(capacity, np.inf)
        self._entries: dict[int, CacheEntry] = {}
        self._exact: dict[tuple[str, str], int] = {}
        self._half_life = half_life
        self._clock = clock
        self._lock = threading.Lock()
        self.version = 0
        self.hits = 0
        self.lookups = 0
        self.stale_rejects = 0

    def __len__(self) -> int:
        """Entries held."""
        return len(self._entries)

    def recall_exact(self, question: str, scope: str) -> CacheMatch:
        """Look for the same normalised question; needs no embedding."""
        with self._lock:
            slot = self._exact.get((scope, normal_form(question)))
            if slot is None:
                return CacheMatch(None, math.nan)
            if self._expired(slot):
                self._drop_stale(slot)
                return CacheMatch(None, math.nan, stale=True)
            self.lookups += 1
            return CacheMatch(self._used(slot), 1.0, exact=True)

    def recall(self, vector: Vector, scope: str, threshold: float) -> CacheMatch:
        """Find the nearest entry of this scope with a cosine of at least ``threshold``; ``vector`` has shape (d,).

        The score of a miss is NaN where the nearest entries are all of another scope.
        """
        with self._lock:
            self.lookups += 1
            stale = False
            best = math.nan
            for rank, (slot, score) in enumerate(self._candidates(vector)):
                if score < threshold and rank >= CANDIDATES:
                    break  # too far for a hit, and looked at enough for the record
                entry = self._entries.get(slot)
                if entry is None or entry.scope != scope:
                    continue
                best = score if math.isnan(best) else best
                if score < threshold:
                    break
                if self._expired(slot):
                    self._drop_stale(slot)
                    stale = True
                    continue
                return CacheMatch(self._used(slot), score, stale=stale)
            return CacheMatch(None, best, stale=stale)

    def would_hit(self, question: str, vector: Vector, scope: str, threshold: float) -> bool:
        """Whether a recall would find an answer; neither counted nor remembered as a use."""
        with self._lock:
            slot = self._exact.get((scope, normal_form(question)))
            if slot is not None and not self._expired(slot):
                return True
            for slot, score in self._candidates(vector):
                if score < threshold:
                    break
                entry = self._entries.get(slot)
                if entry is not None and entry.scope == scope and not self._expired(slot):
                    return True
            return False

    def admit(self, entry: CacheEntry, vector: Vector) -> None:
        """Store an answer; the same question in the same scope is replaced, the least used entry makes room."""
        with self._lock:
            self._store(entry, vector, self._clock.wall() / self._half_life)

    def invalidate(self, *, sources: Iterable[str] = (), terms: Iterable[str] = ()) -> int:
        """Remove every answer built on one of the knowledge entries or naming one of the terms; returns how many."""
        ids = set(sources)
        words = [normal_form(term) for term in terms if normal_form(term)]
        return self._remove_where(
            lambda entry: bool(ids.intersection(entry.sources))
            or any(word in normal_form(f'{entry.question}\n{entry.answer}') for word in words)
        )

    def clear(self) -> int:
        """Remove everything; returns how many entries went."""
        return self._remove_where(lambda _entry: True)

    def rows(self) -> list[CacheRow]:
        """A consistent copy of everything, for saving."""
        with self._lock:  # no longer than copying takes: lookups wait for it
            entries, vectors, weights = list(self._entries.items()), self._slots.vectors(), self._weights.copy()
        return [CacheRow(entry, vectors[slot], float(weights[slot])) for slot, entry in entries]

    def restore(self, rows: Iterable[CacheRow]) -> None:
        """Put saved rows back, heaviest first as far as the capacity goes."""
        with self._lock:
            for row in sorted(rows, key=lambda row: -row.weight):
                if not self._slots.full:
                    self._store(row.entry, row.vector, row.weight)

    def _candidates(self, vector: Vector) -> Iterator[tuple[int, float]]:
        """All slots, nearest first, searched in growing portions."""
        seen: set[int] = set()  # by slot: those dropped meanwhile have lost their rank
        wanted = CANDIDATES
        while len(found := self._slots.nearest(vector, wanted)) > len(seen):
            yield from (each for each in found if each[0] not in seen)
            seen.update(slot for slot, _ in found)
            wanted *= 8

    def _store(self, entry: CacheEntry, vector: Vector, weight: float) -> None:
        key = (entry.scope, normal_form(entry.question))
        if key in self._exact:
            self._remove(self._exact[key])
        elif self._slots.full:
            self._remove(int(np.argmin(self._weights)))
        slot = self._slots.put(vector)
        self._entries[slot] = entry
        self._exact[key] = slot
        self._weights[slot] = weight
        self.version += 1

    def _used(self, slot: int) -> CacheEntry:
        self._weights[slot] = np.logaddexp2(self._weights[slot], self._clock.wall() / self._half_life)
        self.hits += 1
        self.version += 1
        return self._entries[slot]

    def _expired(self, slot: int) -> bool:
        entry = self._entries[slot]
        return entry.expires is not None and not entry.written <= self._clock.wall() < entry.expires

    def _drop_stale(self, slot: int) -> None:
        self._remove(slot)
        self.stale_rejects += 1

    def _remove(self, slot: int) -> None:
        entry = self._entries.pop(slot)
        self._exact.pop((entry.scope, normal_form(entry.question)), None)
        self._weights[slot] = np.inf
        self._slots.free(slot)
        self.version += 1

    def _remove_where(self, condition: Callable[[CacheEntry], bool]) -> int:
        with self._lock:
            doomed = [slot for slot, entry in self._entries.items() if condition(entry)]
            for slot in doomed:
                self._remove(slot)
            return len(doomed)
