"""Intervals of percentiles, of means over seeds, of shares."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_rows import run_of

from pace_ros.study.statistics import (
    Interval,
    mean_interval,
    percentile_interval,
    percentile_table,
    proportion,
    seed_mean,
    share_true,
    shown,
)

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(('interval', 'text'), [
    (Interval(1.23456, 1.0, 2.0, 5), '1.235 [1.000, 2.000]'),
    (Interval(INF, 3.0, INF, 5), '∞ [3.000, ∞]'),
    (Interval(0.5, NAN, NAN, 1), '0.500'),
    (Interval(NAN, NAN, NAN, 0), '–'),
    (Interval(0.0, -INF, 1.0, 3), '0.000 [−∞, 1.000]'),
])
def test_as_text(interval: Interval, text: str) -> None:
    assert str(interval) == text


def test_infinity_is_shown_as_such() -> None:
    assert shown(INF) == '∞'


def test_the_t_interval_of_three_seeds_by_hand() -> None:
    found = mean_interval([1.0, 2.0, 3.0])  # s = 1, t(0.975, 2) = 4.302653
    half = 4.302653 / math.sqrt(3)
    assert (found.estimate, found.n) == (2.0, 3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), abs=1e-5)


def test_one_seed_or_an_infinite_one_has_no_interval() -> None:
    assert mean_interval([0.1]).estimate == 0.1
    assert math.isnan(mean_interval([0.1]).low)
    infinite = mean_interval([1.0, INF, 2.0])
    assert infinite.estimate == INF
    assert infinite.shown() == '∞'
    assert mean_interval([2.0, 2.0]) == Interval(2.0, 2.0, 2.0, 2)
    assert mean_interval([]).n == 0


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8), st.floats(-100, 100))
def test_the_t_interval_holds_the_mean_and_shifts_with_it(values: list[float], by: float) -> None:
    one, other = mean_interval(values), mean_interval([each + by for each in values])
    assert one.low <= one.estimate <= one.high
    assert other.low == pytest.approx(one.low + by, abs=1e-6)


def test_each_seed_is_one_value_and_the_warm_up_none() -> None:
    rows = pd.DataFrame({'seed': [1, 1, 1, 2, 2, 3], 'phase': ['warm-up', *['measured'] * 5],
                         'ptfr': [99.0, 1.0, 3.0, 4.0, NAN, 6.0], 'stale': [True, True, False, False, False, True]})
    assert seed_mean(rows, 'ptfr').estimate == 4.0  # 2, 4 and 6: what was not answered is left out of a mean
    assert seed_mean(rows, 'ptfr').n == 3
    assert seed_mean(rows, 'ptfr', 50).estimate == INF  # the median of 4 and infinity
    assert seed_mean(rows, 'ptfr', lambda column: column.max()).estimate == pytest.approx(13 / 3)
    assert seed_mean(rows, 'stale').estimate == pytest.approx((0.5 + 0.0 + 1.0) / 3)


def test_wilson_by_hand() -> None:
    none = proportion(0, 10)  # z^2 / (n + z^2) = 3.8415 / 13.8415
    assert (none.estimate, none.low, none.high) == pytest.approx((0.0, 0.0, 0.27753), abs=1e-5)
    assert math.isnan(proportion(0, 0).estimate)
    assert share_true(pd.Series([True, False, None, True], dtype=object)).n == 3


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_lies_in_its_interval(counts: tuple[int, int]) -> None:
    found = proportion(*counts)
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0


def test_the_interval_of_a_percentile_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        rows = pd.DataFrame({'seed': np.repeat([1, 2, 3], 100), 'ptfr': chance.exponential(1.0, 300)})
        found = percentile_interval(rows, 'ptfr', 50, resamples=400)
        covered += found.low <= math.log(2) <= found.high
    assert 88 <= covered <= 100


def test_the_table_has_a_row_a_cell_and_infinity_where_too_many_had_no_answer() -> None:
    rows = run_of({'pace-full': 0.5, 'pure-llm': 2.0}, concurrencies=(4, 16))
    lost = (rows['arm'] == 'pure-llm') & (rows['concurrency'] == 16) & (rows['index'] % 10 == 0)
    rows.loc[lost, 'ptfr'] = NAN
    table = percentile_table(rows, 'ptfr').set_index(['arm', 'concurrency'])
    assert len(table) == 4
    assert (table['n'] == 180).all()
    worst = table.loc[('pure-llm', 16)]
    assert (worst['p95'], worst['p95_high'], worst['answered']) == (INF, INF, 162)
    assert math.isfinite(worst['p50_high'])
    assert (table['p50_low'] <= table['p50']).all()
    assert (table['p50'] <= table['p50_high']).all()
