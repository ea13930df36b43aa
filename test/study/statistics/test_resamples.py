"""Bootstrap draws."""
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.study.statistics.resamples import Resamples, bounds

INF = math.inf


def test_the_median_of_two_values_has_the_law_of_two_coins() -> None:
    drawn = Resamples([1, 1]).percentile([0.0, 1.0], 50)
    assert set(drawn) == {0.0, 0.5, 1.0}
    assert np.mean(drawn == 0.5) == pytest.approx(0.5, abs=0.05)  # 0 and 0: 1/4, one of each: 1/2, 1 and 1: 1/4
    assert np.mean(drawn == 1.0) == pytest.approx(0.25, abs=0.05)


def test_every_stratum_keeps_its_size() -> None:
    strata = ['b', 'a', 'b', 'a', 'b']
    share_of_a = Resamples(strata).mean([0.0, 1.0, 0.0, 1.0, 0.0])
    assert share_of_a.tolist() == pytest.approx([0.4] * 2000)


def test_each_figure_is_that_of_the_rows_drawn() -> None:
    sample = np.array([3.0, 1.0, INF, 2.0, 5.0, 4.0])
    draws = Resamples([1, 2, 1, 2, 1, 2], seed=3, count=300)
    by_row = draws._counts[:, np.argsort(draws._order)]
    for percent in (50, 95):
        found = draws.percentile(sample, percent)
        for counts, value in zip(by_row, found, strict=True):
            rows = np.sort(np.repeat(sample, counts))
            place = 5 * percent / 100
            low, high = rows[int(place)], rows[min(5, int(place) + 1)]
            expected = low if place == int(place) or low == high else low + (place - int(place)) * (high - low)
            assert value == pytest.approx(expected)


def test_the_same_seed_gives_the_same_draws_and_another_does_not() -> None:
    values = np.arange(30.0)
    one, same, other = (Resamples([0] * 30, seed=seed).mean(values) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_the_mean_leaves_out_what_is_unknown() -> None:
    means = Resamples([0, 0, 0]).mean([1.0, math.nan, 3.0])
    known = means[~np.isnan(means)]
    assert np.isnan(means).mean() == pytest.approx(1 / 27, abs=0.02)  # the unknown one thrice
    assert set(np.round(known, 6)) <= {1.0, 3.0, 2.0, round(5 / 3, 6), round(7 / 3, 6)}


def test_what_says_nothing_widens_the_interval_to_both_sides() -> None:
    resampled = np.array([1.0] * 90 + [math.nan] * 10)
    interval = bounds(1.0, resampled, 5)
    assert (interval.low, interval.high) == (-INF, INF)


values = st.lists(st.one_of(st.floats(0, 100), st.just(INF)), min_size=2, max_size=25)


@settings(max_examples=40, deadline=None)
@given(values, st.sampled_from([50.0, 95.0]), st.floats(1, 50))
def test_intervals_hold_the_estimate_and_shift_with_the_values(sample: list[float], percent: float, by: float) -> None:
    from pace_ros.study.statistics.percentile import percentile

    def interval(of: np.ndarray) -> tuple[float, float]:
        estimate = percentile(of, percent)
        found = bounds(estimate, Resamples([0] * len(of), count=200).percentile(of, percent), len(of))
        assert found.low <= estimate <= found.high
        assert not math.isnan(found.low + found.high)
        return found.low, found.high

    here, there = np.array(sample), np.array(sample) + by
    for one, other in zip(interval(here), interval(there), strict=True):
        assert other == pytest.approx(one + by, abs=1e-6) if math.isfinite(one) else other == one
