"""The cache against a plain dict, and under many threads."""
from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
import threading
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pace_ros.cache.entry import CacheEntry, Source, StoredEntry
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import VirtualClock
from pace_ros.embedding import Vector
from pace_ros.language import normal_form

START = 1_800_000_000.0
WORDS = ('a', 'b', 'c', 'd', 'e', 'f')
SCOPES = ('zh', 'en', 'en/orvane')
THRESHOLDS = (-1.0, 0.0, 0.5, 0.9, 0.999)
_table = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
VECTORS = (_table / np.linalg.norm(_table, axis=1, keepdims=True)).astype(np.float32)
_cosines = (VECTORS @ VECTORS.T)[~np.eye(12, dtype=bool)]
assert min(abs(_cosines - threshold).min() for threshold in THRESHOLDS) > 1e-4, 'rounding must decide nothing'
Key = tuple[str, str]


class Kept:
    """What the model knows of one entry."""

    def __init__(self, entry_id: int, value: CacheEntry, vector: Vector, now: float) -> None:
        self.entry_id, self.entry, self.vector, self.uses = entry_id, value, vector, [now]

    def weight(self, now: float) -> float:
        return sum(2.0 ** ((use - now) / 10.0) for use in self.uses)

    def stored(self) -> StoredEntry:
        return StoredEntry(self.entry_id, self.entry, len(self.uses) - 1, self.uses[-1] if self.uses[1:] else None)


class CacheAgainstDict(RuleBasedStateMachine):
    """Every operation on the cache and on a dict from (scope, normal form) to what is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock(wall=START)
        self.folder = Path(tempfile.mkdtemp())
        self.cache = self.opened()
        self.model: dict[Key, Kept] = {}
        self.stale = 0
        self.last_id = 0
        self.epochs: list[tuple[str, ...]] = []  # what each change touched: sources and words

    def opened(self) -> SemanticCache:
        return SemanticCache(
            dimension=3, capacity=5, half_life=10.0, clock=self.clock, file=self.folder / 'l0.sqlite', fingerprint='m'
        )

    def teardown(self) -> None:
        self.cache.close()
        shutil.rmtree(self.folder)

    def outdated(self, kept: Kept) -> bool:
        return kept.entry.expires is not None and self.clock.wall() >= kept.entry.expires

    def held(self) -> set[Key]:
        return {(each.entry.scope, normal_form(each.entry.question)) for each in self.cache.entries()}

    @rule(
        word=st.sampled_from(WORDS), scope=st.sampled_from(SCOPES), shout=st.booleans(), vector=st.integers(0, 11),
        life=st.sampled_from((None, 5.0, 30.0)), source=st.sampled_from(('s', 't')), ago=st.integers(0, 3),
    )
    def admit(
        self, word: str, scope: str, vector: int, life: float | None, source: str, ago: int, *, shout: bool
    ) -> None:
        now, since = self.clock.wall(), max(0, self.cache.epoch - ago)
        question, key = f'{word.upper()}!' if shout else word, (scope, word)
        value = CacheEntry(question, f'{source} it is', scope, (Source(source, '1'),), now, life and now + life)
        admitted = self.cache.admit(value, VECTORS[vector], since=since)
        text = normal_form(f'{question}\n{value.answer}')
        assert admitted is not any(
            what in {f'source {source}', 'all'} or what.removeprefix('term ') in text
            for change in self.epochs[since:] for what in change
        )
        if not admitted:
            return
        self.last_id += 1
        if key not in self.model and len(self.model) == 5:
            (gone,) = self.model.keys() - self.held()
            least = min(kept.weight(now) for kept in self.model.values())
            assert self.model.pop(gone).weight(now) == pytest.approx(least, rel=1e-6)
        self.model[key] = Kept(self.last_id, value, VECTORS[vector], now)

    @rule(word=st.sampled_from(WORDS), scope=st.sampled_from(SCOPES))
    def recall_exact(self, word: str, scope: str) -> None:
        match, kept = self.cache.recall_exact(f' {word}?', scope), self.model.get((scope, word))
        if kept is None or self.outdated(kept):
            assert match.entry is None
            assert match.stale is (kept is not None)
            self.stale += self.model.pop((scope, word), None) is not None
        else:
            assert (match.entry, match.exact, match.score, match.entry_id) == (kept.entry, True, 1.0, kept.entry_id)
            kept.uses.append(self.clock.wall())

    @rule(
        vector=st.integers(0, 11), scope=st.sampled_from(SCOPES), threshold=st.sampled_from(THRESHOLDS),
        unlike=st.sets(st.sampled_from(WORDS), max_size=3),
    )
    def recall(self, vector: int, scope: str, threshold: float, unlike: set[str]) -> None:
        mine = {key: float(kept.vector @ VECTORS[vector]) for key, kept in self.model.items() if key[0] == scope}
        near = {key for key in mine if mine[key] >= threshold}
        fit = [mine[key] for key in near if not self.outdated(self.model[key]) and key[1] not in unlike]
        best = max(fit, default=threshold)
        would = self.cache.would_hit('?', VECTORS[vector], scope, threshold, self.differs(unlike))
        match = self.cache.recall(VECTORS[vector], scope, threshold, self.differs(unlike))
        assert (match.entry is not None) is bool(fit) is would
        gone = self.model.keys() - self.held()
        for key in gone:
            assert self.outdated(self.model[key])
            assert mine[key] >= best - 1e-5
        assert {key for key in near if mine[key] > best + 1e-5 and self.outdated(self.model[key])} <= gone
        assert match.stale is bool(gone)
        self.stale += len(gone)
        for key in gone:
            del self.model[key]
        refused = {int(each.partition(':')[0]) for each in match.refused}
        above = {key: kept for key, kept in self.model.items() if key in near and key[1] in unlike}
        assert {kept.entry_id for key, kept in above.items() if mine[key] > best + 1e-5} <= refused
        assert refused <= {kept.entry_id for kept in above.values()}
        if match.entry is not None:
            key = (match.entry.scope, normal_form(match.entry.question))
            assert (match.entry_id, match.entry) == (self.model[key].entry_id, self.model[key].entry)
            assert match.score == pytest.approx(best, abs=1e-5)
            assert mine[key] == pytest.approx(best, abs=1e-5)
            self.model[key].uses.append(self.clock.wall())

    def differs(self, unlike: set[str]):  # type: ignore[no-untyped-def]
        return lambda entry: 'unlike' if normal_form(entry.question) in unlike else ''

    @rule(source=st.sampled_from(('s', 't', 'u')))
    def invalidate(self, source: str) -> None:
        self.epochs.append((f'source {source}',))
        self.gone([key for key, kept in self.model.items() if source == kept.entry.sources[0].entry_id],
                  self.cache.invalidate(sources=[source]))

    @rule(term=st.sampled_from((*WORDS, 's it')))
    def invalidate_term(self, term: str) -> None:
        self.epochs.append((f'term {term}',))
        named = [key for key, kept in self.model.items()
                 if term in normal_form(f'{kept.entry.question}\n{kept.entry.answer}')]
        self.gone(named, self.cache.invalidate(terms=[f'{term.upper()}!']))

    @rule(now=st.fixed_dictionaries({}, optional={'s': st.sampled_from('12'), 't': st.sampled_from('12')}))
    def knowledge_is_read_again(self, now: dict[str, str]) -> None:
        old = {source for kept in self.model.values() for source in kept.entry.sources
               if now.get(source.entry_id) != source.version}
        if old:
            self.epochs.append(tuple(f'source {source.entry_id}' for source in old))
        self.gone([key for key, kept in self.model.items() if set(kept.entry.sources) & old],
                  self.cache.drop_outdated(now))

    @rule(pick=st.sets(st.integers(0, 20), max_size=4))
    def remove(self, pick: set[int]) -> None:
        ids = {self.last_id - each for each in pick}
        self.gone([key for key, kept in self.model.items() if kept.entry_id in ids], self.cache.remove(ids))

    @precondition(lambda self: len(self.model) > 2)
    @rule()
    def clear(self) -> None:
        self.epochs.append(('all',))
        self.gone(list(self.model), self.cache.clear())

    def gone(self, keys: list[Key], told: int) -> None:
        assert told == len(keys)
        for key in keys:
            del self.model[key]

    @rule(seconds=st.sampled_from((0.5, 3.0, 8.0, 31.0)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def flush(self) -> None:
        assert self.cache.flush() == len(self.model)

    @rule()
    def restart(self) -> None:
        self.cache.close()
        self.cache, self.epochs = self.opened(), []
        self.cache.stale_rejects = self.stale

    @invariant()
    def holds_the_same(self) -> None:
        assert self.cache.epoch == len(self.epochs)
        assert list(self.cache.entries()) == sorted(
            (kept.stored() for kept in self.model.values()), key=lambda each: each.entry_id
        )
        assert len(self.cache) == len(self.model) <= 5
        assert (self.cache.stale_rejects, self.cache.error, self.cache.damaged) == (self.stale, '', 0)
        now, held = self.clock.wall(), self.cache._held
        for kept in self.model.values():
            row = held.store.read(kept.entry_id)
            assert row is not None
            assert np.array_equal(row.vector, kept.vector)
            weight = float(held.rows.weight[held.rows.of(kept.entry_id)])
            assert 2.0 ** (weight - now / 10.0) == pytest.approx(kept.weight(now), rel=1e-5)


TestCacheAgainstDict = CacheAgainstDict.TestCase
TestCacheAgainstDict.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


# -- many threads ---------------------------------------------------------------------------------------------------


class Visitors:
    """Threads that look up, admit, invalidate, flush and look through at random.

    Question ``qN`` belongs to vector N of the table; its answer states a digest of both, so that a torn read shows.
    """

    def __init__(self, cache: SemanticCache, table: Vector) -> None:
        self.cache, self.table = cache, table
        self.faults: list[object] = []
        self.start = threading.Barrier(8)

    def entry(self, number: int, serial: object) -> CacheEntry:
        question = f'q{number}'
        text = f'{question} {serial}'
        answer = f'{text} {hashlib.sha256(text.encode()).hexdigest()}'
        return CacheEntry(question, answer, 'en', (Source(f's{number % 5}', '1'),), START, None)

    def is_whole(self, entry: CacheEntry) -> bool:
        text, _, digest = entry.answer.rpartition(' ')
        number = int(entry.question[1:])
        return (
            hashlib.sha256(text.encode()).hexdigest() == digest and text.split()[0] == entry.question
            and entry.sources == (Source(f's{number % 5}', '1'),)
        )

    def look_up(self, number: int, action: float) -> None:
        if action < 0.3:
            found = self.cache.recall(self.table[number], 'en', 0.999).entry
        else:
            found = self.cache.recall_exact(f'Q{number}!', 'en').entry
        if found is not None and not (found.question == f'q{number}' and self.is_whole(found)):
            self.faults.append(found)

    def act(self, dice: Random, serial: object) -> None:
        number, action = dice.randrange(len(self.table)), dice.random()
        if action < 0.5:
            self.look_up(number, action)
        elif action < 0.88:
            if not self.cache.admit(self.entry(number, serial), self.table[number]):
                self.faults.append('refused')
        elif action < 0.92:
            self.cache.invalidate(sources=[f's{number % 5}'])
        elif action < 0.94:
            self.cache.invalidate(terms=[f'q{number}'])
        elif action < 0.96:
            self.cache.remove(each.entry_id for each in [*self.cache.entries()][:2])
        elif action < 0.98:
            self.cache.flush()
        else:
            self.faults.extend(each for each in self.cache.entries() if not self.is_whole(each.entry))

    def run(self, seed: int) -> None:
        dice = Random(seed)
        try:
            self.start.wait(10)
            for serial in range(250):
                self.act(dice, f'{seed}.{serial}')
                if len(self.cache) > 25:
                    self.faults.append(len(self.cache))
        except Exception as error:  # whatever it is, the test must say it
            self.faults.append(error)


def test_many_threads_at_once_lose_nothing_and_mix_nothing(tmp_path: Path) -> None:
    table = np.random.default_rng(7).normal(size=(60, 16)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    clock = VirtualClock(wall=START)
    cache = SemanticCache(dimension=16, capacity=25, half_life=10.0, clock=clock, file=tmp_path / 'l0.sqlite')
    visitors = Visitors(cache, table)
    threads = [threading.Thread(target=visitors.run, args=(seed,), daemon=True) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert visitors.faults == []
    assert (cache.error, cache.damaged) == ('', 0)
    assert cache.hits > 50
    kept = list(cache.entries())
    assert sum(each.hits for each in kept) <= cache.hits
    for each in kept:
        number = int(each.entry.question[1:])
        row = cache._held.store.read(each.entry_id)
        assert row is not None
        assert np.array_equal(row.vector, table[number])
        assert cache._held.index.nearest(table[number], 1)[0][0] == cache._held.rows.of(each.entry_id)
    cache.close()
    again = SemanticCache(dimension=16, capacity=25, half_life=10.0, clock=clock, file=tmp_path / 'l0.sqlite')
    assert list(again.entries()) == kept
    again.close()


def test_no_hit_is_lost_among_threads(tmp_path: Path) -> None:
    cache = SemanticCache(
        dimension=3, capacity=5, half_life=math.inf, clock=VirtualClock(wall=START), file=tmp_path / 'l0.sqlite'
    )
    cache.admit(CacheEntry('a', 'x', 'en', (), START, None), VECTORS[0])

    def look_up() -> None:
        for _ in range(100):
            cache.recall_exact('a', 'en')
            cache.flush()

    threads = [threading.Thread(target=look_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    cache.close()
    again = SemanticCache(
        dimension=3, capacity=5, half_life=10.0, clock=VirtualClock(wall=START), file=tmp_path / 'l0.sqlite'
    )
    assert [each.hits for each in again.entries()] == [400]
    again.close()
