from __future__ import annotations

import itertools
import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache.cache_file import CacheFileError
from pace_ros.cache.entry import CacheEntry, Source, StoredEntry
from pace_ros.cache.semantic_cache import MAX_ASKED, SemanticCache
from pace_ros.clock import VirtualClock
from pace_ros.embedding import Vector

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
    built_on = tuple(Source(each, '1') for each in sources)
    return CacheEntry(question, answer or f'answer to {question}', scope, built_on, written, expires)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(wall=START)


@pytest.fixture
def cache(clock: VirtualClock) -> SemanticCache:
    """Room for three, half-life ten seconds."""
    return SemanticCache(dimension=DIMENSION, capacity=3, half_life=10.0, clock=clock)


def questions(cache: SemanticCache) -> set[str]:
    return {each.entry.question for each in cache.entries()}


def weights(cache: SemanticCache) -> dict[str, float]:
    rows = cache._held.rows
    return {each.entry.question: float(rows.weight[rows.of(each.entry_id)]) for each in cache.entries()}


def vector_of(cache: SemanticCache, entry_id: int) -> list[float]:
    row = cache._held.store.read(entry_id)
    assert row is not None
    return row.vector.tolist()


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
    now = clock.wall()
    expected = math.log2(sum(2 ** ((START + use - now) / 10.0) for use in uses)) + now / 10.0
    assert weights(cache)['a'] == pytest.approx(expected, abs=1e-6)


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


# -- candidates that differ -----------------------------------------------------------------------------------------


def test_a_candidate_that_differs_is_passed_over_for_the_next_and_the_reason_kept(cache: SemanticCache) -> None:
    cache.admit(entry('seats of the Lark'), at(0.99))
    cache.admit(entry('seats of the Orvane'), at(0.97))
    match = cache.recall(at(1.0), 'en', 0.95, lambda each: 'other model' if 'Lark' in each.question else '')
    assert match.entry is not None
    assert match.entry.question == 'seats of the Orvane'
    assert (match.entry_id, match.refused) == (2, ('1: other model',))
    assert match.score == pytest.approx(0.97, abs=1e-6)
    assert cache.would_hit('?', at(1.0), 'en', 0.95, lambda each: 'x' if 'Lark' in each.question else '')


def test_candidates_that_all_differ_are_a_miss_with_the_best_score(cache: SemanticCache) -> None:
    cache.admit(entry('a'), at(0.99))
    cache.admit(entry('b'), at(0.97))
    match = cache.recall(at(1.0), 'en', 0.95, lambda _each: 'polarity')
    assert (match.entry, match.refused) == (None, ('1: polarity', '2: polarity'))
    assert match.score == pytest.approx(0.99, abs=1e-6)
    assert not cache.would_hit('?', at(1.0), 'en', 0.95, lambda _each: 'polarity')
    assert cache.hits == 0


def test_candidates_below_the_threshold_are_not_asked(cache: SemanticCache) -> None:
    cache.admit(entry('far'), at(0.9))
    asked: list[str] = []
    cache.recall(at(1.0), 'en', 0.95, lambda each: asked.append(each.question) or '')
    assert asked == []


def test_after_so_many_candidates_asked_it_is_a_miss(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=100, half_life=10.0, clock=clock)
    for number in range(MAX_ASKED + 10):
        cache.admit(entry(f'q{number}'), at(1.0))
    asked: list[str] = []
    match = cache.recall(at(1.0), 'en', 0.95, lambda question: asked.append(question) or 'other')
    assert match.entry is None
    assert len(asked) == len(match.refused) == MAX_ASKED


# -- what means nothing ---------------------------------------------------------------------------------------------

DEGENERATE = {
    'nan': np.full(DIMENSION, np.nan, np.float32),
    'one nan': np.array([1, 0, 0, np.nan], np.float32),
    'infinite': np.array([np.inf, 0, 0, 0], np.float32),
    'zero': np.zeros(DIMENSION, np.float32),
    'too long': 2 * at(1.0),
    'too short': at(1.0) / 2,
    'other dimension': np.array([1, 0, 0], np.float32),
    'matrix': at(1.0)[None, :],
}


@pytest.mark.parametrize('vector', DEGENERATE.values(), ids=DEGENERATE)
def test_a_vector_that_is_no_unit_vector_is_neither_hit_nor_stored(cache: SemanticCache, vector: Vector) -> None:
    cache.admit(entry('a'), at(1.0))
    match = cache.recall(vector, 'en', -1.0)
    assert match.entry is None
    assert math.isnan(match.score)
    assert not cache.would_hit('?', vector, 'en', -1.0)
    assert not cache.admit(entry('b'), vector)
    assert questions(cache) == {'a'}


@pytest.mark.parametrize('question', ['', '  ', '?!', '。。。', '——', '\u200b'])
def test_a_question_without_letter_or_digit_is_not_stored(cache: SemanticCache, question: str) -> None:
    assert not cache.admit(entry(question), at(1.0))
    assert len(cache) == 0


@pytest.mark.parametrize('broken', [
    entry('half \ud83d'), entry('a', 'half \ud83d'), entry('a\0b'), entry('a', 'b\0'), entry('a', sources=('\ud83d',)),
    entry('a', written=math.nan), entry('a', written=math.inf), entry('a', expires=math.nan),
])
def test_what_cannot_be_written_is_not_stored(cache: SemanticCache, broken: CacheEntry) -> None:
    assert not cache.admit(broken, at(1.0))
    assert (len(cache), cache.error) == (0, '')
    assert cache.recall_exact(broken.question, 'en').entry is None


# -- changes while an answer is being made --------------------------------------------------------------------------


def test_an_answer_begun_before_a_change_that_touches_it_is_not_admitted(cache: SemanticCache) -> None:
    before = cache.epoch
    cache.invalidate(sources=['price'])
    assert not cache.admit(entry('a', sources=('seats', 'price')), at(1.0), since=before)
    assert cache.admit(entry('b', sources=('seats',)), at(1.0), since=before)
    assert cache.admit(entry('c', sources=('price',)), at(1.0), since=cache.epoch)
    assert questions(cache) == {'b', 'c'}


def test_an_answer_begun_before_a_term_was_invalidated_is_not_admitted_if_it_names_it(cache: SemanticCache) -> None:
    before = cache.epoch
    cache.invalidate(terms=['  LARK!'])
    assert not cache.admit(entry('the lark?'), at(1.0), since=before)
    assert not cache.admit(entry('smallest?', 'The Lark.'), at(1.0), since=before)
    assert cache.admit(entry('the orvane?'), at(1.0), since=before)


def test_nothing_begun_before_a_clear_is_admitted(cache: SemanticCache) -> None:
    before = cache.epoch
    cache.clear()
    assert not cache.admit(entry('a'), at(1.0), since=before)
    assert cache.admit(entry('a'), at(1.0), since=cache.epoch)


def test_a_change_that_names_nothing_is_none(cache: SemanticCache) -> None:
    before = cache.epoch
    cache.invalidate(terms=['', '?!'])
    cache.drop_outdated({})
    assert cache.epoch == before


def test_what_began_before_the_oldest_change_known_is_refused(cache: SemanticCache) -> None:
    before = cache.epoch
    for number in range(1_000):
        cache.invalidate(sources=[f's{number}'])
    assert cache.admit(entry('a'), at(1.0), since=before)
    cache.invalidate(sources=['one more'])
    assert not cache.admit(entry('b'), at(1.0), since=before)
    assert cache.admit(entry('b'), at(1.0), since=before + 1)


def test_answers_on_another_version_or_on_withdrawn_knowledge_are_outdated(cache: SemanticCache) -> None:
    before = cache.epoch
    for question, source in (('same', Source('a', '1')), ('older', Source('b', '1')), ('gone', Source('c', '1'))):
        cache.admit(CacheEntry(question, 'x', 'en', (source,), START, None), at(1.0))
    assert cache.drop_outdated({'a': '1', 'b': '2'}) == 2
    assert questions(cache) == {'same'}
    assert not cache.admit(entry('again', sources=('b',)), at(1.0), since=before)
    assert cache.admit(entry('other', sources=('a',)), at(1.0), since=before)


# -- across a restart -----------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'sub' / 'l0.sqlite'


def opened(file: Path, clock: VirtualClock, **settings: object) -> SemanticCache:
    options = {'dimension': DIMENSION, 'capacity': 3, 'half_life': 10.0, 'fingerprint': 'e-4'} | settings
    return SemanticCache(clock=clock, file=file, **options)  # type: ignore[arg-type]


def everything(cache: SemanticCache) -> dict[StoredEntry, tuple[list[float], float]]:
    return {
        each: (vector_of(cache, each.entry_id), weights(cache)[each.entry.question]) for each in cache.entries()
    }


def test_a_restart_gives_back_entries_ids_vectors_and_use(file: Path, clock: VirtualClock) -> None:
    cache = opened(file, clock)
    often = CacheEntry('often', 'yes', 'en', (Source('s', '2'),), START, START + 90, 'price: ttl', 'price')
    cache.admit(often, at(1.0))
    clock.advance(5)
    cache.recall_exact('often', 'en')
    cache.admit(entry('多远？', '很远', scope='zh'), at(0.5))
    cache.close()
    before = {StoredEntry(1, often, 1, START + 5), StoredEntry(2, entry('多远？', '很远', scope='zh'), 0, None)}
    again = opened(file, clock)
    assert set(again.entries()) == before
    kept = everything(again)
    assert [vector for vector, _ in kept.values()] == [at(1.0).tolist(), at(0.5).tolist()]
    assert weights(again)['often'] == pytest.approx(START / 10 + math.log2(1 + 2**0.5), abs=1e-6)
    assert again.recall(at(1.0), 'en', 0.9).entry_id == 1
    assert again.recall(at(1.0), 'zh', 0.4).entry_id == 2
    again.close()


def test_a_smaller_cache_keeps_the_heaviest(file: Path, clock: VirtualClock) -> None:
    cache = opened(file, clock, capacity=4)
    for question, uses in (('a', 1), ('b', 5), ('c', 2), ('d', 3)):
        cache.admit(entry(question), NOWHERE)
        for _ in range(uses):
            cache.recall_exact(question, 'en')
    cache.close()
    small = opened(file, clock, capacity=2)
    assert questions(small) == {'b', 'd'}
    small.close()


def test_ids_are_never_used_again(file: Path, clock: VirtualClock) -> None:
    cache = opened(file, clock)
    for question in ('a', 'b', 'c', 'd', 'd'):
        cache.admit(entry(question), NOWHERE)
    assert [each.entry_id for each in cache.entries()] == [2, 3, 5]
    cache.clear()
    cache.close()
    again = opened(file, clock)
    again.admit(entry('e'), NOWHERE)
    assert [each.entry_id for each in again.entries()] == [6]
    again.close()


def test_two_caches_cannot_have_one_file(file: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    first = opened(file, clock)
    with pytest.raises(CacheFileError, match=r'l0\.sqlite is in use by another process'):
        opened(file, clock)
    first.close()
    first.close()
    opened(file, clock).close()
    assert caplog.records == []


def test_after_closing_lookups_miss_and_nothing_is_admitted(file: Path, clock: VirtualClock) -> None:
    cache = opened(file, clock)
    cache.admit(entry('a'), at(1.0))
    cache.close()
    assert cache.recall_exact('a', 'en').entry is None
    assert cache.recall(at(1.0), 'en', 0.9).entry is None
    assert not cache.admit(entry('b'), at(1.0))


# -- a file that refuses --------------------------------------------------------------------------------------------


class Refusal:
    """Makes the store refuse some calls, as a full disk does."""

    def __init__(self, cache: SemanticCache, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.patch = cache._held.store, monkeypatch

    def of(self, *methods: str) -> None:
        def refuse(*_args: object, **_kwargs: object) -> None:
            raise sqlite3.OperationalError('database or disk is full')

        for method in methods:
            self.patch.setattr(self.store, method, refuse)


def test_an_admission_that_cannot_be_written_changes_nothing(
    cache: SemanticCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for question in ('a', 'b', 'c'):
        cache.admit(entry(question), at(1.0))
    with monkeypatch.context() as patch:
        Refusal(cache, patch).of('insert')
        assert not cache.admit(entry('d'), at(1.0))
        assert not cache.admit(entry('a', 'new'), at(1.0))
    assert cache.error == 'database or disk is full'
    assert len(caplog.records) == 1
    assert {each.entry.answer for each in cache.entries()} == {'answer to a', 'answer to b', 'answer to c'}
    assert cache.admit(entry('d'), at(1.0))
    assert cache.error == ''


def test_a_full_disk_refuses_and_is_recovered_from(file: Path, clock: VirtualClock) -> None:
    cache = opened(file, clock, capacity=1000)
    pages = cache._held.store._db.execute('PRAGMA page_count').fetchone()[0]
    cache._held.store._db.execute(f'PRAGMA max_page_count = {pages + 2}').fetchall()
    admitted = [number for number in range(200) if cache.admit(entry(f'q{number}', 'long ' * 200), at(1.0))]
    assert 0 < len(admitted) < 200
    assert 'full' in cache.error
    assert questions(cache) == {f'q{number}' for number in admitted}
    cache._held.store._db.execute('PRAGMA max_page_count = 1000000').fetchall()
    assert cache.admit(entry('later'), at(1.0))
    assert cache.error == ''
    cache.close()
    again = opened(file, clock, capacity=1000)
    assert len(again) == len(admitted) + 1
    again.close()


def test_what_was_removed_is_not_served_even_if_the_file_keeps_it(
    file: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = opened(file, clock)
    cache.admit(entry('a', sources=('s',)), at(1.0))
    with monkeypatch.context() as patch:
        Refusal(cache, patch).of('delete')
        assert cache.invalidate(sources=['s']) == 1
    assert cache.recall_exact('a', 'en').entry is None
    assert cache.recall(at(1.0), 'en', 0.9).entry is None
    assert (len(cache), list(cache.entries())) == (0, [])
    assert cache.flush() == 0  # the removal is made up for
    cache.close()
    again = opened(file, clock)
    assert len(again) == 0
    again.close()


def test_a_question_refused_for_removal_may_be_admitted_again(
    cache: SemanticCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.admit(entry('a', 'old'), at(1.0))
    with monkeypatch.context() as patch:
        Refusal(cache, patch).of('clear')
        assert cache.clear() == 1
    assert cache.admit(entry('a', 'new'), at(1.0))
    found = cache.recall_exact('a', 'en').entry
    assert found is not None
    assert found.answer == 'new'


@pytest.mark.parametrize('unreadable', ['built_on', 'built_on_version', 'sources', 'page'])
def test_where_it_cannot_be_read_what_is_touched_everything_goes(
    cache: SemanticCache, monkeypatch: pytest.MonkeyPatch, unreadable: str
) -> None:
    cache.admit(entry('a'), at(1.0))
    with monkeypatch.context() as patch:
        Refusal(cache, patch).of(unreadable)
        if unreadable in {'built_on_version', 'sources'}:
            cache.drop_outdated({})
        else:
            cache.invalidate(sources=['s'], terms=['t'])
    assert cache.recall_exact('a', 'en').entry is None
    assert len(cache) == 0


def test_reads_that_fail_are_misses(cache: SemanticCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.admit(entry('a'), at(1.0))
    with monkeypatch.context() as patch:
        Refusal(cache, patch).of('read', 'find')
        assert cache.recall_exact('a', 'en').entry is None
        assert cache.recall(at(1.0), 'en', 0.9).entry is None
        assert not cache.would_hit('a', at(1.0), 'en', 0.9)
        assert cache.get(1) is None
    assert cache.recall_exact('a', 'en').entry is not None


@pytest.mark.parametrize('column', ['question', 'answer', 'vector', 'sources', 'expires', 'reason'])
def test_a_row_changed_behind_its_back_is_removed_and_never_served(cache: SemanticCache, column: str) -> None:
    cache.admit(entry('a', sources=('s',)), at(1.0))
    cache.admit(entry('b', sources=('s',)), at(0.97))
    changed = "x'00'" if column == 'vector' else '1e9' if column == 'expires' else "'other'"
    cache._held.store._db.execute(f'UPDATE entry SET {column} = {changed} WHERE id = 1')  # noqa: S608
    match = cache.recall(at(1.0), 'en', 0.9)
    assert match.entry is not None
    assert (match.entry.question, cache.damaged) == ('b', 1)
    assert cache.recall_exact('a', 'en').entry is None
    assert questions(cache) == {'b'}
    assert cache.invalidate(sources=['s']) == 1


# -- going through everything ---------------------------------------------------------------------------------------


def test_entries_can_be_looked_at_and_removed_one_by_one(clock: VirtualClock, cache: SemanticCache) -> None:
    cache.admit(entry('a'), at(1.0))
    cache.admit(entry('b'), NOWHERE)
    clock.advance(2)
    cache.recall_exact('b', 'en')
    assert cache.get(2) == StoredEntry(2, entry('b'), 1, START + 2)
    assert cache.get(3) is None
    assert cache.remove([1, 7]) == 1
    assert list(cache.entries()) == [StoredEntry(2, entry('b'), 1, START + 2)]


def test_going_through_many_entries_misses_none_and_may_change_them(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=2000, half_life=10.0, clock=clock)
    for number in range(1200):
        cache.admit(entry(f'q{number}'), at(1.0))
    seen = []
    for each in cache.entries():
        seen.append(each.entry_id)
        cache.remove([each.entry_id])
    assert seen == list(range(1, 1201))
    assert len(cache) == 0


def test_a_term_is_found_on_every_page(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=DIMENSION, capacity=2000, half_life=10.0, clock=clock)
    for number in range(1200):
        cache.admit(entry(f'q{number}', 'The lark.' if number % 300 == 7 else 'Another.'), at(1.0))
    assert cache.invalidate(terms=['lark']) == 4
    assert len(cache) == 1196


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


# -- many entries: an inverted file ---------------------------------------------------------------------------------


def test_beyond_the_limit_scores_and_thresholds_stay_exact(file: Path, clock: VirtualClock) -> None:
    random = np.random.default_rng(5)
    table = random.standard_normal((400, 32)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    cache = opened(file, clock, capacity=400, dimension=32, flat_limit=150)
    for number, vector in enumerate(table):
        cache.admit(entry(f'q{number}'), vector)
    cache._held.index.settle()
    assert not cache._held.index.exact
    cache.remove(range(1, 51))
    cache.close()
    again = opened(file, clock, capacity=400, dimension=32, flat_limit=150)
    assert not again._held.index.exact
    for number in range(50, 400):
        query = table[number] + 0.05 * random.standard_normal(32).astype(np.float32)
        query /= np.linalg.norm(query)
        cosine = float(table[number] @ query)
        match = again.recall(query, 'en', cosine - 1e-6)
        assert match.entry_id == number + 1
        assert match.score == pytest.approx(cosine, abs=1e-6)
        assert again.recall(query, 'en', cosine + 1e-5).entry is None
    assert again.recall(table[3], 'en', 0.99).entry is None
    again.close()


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
    assert all(map(math.isfinite, weights(cache).values()))


def test_the_same_question_may_be_no_hit_either(cache: SemanticCache) -> None:
    cache.admit(entry('seats'), at(1.0))
    match = cache.recall_exact('seats', 'en', lambda each: f'{each.question} have aged')
    assert (match.entry, match.refused) == (None, ('1: seats have aged',))
    assert not cache.would_hit('seats', at(1.0), 'en', 0.95, lambda _each: 'aged')
    assert cache.hits == 0
