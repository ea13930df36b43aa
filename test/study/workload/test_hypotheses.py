"""Unfinished hypotheses of a recogniser."""
from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.workload import spoken


def test_an_english_question_grows_word_by_word() -> None:
    hypotheses = spoken("What's the range, 3.5 km?", endpoint=0.5)
    assert [words for _, words in hypotheses] == [
        "What's", "What's the", "What's the range", "What's the range, 3.5", "What's the range, 3.5 km?"]
    assert [before for before, _ in hypotheses] == pytest.approx([0.5 + k / 2.7 for k in (4, 3, 2, 1, 0)])


def test_a_chinese_question_grows_by_a_character() -> None:
    text = '这款车的续航里程是多少公里？'  # 13 characters
    hypotheses = spoken(text)
    assert hypotheses[-1] == (0.6, text)
    assert [len(words) for _, words in hypotheses[:-1]] == list(range(1, 13))
    for before, words in hypotheses[:-1]:
        assert before == pytest.approx(0.6 + (13 - len(words)) / 4)


def test_latin_words_in_a_chinese_question_stay_whole() -> None:
    assert [words for _, words in spoken('Lark GT多少钱')] == [
        'Lark', 'Lark GT', 'Lark GT多', 'Lark GT多少', 'Lark GT多少钱']


def test_what_has_no_words_is_heard_at_once() -> None:
    assert spoken('？！') == ((0.6, '？！'),)


@given(text=st.text(max_size=60))
def test_hypotheses_grow_until_all_is_said(text: str) -> None:
    hypotheses = spoken(text)
    assert hypotheses[-1] == (0.6, text)
    for (earlier, shorter), (later, longer) in itertools.pairwise(hypotheses):
        assert earlier > later
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)
