"""Percentiles where no answer is an infinite wait."""
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.statistics.percentile import percentile, waits

INF, NAN = math.inf, math.nan
finite = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(('values', 'percent', 'expected'), [
    ([1, 2, 3, 4], 50, 2.5),
    ([4, 1, 3, 2], 100, 4),
    ([1, 2, INF], 50, 2),
    ([1, INF, INF], 50, INF),
    ([1, INF], 50, INF),  # anything short of a finite value up to infinity
    ([*range(20), INF], 95, 19),  # place 19 of 0..20: the last answer
    ([*range(19), INF], 95, INF),  # place 18.05 of 0..19: past the last answer
    ([INF, INF], 95, INF),
    ([-INF, 1], 50, -INF),
    ([7], 95, 7),
])
def test_by_hand(values: list[float], percent: float, expected: float) -> None:
    assert percentile(values, percent) == expected


def test_of_nothing_there_is_none() -> None:
    assert math.isnan(percentile([], 50))
    assert math.isnan(percentile([-INF, INF], 50))


def test_no_answer_is_an_infinite_wait() -> None:
    assert waits([0.5, NAN]).tolist() == [0.5, INF]


@given(finite, st.floats(0, 100))
def test_finite_samples_are_numpys(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), rel=1e-6, abs=1e-6)


@given(finite, st.integers(0, 5), st.floats(0, 100))
def test_more_without_an_answer_never_makes_it_shorter(values: list[float], lost: int, percent: float) -> None:
    assert percentile([*values, *[INF] * lost], percent) >= percentile(values, percent) - 1e-6
