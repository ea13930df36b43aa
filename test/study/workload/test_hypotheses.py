"""Unfinished hypotheses of a recogniser."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.workload import spoken
from pace_ros.study.workload.hypotheses import CHARACTERS_PER_S, ENDPOINT, HESITATES, PAUSE, REVISED, WORDS_PER_S


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def whole(text: str) -> tuple[tuple[float, str], ...]:
    """Hypotheses of an utterance that is heard to its last word."""
    return next(found for seed in range(100) if (found := spoken(text, rng(seed)))[-1][1] == text)


def test_an_english_question_grows_word_by_word() -> None:
    assert [words for _, words in whole("What's the range, 3.5 km?")] == [
        "What's", "What's the", "What's the range", "What's the range, 3.5", "What's the range, 3.5 km?"]


def test_a_chinese_question_grows_by_a_character() -> None:
    text = '这款车的续航里程是多少公里？'  # 13 characters
    assert [len(words) for _, words in whole(text)[:-1]] == list(range(1, 13))


def test_latin_words_in_a_chinese_question_stay_whole() -> None:
    assert [words for _, words in whole('Lark GT多少钱')] == [
        'Lark', 'Lark GT', 'Lark GT多', 'Lark GT多少', 'Lark GT多少钱']


def test_what_has_no_words_is_heard_at_once() -> None:
    ((before, words),) = spoken('？！', rng())
    assert ENDPOINT[0] <= before <= ENDPOINT[1]
    assert words == '？！'


@pytest.mark.parametrize(('text', 'rate', 'units'), [
    ('这款车的续航里程是多少公里呢我想知道', CHARACTERS_PER_S, 18),
    ('how far does it go on one full charge please', WORDS_PER_S, 10),
])
def test_people_speak_at_the_stated_rate_with_the_stated_pauses(text: str, rate: float, units: int) -> None:
    lengths = [found[0][0] - found[-1][0] for seed in range(800) if (found := spoken(text, rng(seed)))[-1][1] == text]
    expected = (units - 1) * (1 / rate + HESITATES * sum(PAUSE) / 2)
    assert np.mean(lengths) == pytest.approx(expected, rel=0.05)


def test_the_last_word_is_late_and_the_end_comes_at_different_times_as_stated() -> None:
    found = [spoken('how far does it go', rng(seed))[-1] for seed in range(1000)]
    assert sum(words != 'how far does it go' for _, words in found) / 1000 == pytest.approx(REVISED, abs=0.03)
    ends = [before for before, words in found if words == 'how far does it go']
    assert min(ends) >= ENDPOINT[0]
    assert max(ends) <= ENDPOINT[1]
    assert np.mean(ends) == pytest.approx(sum(ENDPOINT) / 2, abs=0.02)


@given(text=st.text(max_size=60), seed=st.integers(0, 10_000))
def test_hypotheses_grow_and_end_before_the_final_transcript(text: str, seed: int) -> None:
    hypotheses = spoken(text, rng(seed))
    assert hypotheses == spoken(text, rng(seed))
    assert text.startswith(hypotheses[-1][1])
    for (earlier, shorter), (later, longer) in itertools.pairwise(hypotheses):
        assert earlier > later > 0
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)
