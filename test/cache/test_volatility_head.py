"""The learned classifier: its file, its probability, and what it says without a vector."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.cache.volatility import EitherClassifier, Verdict
from pace_ros.cache.volatility_head import COMMON, LEARNED, Head, HeadError, LearnedClassifier
from pace_ros.embedding import Vector

NORTH, EAST = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)


def head(*, weights: tuple[float, float] = (4.0, -4.0), threshold: float = 0.5, bias: float = 0.0) -> Head:
    """Volatile near the north, stable near the east."""
    return Head(np.stack([NORTH, EAST]), np.array(weights, np.float32), width=2.0, bias=bias, threshold=threshold,
                stable=3, volatile=2)


class Said:
    """A classifier that always says the same."""

    def __init__(self, verdict: Verdict, *, needs_vector: bool = False) -> None:
        self.verdict = verdict
        self.needs_vector = needs_vector

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        return self.verdict


def test_the_probability_is_the_logistic_of_weighted_likenesses() -> None:
    # |north - east|^2 = 2, so k = (1, exp(-2 * 2)).
    expected = 1 / (1 + math.exp(-(4.0 - 4.0 * math.exp(-4.0) + 0.25)))
    assert head(bias=0.25).probability(NORTH) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize('bias', [1e4, -1e4])
def test_a_huge_score_is_a_probability_still(bias: float) -> None:
    assert head(bias=bias).probability(NORTH) == (1.0 if bias > 0 else 0.0)


@given(angle=st.floats(0, 2 * math.pi), threshold=st.floats(0, 1), bias=st.floats(-20, 20))
def test_volatile_exactly_from_the_threshold_on(angle: float, threshold: float, bias: float) -> None:
    vector = np.array([math.cos(angle), math.sin(angle)], np.float32)
    one = head(threshold=threshold, bias=bias)
    verdict = LearnedClassifier({COMMON: one}).classify('q', 'en', vector)
    assert 0.0 <= one.probability(vector) <= 1.0
    assert verdict.volatile is (one.probability(vector) >= threshold)
    assert verdict.category == (LEARNED if verdict.volatile else '')


def test_each_language_has_its_head_and_others_the_common_one() -> None:
    learned = LearnedClassifier({'zh': head(), COMMON: head(weights=(-4.0, 4.0))})
    assert learned.classify('q', 'zh-CN', NORTH).volatile
    assert not learned.classify('q', 'fr-FR', NORTH).volatile
    assert learned.classify('q', 'zh-CN', NORTH).reason == 'learned (zh): 0.98 >= 0.50'
    assert learned.classify('q', 'fr-FR', NORTH).reason == 'learned (common): 0.02 < 0.50'
    assert learned.needs_vector


@pytest.mark.parametrize('vector', [None, np.array([np.nan, 0.0], np.float32)])
def test_a_question_without_a_vector_is_volatile(vector: Vector | None) -> None:
    verdict = LearnedClassifier({COMMON: head(threshold=1.0)}).classify('...', 'en', vector)
    assert verdict == Verdict(True, 'learned: the question has no vector', LEARNED)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written = LearnedClassifier({'zh': head(threshold=0.25), COMMON: head()})
    written.write(tmp_path / 'heads.npz', 'encoder-1')
    read = LearnedClassifier.read(tmp_path / 'heads.npz', 'encoder-1')
    assert read.heads.keys() == {'zh', COMMON}
    for key, one in read.heads.items():
        assert one.probability(NORTH) == pytest.approx(written.heads[key].probability(NORTH), abs=1e-3)
        assert (one.threshold, one.stable, one.volatile) == (written.heads[key].threshold, 3, 2)


def test_heads_for_another_encoder_are_refused(tmp_path: Path) -> None:
    LearnedClassifier({COMMON: head()}).write(tmp_path / 'heads.npz', 'encoder-1')
    with pytest.raises(HeadError, match=r'heads\.npz was trained for the encoder encoder-1, not encoder-2'):
        LearnedClassifier.read(tmp_path / 'heads.npz', 'encoder-2')


@pytest.mark.parametrize('content', [b'', b'{"a": 1}', b'PK\x03\x04 torn', b'\x93NUMPY torn', '词'.encode()])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / 'heads.npz').write_bytes(content)
    with pytest.raises(HeadError, match=r'heads\.npz'):
        LearnedClassifier.read(tmp_path / 'heads.npz', 'encoder-1')


@given(cut=st.floats(0, 0.999))
def test_a_torn_file_is_refused(tmp_path_factory: pytest.TempPathFactory, cut: float) -> None:
    file = tmp_path_factory.getbasetemp() / 'torn.npz'
    LearnedClassifier({COMMON: head()}).write(file, 'encoder-1')
    whole = file.read_bytes()
    file.write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(HeadError, match=r'torn\.npz'):
        LearnedClassifier.read(file, 'encoder-1')


@given(place=st.integers(0, 10_000))
def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path_factory: pytest.TempPathFactory, place: int) -> None:
    file = tmp_path_factory.getbasetemp() / 'flipped.npz'
    LearnedClassifier({COMMON: head()}).write(file, 'encoder-1')
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 0xFF
    file.write_bytes(content)
    try:
        read = LearnedClassifier.read(file, 'encoder-1')
    except HeadError:
        return
    assert read.heads[COMMON].probability(NORTH) == pytest.approx(head().probability(NORTH), abs=1e-3)


def test_an_absent_file_says_how_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(HeadError, match=r'There is no .*heads\.npz: write it with "volatility train"'):
        LearnedClassifier.read(tmp_path / 'heads.npz', 'encoder-1')


@pytest.mark.parametrize('changes', [
    {'format': np.array(2)}, {'languages': np.array(['zh'])}, {'common.weights': np.zeros(3, np.float32)},
    {'common.numbers': np.array([1.0, np.nan, 0.5, 1, 1])}, {'common.numbers': np.array([1.0])},
    {'common.landmarks': np.full((2, 2), np.inf, np.float16)},
])
def test_a_file_that_does_not_fit_together_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    LearnedClassifier({COMMON: head()}).write(tmp_path / 'heads.npz', 'encoder-1')
    arrays = dict(np.load(tmp_path / 'heads.npz'))
    np.savez(tmp_path / 'heads.npz', **{**arrays, **changes})  # type: ignore[arg-type]
    with pytest.raises(HeadError, match=r'heads\.npz'):
        LearnedClassifier.read(tmp_path / 'heads.npz', 'encoder-1')


@pytest.mark.parametrize(('first', 'second', 'reason'), [
    (True, True, 'one'), (True, False, 'one'), (False, True, 'two'), (False, False, 'one'),
])
def test_either_is_volatile_if_one_is_with_its_reason(*, first: bool, second: bool, reason: str) -> None:
    one, two = (Verdict(flag, name, 'price' if flag else '') for flag, name in ((first, 'one'), (second, 'two')))
    either = EitherClassifier(Said(one), Said(two, needs_vector=True))
    verdict = either.classify('q', 'en', NORTH)
    assert (verdict.volatile, verdict.reason) == (first or second, reason)
    assert (verdict.category == 'price') is verdict.volatile
    assert either.needs_vector
    assert not EitherClassifier(Said(one), Said(two)).needs_vector
