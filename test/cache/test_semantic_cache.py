from __future__ import annotations

import itertools
import math
import threading
from random import Random

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pace_ros.cache import CacheEntry, CacheRow, SemanticCache
from pace_ros.clock import VirtualClock
from pace_ros.embedding import Vector
from pace_ros.language import normal_form

DIMENSION = 4
START = 1_800_000_000.0
NOWHERE = np.array([0, 0, 0, 1], dtype=np.float32)  # orthogonal to everything made by ``at``


def at(cosine: float) -> Vector:
    """A unit vector whose cosine with ``at(1)`` is this."""
    return np.array([cosine, math.sqrt(1 - cosine**2), 0, 0], dtype=np.float32)


def entry(
    question: str,
    answer: str = '',
    *,
    scope: str = 'en',
    sources: tuple[str, ...] = (),
    written: float = START,
    expires: float | None = None,
) -> CacheEntry:
    return CacheEntry(question, answer or f'answer to {question}', scope, sources, written, expires)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(wall=START)


@pytest.fixture
def cache(clock: VirtualClock) -> SemanticCache:
    """Room for three, half-life ten seconds."""
    return SemanticCache(dimension=DIMENSION, capacity=3, half_life=10.0, clock=clock)


def questions(cache: SemanticCache) -> set[str]:
    return {row.entry.question for row in cache.rows()}


# -- the same words again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'again', ['How far does it go?', '  how FAR does\tit go ', 'How far does it go。', 'Ｈow far does it go!']
)
def test_an_exact_repeat_is_found_without_a_vector(cache: SemanticCache, again: str) -> None:
    cache.admit(entry('How far does it go?'), NOWHERE)
    match = cache.recall_exact(again, 'en')
    assert match.entry is not None
    assert match.entry.answer == 'answer to How far does it go?'
    assert (match.score, match.exact, match.stale) == (1.0, True, False)


def test_an_exact_repeat_in_another_language_is_no_repeat(cache: SemanticCache) -> None:
    cache.admit(entry('Orvane?', scope='en'), at(1.0))
    assert cache.recall_exact('Orvane?', 'zh').entry is None


def test_one_question_may_have_an_answer_in_each_language(cache: SemanticCache) -> None:
    cache.admit(entry('Orvane?', 'english', scope='en'), at(1.0))
    cache.admit(entry('Orvane?', 'chinese', scope='zh'), at(1.0))
    assert len(cache) == 2
    for scope, answer in (('en', 'english'), ('zh', 'chinese')):
        exact, near = cache.recall_exact('orvane', scope).entry, cache.recall(at(1.0), scope, 0.9).entry
        assert exact is not None
        assert near is not None
        assert (exact.answer, near.answer) == (answer, answer)


def test_only_a_search_counts_as_a_lookup_when_the_words_are_new(cache: SemanticCache) -> None:
    cache.admit(entry('a'), at(1.0))
    missed = cache.recall_exact('b', 'en')
    assert missed.entry is None
    assert math.isnan(missed.score)
    assert (cache.lookups, cache.hits) == (0, 0)
    cache.recall(NOWHERE, 'en', 0.9)
    cache.recall_exact('a', 'en')
    assert (cache.lookups, cache.hits) == (2, 1)


# -- similar words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('cosine', 'threshold', 'hit'),
    [
        (0.5, 0.5, True),  # 0.5 and 0.75 are exact in binary: at least means at least
        (0.5, math.nextafter(0.5, 1.0), False),
        (0.75, 0.75, True),
        (0.75, math.nextafter(0.75, 1.0), False),
        (0.96, 0.95, True),
        (0.94, 0.95, False),
        (1.0, 1.0, True),
    ],
)
def test_a_hit_needs_a_cosine_of_at_least_the_threshold(
    cache: SemanticCache, cosine: float, threshold: float, *, hit: bool
) -> None:
    cache.admit(entry('a'), at(cosine))
    match = cache.recall(at(1.0), 'en', threshold)
    assert (match.entry is not None) is hit
    assert match.score == pytest.approx(cosine, abs=1e-6)  # told for a miss too
    assert not match.exact


def test_the_nearest_of_several_is_served(cache: SemanticCache) -> None:
    for cosine in (0.91, 0.97, 0.93):
        cache.admit(entry(f'q{cosine}'), at(cosine))
    match = cache.recall(at(1.0), 'en', 0.9)
    assert match.entry is not None
    assert match.entry.question == 'q0.97'
    assert match.score == pytest.approx(0.97, abs=1e-6)


def test_an_answer_in_another_language_is_neither_served_nor_scored(cache: SemanticCache) -> None:
    cache.admit(entry('多远', scope='zh'), at(1.0))
    cache.admit(entry('far', scope='en'), at(0.6))
    match = cache.recall(at(1.0), 'en', 0.9)
    assert match.entry is None
    assert match.score == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize('others', [3, 7, 8, 9, 20, 45])
def test_nearer_answers_in_another_language_do_not_hide_one_that_is_near_enough(
    clock: VirtualClock, others: int
) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=50, half_life=10.0, clock=clock)
    for number in range(others):
        cache.admit(entry(f'如何{number}', scope='zh'), at(1.0))
    cache.admit(entry('how', scope='en'), at(0.96))
    match = cache.recall(at(1.0), 'en', 0.95)
    assert match.entry is not None
    assert match.entry.question == 'how'


@pytest.mark.parametrize('outdated', [3, 7, 8, 9, 20, 45])
def test_outdated_answers_do_not_hide_a_fresh_one_that_is_near_enough(clock: VirtualClock, outdated: int) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=50, half_life=10.0, clock=clock)
    for number in range(outdated):
        cache.admit(entry(f'old {number}', expires=START + 1), at(1.0))
    cache.admit(entry('fresh'), at(0.96))
    clock.advance(1)
    match = cache.recall(at(1.0), 'en', 0.95)
    assert match.entry is not None
    assert match.entry.question == 'fresh'
    assert match.stale


def test_an_empty_cache_and_a_vector_without_numbers_hit_nothing(cache: SemanticCache) -> None:
    empty = cache.recall(at(1.0), 'en', 0.0)
    cache.admit(entry('a'), at(1.0))
    blind = cache.recall(np.full(DIMENSION, np.nan, dtype=np.float32), 'en', 0.0)
    for match in (empty, blind):
        assert match.entry is None
        assert math.isnan(match.score)


# -- coming and going -----------------------------------------------------------------------------------------------


def test_the_same_question_is_replaced_and_nobody_else_makes_room(cache: SemanticCache) -> None:
    for question in ('a', 'b', 'c'):
        cache.admit(entry(question), at(0.0))
    cache.admit(entry('B!', 'new'), at(1.0))
    assert questions(cache) == {'a', 'B!', 'c'}
    match = cache.recall_exact('b', 'en')
    assert match.entry is not None
    assert match.entry.answer == 'new'


def test_a_replaced_answer_is_found_by_its_new_vector_only(cache: SemanticCache) -> None:
    cache.admit(entry('a', 'old'), NOWHERE)
    cache.admit(entry('a', 'new'), at(1.0))
    assert cache.recall(NOWHERE, 'en', 0.5).entry is None
    found = cache.recall(at(1.0), 'en', 0.5).entry
    assert found is not None
    assert found.answer == 'new'


def test_capacity_is_never_exceeded(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=3, half_life=10.0, clock=clock)
    for number in range(20):
        cache.admit(entry(f'q{number}'), at(number / 20))
        clock.advance(1)
        assert len(cache) == min(number + 1, 3)
    assert questions(cache) == {'q17', 'q18', 'q19'}  # never used again: the newest stay


def test_a_cache_for_one_answer_keeps_the_last(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=1, half_life=10.0, clock=clock)
    cache.admit(entry('a'), at(1.0))
    cache.admit(entry('b'), at(1.0))
    assert questions(cache) == {'b'}
    assert cache.recall_exact('a', 'en').entry is None


def test_removed_answers_are_never_hit_even_at_threshold_zero(cache: SemanticCache) -> None:
    for question in ('a', 'b', 'c'):
        cache.admit(entry(question), at(1.0))
    assert cache.clear() == 3
    assert len(cache) == 0
    for threshold in (-1.0, 0.0, 0.5):
        assert cache.recall(at(1.0), 'en', threshold).entry is None
    assert cache.recall_exact('a', 'en').entry is None


# -- what goes first: the weight is the sum of 2^(-age/half_life) over an entry's uses, its writing among them --------


def test_frequent_use_outweighs_recency_until_it_has_aged(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('often'), at(1.0))
    cache.recall_exact('often', 'en')
    cache.recall(at(1.0), 'en', 0.9)  # three uses at t = 0
    clock.advance(10)
    cache.admit(entry('once'), NOWHERE)  # one use at t = 10, when 'often' weighs 3/2
    cache.admit(entry('filler'), NOWHERE)
    cache.recall_exact('filler', 'en')
    cache.recall_exact('filler', 'en')
    cache.admit(entry('next'), NOWHERE)
    assert questions(cache) == {'often', 'filler', 'next'}
    clock.advance(10)  # now: often 3/4, next 1/2, filler 3/2
    cache.recall_exact('next', 'en')  # next 3/2
    cache.admit(entry('last'), NOWHERE)
    assert questions(cache) == {'filler', 'next', 'last'}


@pytest.mark.parametrize(('age', 'evicted'), [(9.9, 'new'), (10.1, 'old')])
def test_a_use_counts_half_after_the_half_life(clock: VirtualClock, age: float, evicted: str) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=2, half_life=10.0, clock=clock)
    cache.admit(entry('old'), NOWHERE)
    cache.recall_exact('old', 'en')  # 2 uses: 2 * 2^-0.99 = 1.007, 2 * 2^-1.01 = 0.993
    clock.advance(age)
    cache.admit(entry('new'), NOWHERE)  # 1 use: 1
    cache.admit(entry('newest'), NOWHERE)
    assert questions(cache) == {'old', 'new', 'newest'} - {evicted}


def test_weights_are_the_decayed_sum_of_uses(clock: VirtualClock, cache: SemanticCache) -> None:
    uses = [0.0, 3.0, 4.0, 17.0, 40.0]
    cache.admit(entry('a'), NOWHERE)
    for before, now in itertools.pairwise(uses):
        clock.advance(now - before)
        cache.recall_exact('a', 'en')
    (row,) = cache.rows()
    now = clock.wall()
    expected = math.log2(sum(2 ** ((START + use - now) / 10.0) for use in uses)) + now / 10.0
    assert row.weight == pytest.approx(expected, abs=1e-6)


def test_eviction_stays_right_at_the_shipped_half_life_and_todays_date(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=2, half_life=86400.0, clock=clock)
    cache.admit(entry('a'), NOWHERE)
    clock.advance(1.0)  # one second is 1e-5 of a half-life
    cache.admit(entry('b'), NOWHERE)
    cache.admit(entry('c'), NOWHERE)
    assert questions(cache) == {'b', 'c'}


# -- answers that age -----------------------------------------------------------------------------------------------


def test_a_life_is_counted_from_writing_and_not_renewed_by_a_hit(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('price', expires=START + 60), at(1.0))
    for _ in range(5):
        clock.advance(11)
        assert cache.recall_exact('price', 'en').entry is not None
        assert cache.recall(at(1.0), 'en', 0.9).entry is not None
    clock.advance(4.999)
    assert cache.recall_exact('price', 'en').entry is not None
    clock.advance(0.001)
    assert cache.recall_exact('price', 'en').entry is None


def test_an_outdated_answer_is_evicted_and_counted_when_met_by_its_words(
    clock: VirtualClock, cache: SemanticCache
) -> None:
    cache.admit(entry('price', expires=START + 1), at(1.0))
    clock.advance(1)
    match = cache.recall_exact('price', 'en')
    assert (match.entry, match.stale) == (None, True)
    assert (len(cache), cache.stale_rejects) == (0, 1)
    again = cache.recall_exact('price', 'en')
    assert (again.entry, again.stale, cache.stale_rejects) == (None, False, 1)


def test_an_outdated_answer_is_evicted_and_counted_when_met_by_its_vector(
    clock: VirtualClock, cache: SemanticCache
) -> None:
    cache.admit(entry('price', expires=START + 1), at(1.0))
    cache.admit(entry('cost'), at(0.96))
    clock.advance(1)
    match = cache.recall(at(1.0), 'en', 0.95)
    assert match.entry is not None
    assert (match.entry.question, match.stale, cache.stale_rejects) == ('cost', True, 1)
    assert questions(cache) == {'cost'}


def test_an_outdated_answer_too_far_away_is_not_met(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('price', expires=START + 1), at(0.5))
    clock.advance(1)
    match = cache.recall(at(1.0), 'en', 0.95)
    assert (match.entry, match.stale, cache.stale_rejects, len(cache)) == (None, False, 0, 1)


# -- knowledge changes ----------------------------------------------------------------------------------------------


def test_answers_leave_with_the_knowledge_they_were_built_on(cache: SemanticCache) -> None:
    cache.admit(entry('a', sources=('price-lark', 'loan')), at(1.0))
    cache.admit(entry('b', sources=('loan',)), at(0.5))
    cache.admit(entry('c'), at(0.0))
    assert cache.invalidate(sources=['price-lark', 'unknown']) == 1
    assert questions(cache) == {'b', 'c'}
    assert cache.recall(at(1.0), 'en', 0.9).entry is None


def test_answers_leave_with_the_terms_they_name_in_question_or_answer(cache: SemanticCache) -> None:
    cache.admit(entry('How far does the LARK go?', 'Far.'), at(1.0))
    cache.admit(entry('Which is the smallest?', 'The Lark, by far.'), at(0.5))
    cache.admit(entry('云雀多少钱', '十万', scope='zh'), at(0.0))
    assert cache.invalidate(terms=['  lark! ']) == 2
    assert questions(cache) == {'云雀多少钱'}
    assert cache.invalidate(terms=['云雀']) == 1


def test_blank_terms_remove_nothing(cache: SemanticCache) -> None:
    cache.admit(entry('a'), at(1.0))
    assert cache.invalidate(terms=['', '  ', '?!']) == 0
    assert cache.invalidate() == 0
    assert len(cache) == 1


# -- across a restart -----------------------------------------------------------------------------------------------


def test_restoring_gives_back_entries_vectors_and_standing(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('often'), at(1.0))
    cache.recall_exact('often', 'en')
    clock.advance(5)
    cache.admit(entry('later'), at(0.5))
    copy = SemanticCache(dimension=DIMENSION, capacity=3, half_life=10.0, clock=clock)
    copy.restore(cache.rows())
    before = {row.entry: (row.vector.tolist(), row.weight) for row in cache.rows()}
    assert {row.entry: (row.vector.tolist(), row.weight) for row in copy.rows()} == before
    match = copy.recall(at(1.0), 'en', 0.9)
    assert match.entry == entry('often')


def test_a_smaller_cache_keeps_the_heaviest(clock: VirtualClock) -> None:
    rows = [CacheRow(entry(f'q{weight}'), at(0.0), weight) for weight in (2.0, 9.0, 4.0, 7.0)]
    small = SemanticCache(dimension=DIMENSION, capacity=2, half_life=10.0, clock=clock)
    small.restore(rows)
    assert questions(small) == {'q9.0', 'q7.0'}


def test_saved_rows_do_not_change_with_the_cache(cache: SemanticCache) -> None:
    cache.admit(entry('a'), at(1.0))
    rows = cache.rows()
    cache.clear()
    cache.admit(entry('b'), NOWHERE)
    assert rows[0].entry.question == 'a'
    assert rows[0].vector.tolist() == at(1.0).tolist()


def test_the_version_tells_changes_from_mere_looking(cache: SemanticCache) -> None:
    seen = [cache.version]
    cache.admit(entry('a'), at(1.0))
    seen.append(cache.version)
    cache.recall(NOWHERE, 'en', 0.9)
    cache.recall_exact('b', 'en')
    cache.invalidate(terms=['nothing of the kind'])
    assert cache.version == seen[-1]
    cache.recall_exact('a', 'en')  # a use changes the weights
    seen.append(cache.version)
    cache.clear()
    seen.append(cache.version)
    assert seen == sorted(set(seen))


# -- the wall clock jumps -------------------------------------------------------------------------------------------


def test_after_a_jump_forward_only_what_ages_is_outdated(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('price', expires=START + 3600), at(1.0))
    cache.admit(entry('name'), NOWHERE)
    clock.jump_wall(10 * 365 * 86400)
    assert cache.recall_exact('price', 'en').entry is None
    assert cache.recall_exact('name', 'en').entry is not None


def test_after_a_jump_backward_an_answer_that_ages_does_not_outlive_its_life(
    clock: VirtualClock, cache: SemanticCache
) -> None:
    """Written under a clock that ran a day ahead: it must not be served for a day and an hour."""
    cache.admit(entry('price', expires=START + 3600), at(1.0))
    cache.admit(entry('name'), NOWHERE)
    clock.jump_wall(-86400)
    clock.advance(3601)
    assert cache.recall_exact('price', 'en').entry is None
    assert cache.recall(at(1.0), 'en', 0.9).entry is None
    assert cache.recall_exact('name', 'en').entry is not None


@pytest.mark.parametrize('jump', [-1_800_000_000.0, -86400.0, 86400.0, 10 * 365 * 86400.0])
def test_the_cache_goes_on_through_any_jump(clock: VirtualClock, cache: SemanticCache, jump: float) -> None:
    for question in ('a', 'b', 'c'):
        cache.admit(entry(question), NOWHERE)
    clock.jump_wall(jump)
    cache.recall_exact('a', 'en')
    for number in range(5):
        cache.admit(entry(f'q{number}'), at(1.0))
        found = cache.recall_exact(f'q{number}', 'en').entry
        assert found is not None
        assert len(cache) == 3
    assert all(math.isfinite(row.weight) for row in cache.rows())


# -- many threads ---------------------------------------------------------------------------------------------------


class Visitors:
    """Threads that look up, admit and clear at random; question ``qN`` belongs to vector N of the table."""

    def __init__(self, cache: SemanticCache, table: Vector) -> None:
        self.cache, self.table = cache, table
        self.faults: list[object] = []
        self.start = threading.Barrier(8)

    def misplaced(self, row: CacheRow) -> bool:
        return not np.array_equal(row.vector, self.table[int(row.entry.question[1:])])

    def act(self, dice: Random) -> None:
        number, action = dice.randrange(len(self.table)), dice.random()
        if action < 0.45:
            found = self.cache.recall(self.table[number], 'en', 0.999).entry
        elif action < 0.6:
            found = self.cache.recall_exact(f'Q{number}!', 'en').entry
        else:
            found = None
        if found is not None and found.question != f'q{number}':
            self.faults.append(found)
        if 0.6 <= action < 0.95:
            self.cache.admit(entry(f'q{number}', sources=(f's{number % 5}',)), self.table[number])
        elif 0.95 <= action < 0.98:
            self.cache.invalidate(sources=[f's{number % 5}'])
        elif 0.98 <= action < 0.985:
            self.cache.clear()
        elif action >= 0.985:
            self.faults.extend(filter(self.misplaced, self.cache.rows()))

    def run(self, seed: int) -> None:
        dice = Random(seed)
        try:
            self.start.wait(10)
            for _ in range(400):
                self.act(dice)
                if len(self.cache) > 25:
                    self.faults.append(len(self.cache))
        except Exception as error:  # whatever it is, the test must say it
            self.faults.append(error)


def test_threads_that_look_up_admit_and_clear_never_mix_answers(clock: VirtualClock) -> None:
    table = np.random.default_rng(7).normal(size=(60, 16)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    cache = SemanticCache(dimension=16, capacity=25, half_life=10.0, clock=clock)
    visitors = Visitors(cache, table)
    threads = [threading.Thread(target=visitors.run, args=(seed,), daemon=True) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert visitors.faults == []
    rows = cache.rows()
    assert len(rows) == len(cache) <= 25
    assert cache.hits > 100
    for row in rows:
        assert not visitors.misplaced(row)
        assert cache.recall_exact(row.entry.question, 'en').entry == row.entry


# -- against a plain dict -------------------------------------------------------------------------------------------

WORDS = ('a', 'b', 'c', 'd', 'e', 'f')
THRESHOLDS = (-1.0, 0.0, 0.5, 0.9, 0.999)
_table = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
VECTORS = _table / np.linalg.norm(_table, axis=1, keepdims=True)
_cosines = (VECTORS @ VECTORS.T)[~np.eye(12, dtype=bool)]
assert min(abs(_cosines - threshold).min() for threshold in THRESHOLDS) > 1e-4, 'rounding must decide nothing'


class Kept:
    """What the model knows of one entry."""

    def __init__(self, value: CacheEntry, vector: Vector, now: float) -> None:
        self.entry, self.vector, self.uses = value, vector, [now]

    def weight(self, now: float) -> float:
        return sum(2.0 ** ((use - now) / 10.0) for use in self.uses)


class CacheAgainstDict(RuleBasedStateMachine):
    """Every operation on the cache and on a dict from (scope, normal form) to what is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock(wall=START)
        self.cache = SemanticCache(dimension=3, capacity=5, half_life=10.0, clock=self.clock)
        self.model: dict[tuple[str, str], Kept] = {}
        self.stale = 0

    def outdated(self, kept: Kept) -> bool:
        return kept.entry.expires is not None and self.clock.wall() >= kept.entry.expires

    @rule(
        word=st.sampled_from(WORDS), scope=st.sampled_from(('zh', 'en')), shout=st.booleans(),
        vector=st.integers(0, 11), life=st.sampled_from((None, 5.0, 30.0)), source=st.sampled_from(('s', 't')),
    )
    def admit(self, word: str, scope: str, vector: int, life: float | None, source: str, *, shout: bool) -> None:
        now = self.clock.wall()
        question = f'{word.upper()}!' if shout else word
        value = entry(question, scope=scope, sources=(source,), written=now, expires=life and now + life)
        key = (scope, word)
        self.cache.admit(value, VECTORS[vector])
        if key not in self.model and len(self.model) == 5:
            held = {(row.entry.scope, normal_form(row.entry.question)) for row in self.cache.rows()}
            (gone,) = self.model.keys() - held
            least = min(kept.weight(now) for kept in self.model.values())
            assert self.model.pop(gone).weight(now) == pytest.approx(least, rel=1e-6)
        self.model[key] = Kept(value, VECTORS[vector], now)

    @rule(word=st.sampled_from(WORDS), scope=st.sampled_from(('zh', 'en')))
    def recall_exact(self, word: str, scope: str) -> None:
        match, kept = self.cache.recall_exact(f' {word}?', scope), self.model.get((scope, word))
        if kept is None or self.outdated(kept):
            assert match.entry is None
            assert match.stale is (kept is not None)
            self.stale += self.model.pop((scope, word), None) is not None
        else:
            assert (match.entry, match.exact, match.score) == (kept.entry, True, 1.0)
            kept.uses.append(self.clock.wall())

    @rule(vector=st.integers(0, 11), scope=st.sampled_from(('zh', 'en')), threshold=st.sampled_from(THRESHOLDS))
    def recall(self, vector: int, scope: str, threshold: float) -> None:
        mine = {key: float(kept.vector @ VECTORS[vector]) for key, kept in self.model.items() if key[0] == scope}
        near = sorted((key for key in mine if mine[key] >= threshold), key=lambda key: -mine[key])
        fresh = [mine[key] for key in near if not self.outdated(self.model[key])]
        match = self.cache.recall(VECTORS[vector], scope, threshold)
        assert match.score == pytest.approx(fresh[0] if fresh else max(mine.values(), default=math.nan), abs=1e-5,
                                            nan_ok=True)
        assert (match.entry is not None) is bool(fresh)
        held = {(row.entry.scope, normal_form(row.entry.question)) for row in self.cache.rows()}
        gone = self.model.keys() - held
        for key in gone:
            assert self.outdated(self.model[key])
            assert mine[key] >= (fresh[0] - 1e-5 if fresh else threshold)
        if not fresh:
            assert gone == set(near)
        assert match.stale is bool(gone)
        self.stale += len(gone)
        for key in gone:
            del self.model[key]
        if match.entry is not None:
            kept = self.model[match.entry.scope, normal_form(match.entry.question)]
            assert kept.entry == match.entry
            assert not self.outdated(kept)
            assert mine[scope, normal_form(match.entry.question)] == pytest.approx(fresh[0], abs=1e-5)
            kept.uses.append(self.clock.wall())

    @rule(source=st.sampled_from(('s', 't')))
    def invalidate(self, source: str) -> None:
        doomed = [key for key, kept in self.model.items() if source in kept.entry.sources]
        assert self.cache.invalidate(sources=[source]) == len(doomed)
        for key in doomed:
            del self.model[key]

    @rule(seconds=st.sampled_from((0.5, 3.0, 8.0, 31.0)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: len(self.model) > 2)
    @rule()
    def clear(self) -> None:
        assert self.cache.clear() == len(self.model)
        self.model.clear()

    @rule()
    def restart(self) -> None:
        rows = self.cache.rows()
        fresh = SemanticCache(dimension=3, capacity=5, half_life=10.0, clock=self.clock)
        fresh.restore(rows)
        fresh.stale_rejects = self.cache.stale_rejects
        self.cache = fresh

    @invariant()
    def holds_the_same(self) -> None:
        rows = {(row.entry.scope, normal_form(row.entry.question)): row for row in self.cache.rows()}
        assert rows.keys() == self.model.keys()
        assert len(self.cache) == len(rows) <= 5
        assert self.cache.stale_rejects == self.stale
        now = self.clock.wall()
        for key, kept in self.model.items():
            assert rows[key].entry == kept.entry
            assert np.array_equal(rows[key].vector, kept.vector)
            assert 2.0 ** (rows[key].weight - now / 10.0) == pytest.approx(kept.weight(now), rel=1e-5)


TestCacheAgainstDict = CacheAgainstDict.TestCase
TestCacheAgainstDict.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
