"""Which question is asked when."""
from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.workload import steady, stream


def data(meanings: int = 700, wordings: int = 3, known: int = 0) -> DataSet:
    """Meanings with a seed and its paraphrases; the seeds of the first ``known`` are in the knowledge."""
    questions = [
        Question(f'{m}-{w}', f'question {m} put {w}', 'en-US', str(m), f'answer {m}', 'other' if w else 'seed')
        for m in range(meanings) for w in range(wordings)
    ]
    entries = tuple(
        KnowledgeEntry(str(m), {'en': (f'Question {m} put 0?',)}, {'en': f'answer {m}'}) for m in range(known)
    )
    return DataSet('tiny', '1', tuple(each for each in questions if each.kind == 'seed'),
                   tuple(each for each in questions if each.kind != 'seed'), entries)


DATA = data()
seeds = st.integers(0, 2**32)


@settings(max_examples=15)
@given(seed=seeds, repeats=st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_repeats_are_as_many_as_asked_for(seed: int, repeats: float) -> None:
    requests = stream(DATA, steady(4, 2.0, seed=seed), seed=seed, repeats=repeats)
    assert len(requests) == 600
    assert not requests[0].seen
    seen = sum(each.seen for each in requests)
    assert binom.ppf(1e-9, 599, repeats) <= seen <= binom.isf(1e-9, 599, repeats)


@settings(max_examples=15)
@given(seed=seeds)
def test_a_request_is_seen_exactly_when_its_meaning_was_asked_before(seed: int) -> None:
    before: set[str] = set()
    for index, request in enumerate(stream(data(40), steady(4, 2.0, seed=seed, measured=60), seed=seed)):
        assert request.index == index
        assert request.seen == (request.question.meaning in before)
        before.add(request.question.meaning)


@settings(max_examples=15)
@given(seed=seeds)
def test_the_same_seed_gives_the_same_stream_at_every_concurrency(seed: int) -> None:
    slow, fast = (stream(DATA, steady(c, 2.0, seed=seed, measured=20), seed=seed) for c in (1, 32))
    assert fast == stream(DATA, steady(32, 2.0, seed=seed, measured=20), seed=seed)
    assert [each.question for each in slow] == [each.question for each in fast]
    assert [each.hypotheses for each in slow] == [each.hypotheses for each in fast]
    assert [each.at for each in slow] == pytest.approx([32 * each.at for each in fast])
    other = stream(DATA, steady(1, 2.0, seed=seed + 1, measured=20), seed=seed + 1)
    assert [each.question for each in other] != [each.question for each in slow]


def test_a_longer_stream_begins_as_the_shorter() -> None:
    assert stream(DATA, steady(1, 2.0, seed=5), seed=5)[:200] == tuple(
        stream(DATA, steady(1, 2.0, seed=5, measured=100), seed=5))


def test_a_schedule_is_kept_to_the_letter() -> None:
    schedule = steady(8, 2.0, seed=0, warm_up=2, measured=3)
    requests = stream(DATA, schedule, seed=9)
    assert [(each.at, each.concurrency, each.phase) for each in requests] == [
        (each.at, each.concurrency, each.phase) for each in schedule]


def test_half_of_the_repeats_are_in_words_used_before() -> None:
    asked: dict[str, set[str]] = {}
    verbatim = again = 0
    for request in stream(DATA, steady(4, 2.0, seed=2, measured=1000), seed=2):
        words = asked.setdefault(request.question.meaning, set())
        if words and len(words) < 3:
            again += 1
            verbatim += request.question.text in words
        words.add(request.question.text)
    assert binom.ppf(1e-6, again, 0.5) <= verbatim <= binom.isf(1e-6, again, 0.5)


def test_every_meaning_comes_once_before_any_comes_anew() -> None:
    requests = stream(data(5, 1), steady(1, 1.0, seed=0, warm_up=0, measured=10), seed=0, repeats=0.0)
    rounds = [[each.question.meaning for each in requests[start : start + 5]] for start in (0, 5)]
    assert [sorted(each) for each in rounds] == [list('01234')] * 2
    assert [each.seen for each in requests] == [False] * 5 + [True] * 5


def test_wordings_that_the_knowledge_has_are_avoided_where_there_are_others() -> None:
    schedule = steady(1, 1.0, seed=0, warm_up=0, measured=300)
    kinds = Counter(
        (int(each.question.meaning) < 20, each.question.kind) for each in stream(data(40, 2, 20), schedule, seed=0)
    )
    assert kinds[True, 'seed'] == 0
    assert min(kinds[True, 'other'], kinds[False, 'seed'], kinds[False, 'other']) > 30
    assert {each.question.kind for each in stream(data(40, 1, 40), schedule, seed=0)} == {'seed'}


def test_a_meaning_in_another_language_is_another_question() -> None:
    both = DataSet('two', '1', tuple(Question(locale, text, locale, 'm', 'a') for locale, text in (
        ('zh-CN', '多少钱'), ('en-US', 'how much'))))
    requests = stream(both, steady(1, 1.0, seed=0, warm_up=0, measured=2), seed=0, repeats=0.0)
    assert {each.question.locale for each in requests} == {'zh-CN', 'en-US'}
    assert not any(each.seen for each in requests)


def test_every_request_is_heard_while_it_is_spoken_and_the_same_in_every_run() -> None:
    one, other = (stream(DATA, steady(c, 1.0, seed=0), seed=0) for c in (1, 16))
    assert all(each.hypotheses for each in one)
    assert [each.hypotheses for each in one] == [each.hypotheses for each in other]
    assert len({each.hypotheses[-1][0] for each in one}) > 500, 'the end of an utterance comes at different times'


def test_a_data_set_without_questions_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="data set 'none' has no questions"):
        stream(DataSet('none', '1', ()), steady(1, 1.0, seed=0), seed=0)
