"""L0: earlier answers, found again by the similarity of the question."""
from __future__ import annotations

import contextlib
import logging
import math
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pace_ros.cache.cache_file import Ownership
from pace_ros.cache.entry import CacheEntry, CacheMatch, StoredEntry
from pace_ros.cache.holdings import Held, Holdings
from pace_ros.cache.invalidations import Invalidations, names
from pace_ros.cache.vector_index import FLAT_LIMIT
from pace_ros.clock import Clock
from pace_ros.embedding import Vector
from pace_ros.language import is_encodable, normal_form

log = logging.getLogger(__name__)
Differs = Callable[[CacheEntry], str]
MAX_ASKED = 32  # near candidates asked whether they differ, before it is a miss
PAGE = 100  # entries handled before others get the lock


def no_difference(_candidate: CacheEntry) -> str:
    """Every near candidate is a hit."""
    return ''


class SemanticCache:
    """Thread-safe store of answers. Every operation is one step under one lock, but that going through all entries is
    one step a page.

    ``file`` None keeps them in memory. ``close`` ends the use of the file.

    Eviction weighs frequency and recency: an entry's weight is the sum over its uses of 2^((t - now)/half_life), so
    a use counts half after ``half_life`` seconds. The decay is common to all, so log2 of the sum, taken at time 0,
    orders the entries and needs no ageing sweep.
    """

    def __init__(
        self, *, dimension: int, capacity: int, half_life: float, clock: Clock, file: Path | None = None,
        fingerprint: str = '', flat_limit: int = FLAT_LIMIT,
    ) -> None:
        """Open or begin the file; a damaged one, or one of another encoder, is set aside. Raises CacheFileError where
        it cannot be used.

        ``fingerprint`` names the vector space; ``flat_limit`` is the number of vectors up to which search is exact.
        """
        self.file = None if file is None else file.expanduser().resolve()
        self._half_life = half_life
        self._clock = clock
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._closed = False
        self._changes = Invalidations()
        self._held = Holdings(dimension, capacity, flat_limit, self._lock)
        self.version = self.hits = self.lookups = self.stale_rejects = 0
        with contextlib.ExitStack() as begun:
            if self.file is not None:
                begun.callback(Ownership(self.file).release)
            self._held.open(self.file, fingerprint, clock.wall())
            self._owned = begun.pop_all()

    def __len__(self) -> int:
        """Entries held."""
        return len(self._held.rows)

    @property
    def epoch(self) -> int:
        """The number of changes of knowledge so far."""
        return self._changes.epoch

    @property
    def error(self) -> str:
        """What the file refused last, empty once it takes writes again."""
        return self._held.error

    @property
    def damaged(self) -> int:
        """Entries that were found damaged when they were read, and removed."""
        return self._held.damaged

    # -- looking up -------------------------------------------------------------------------------------------------

    def recall_exact(self, question: str, scope: str, differs: Differs = no_difference) -> CacheMatch:
        """Look for the same normalised question; needs no embedding. ``differs`` may say why it is no hit."""
        with self._lock:
            found = self._held.same(question, scope)
            if found is None:
                return CacheMatch(None, math.nan)
            if self._expired(found.row):
                self._drop_stale(found.row)
                return CacheMatch(None, math.nan, stale=True)
            if why := differs(found.stored.entry):
                return CacheMatch(None, math.nan, refused=(f'{found.stored.entry_id}: {why}',))
            self.lookups += 1
            return self._hit(found, CacheMatch(found.stored.entry, 1.0, exact=True, entry_id=found.stored.entry_id))

    def recall(
        self, vector: Vector, scope: str, threshold: float, differs: Differs = no_difference
    ) -> CacheMatch:
        """Find the nearest entry of this scope with a cosine of at least ``threshold``; ``vector`` has shape (d,).

        A candidate is passed over if ``differs`` says why it is no hit. The score of a miss is NaN where
        the nearest entries are all of another scope, and for a vector that is no unit vector.
        """
        with self._lock:
            self.lookups += 1
            stale, best, refused = False, math.nan, list[str]()
            for row, score in self._held.near(vector, scope, threshold):
                best = score if math.isnan(best) else best
                if score < threshold or len(refused) >= MAX_ASKED:
                    break
                if self._expired(row):
                    self._drop_stale(row)
                    stale = True
                elif stored := self._held.read(row):
                    why = differs(stored.entry)
                    if not why:
                        match = CacheMatch(stored.entry, score, False, stale, stored.entry_id, tuple(refused))
                        return self._hit(Held(row, stored), match)
                    refused.append(f'{stored.entry_id}: {why}')
            return CacheMatch(None, best, stale=stale, refused=tuple(refused))

    def would_hit(
        self, question: str, vector: Vector, scope: str, threshold: float, differs: Differs = no_difference
    ) -> bool:
        """Whether a recall would find an answer; neither counted nor remembered as a use."""
        with self._lock:
            found = self._held.same(question, scope)
            if found is not None and not self._expired(found.row) and not differs(found.stored.entry):
                return True
            asked = 0
            for row, score in self._held.near(vector, scope, threshold):
                if score < threshold or asked >= MAX_ASKED:
                    return False
                if not self._expired(row) and (stored := self._held.read(row)):
                    if not differs(stored.entry):
                        return True
                    asked += 1
            return False

    # -- coming and going -------------------------------------------------------------------------------------------

    def admit(self, entry: CacheEntry, vector: Vector, *, since: int | None = None) -> bool:
        """Store an answer; the same question in the same scope is replaced, the least used entry makes room.

        Refused, with nothing changed: a vector or question that means nothing, an entry that a change of knowledge
        after epoch ``since`` touches, and what the file refuses (``error`` says why).
        """
        if not (self._held.is_unit(vector) and _is_sound(entry)):
            return False
        with self._lock:
            if since is not None and self._changes.touch(entry, since):
                return False
            self.version += 1
            return self._held.put(entry, vector, self._clock.wall() / self._half_life)

    def invalidate(self, *, sources: Iterable[str] = (), terms: Iterable[str] = ()) -> int:
        """Remove every answer built on one of the knowledge entries or naming one of the terms; returns how many.

        From its first moment on, an answer begun before (``since``) that it touches is not admitted.
        """
        with self._lock:
            change = self._changes.note(sources, terms)
            removed = self._drop(self._held.built_on(lambda: self._held.store.built_on(change.sources)))
        return removed + (self._drop_naming(change.terms) if change.terms else 0)

    def drop_outdated(self, versions: Mapping[str, str]) -> int:
        """Remove every answer built on knowledge of which there is another version now, or none; returns how many.

        ``versions`` are those of all knowledge entries. It is a change of those that differ, as by ``invalidate``.
        """
        with self._lock:
            old = self._held.outdated(versions)
            if old is None:
                return self._drop(list(self._held.rows))
            self._changes.note(each.entry_id for each in old)
            return self._drop(self._held.built_on(lambda: self._held.store.built_on_version(old)))

    def remove(self, ids: Iterable[int]) -> int:
        """Remove entries; returns how many there were."""
        with self._lock:
            return self._drop(ids)

    def clear(self) -> int:
        """Remove everything; returns how many entries went."""
        with self._lock:
            self._changes.note(everything=True)
            self.version += 1
            return self._held.clear()

    # -- looking through --------------------------------------------------------------------------------------------

    def get(self, entry_id: int) -> StoredEntry | None:
        """One entry, with its use up to now."""
        with self._lock:
            row = self._held.rows.of(entry_id)
            stored = None if row is None else self._held.read(row)
            return None if row is None or stored is None else self._held.with_use(row, stored)

    def entries(self) -> Iterator[StoredEntry]:
        """Every entry by id, with its use up to now; those that come and go meanwhile may be among them."""
        after = 0
        while True:
            with self._lock:
                page = self._held.page(after, PAGE)
            if page is None:
                return
            found, after = page
            yield from found
            if not after:
                return

    # -- the file ---------------------------------------------------------------------------------------------------

    def flush(self) -> int:
        """Bring everything to disk, and how often answers were used; returns the number of entries. Raises OSError."""
        with self._flushing:
            try:
                more = True
                while more:
                    with self._lock:
                        more = self._held.write_uses(PAGE)
                self._held.store.checkpoint(self._clock.wall())
            except sqlite3.Error as error:
                raise OSError(f'{self.file or "the cache"} cannot be written: {error}') from error
            return len(self)

    def close(self) -> None:
        """Bring everything to disk and release the file; twice does no harm. Afterwards every lookup is a miss."""
        if self._closed:
            return
        self._closed = True
        self._held.index.close()
        try:
            self.flush()
        except OSError as error:
            log.error('the cache is not whole on disk: %s', error)
        with self._lock:
            self._held.store.close()
            self._owned.close()

    # -- inside -----------------------------------------------------------------------------------------------------

    def _hit(self, found: Held, match: CacheMatch) -> CacheMatch:
        now = self._clock.wall()
        self._held.use(found.row, now / self._half_life, now)
        self.hits += 1
        self.version += 1
        return match

    def _expired(self, row: int) -> bool:
        return self._held.rows.expired(row, self._clock.wall())

    def _drop_stale(self, row: int) -> None:
        self._drop([int(self._held.rows.entry_id[row])])
        self.stale_rejects += 1

    def _drop(self, ids: Iterable[int]) -> int:
        removed = self._held.drop(ids)
        self.version += bool(removed)
        return removed

    def _drop_naming(self, terms: tuple[str, ...]) -> int:
        """Page by page, so that no lookup waits for more than one; what is admitted meanwhile is newer than the change
        or refused.
        """
        removed, after = 0, 0
        while True:
            with self._lock:
                page = self._held.page(after, PAGE)
                if page is None:  # what cannot be read cannot be cleared of having it
                    return removed + self._drop(list(self._held.rows))
                found, after = page
                removed += self._drop([
                    each.entry_id for each in found if names(each.entry.question, each.entry.answer, terms)
                ])
            if not after:
                return removed


def _is_sound(entry: CacheEntry) -> bool:
    """Whether an entry can be kept: its question means something, its texts can be written, its life is a time."""
    texts = (entry.question, entry.answer, entry.scope, entry.reason, entry.category)
    every = '\n'.join([*texts, *(text for source in entry.sources for text in source)])
    return (
        any(char.isalnum() for char in normal_form(entry.question)) and is_encodable(every)
        and math.isfinite(entry.written) and (entry.expires is None or not math.isnan(entry.expires))
    )
