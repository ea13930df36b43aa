"""Two arms on the same requests."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import run_of

from pace_ros.study.statistics import (
    StatisticsError,
    against_baselines,
    cell,
    confirmatory,
    holm,
    mean_difference,
    not_inferior,
    paired_tests,
    pairs,
    percentile_ratio,
)

INF, NAN = math.inf, math.nan


def rows(values: list[float], *, seed: int = 1) -> pd.DataFrame:
    return pd.DataFrame({'seed': seed, 'index': range(len(values)), 'ptfr': values})


def test_requests_are_matched_by_their_keys_not_by_their_order() -> None:
    one, other = rows([1.0, 2.0, 3.0]), rows([10.0, 20.0]).iloc[::-1]
    both = pairs(one, other, ('ptfr',))
    assert list(zip(both['ptfr_a'], both['ptfr_b'], strict=True)) == [(1.0, 10.0), (2.0, 20.0)]


def test_what_cannot_be_matched_is_named() -> None:
    with pytest.raises(StatisticsError, match='no request in common'):
        pairs(rows([1.0]), rows([1.0], seed=2), ('ptfr',))
    with pytest.raises(StatisticsError, match='stands twice'):
        pairs(pd.concat([rows([1.0]), rows([2.0])]), rows([1.0]), ('ptfr',))
    with pytest.raises(StatisticsError, match='no measured rows of arm a9 at c = 16'):
        cell(run_of({'a1': 1.0}), 'a9', 16)


def test_t_and_wilcoxon_by_hand() -> None:
    found = paired_tests(rows([2.0, 4.0, 6.0]), rows([1.0, 2.0, 3.0]), 'ptfr')  # differences 1, 2, 3
    assert (found.mean_difference, found.t) == pytest.approx((2.0, 2 * math.sqrt(3)))
    assert found.t_p == pytest.approx(0.0741799, abs=1e-6)
    five = paired_tests(rows([2.0, 4.0, 6.0, 8.0, 10.0]), rows([1.0, 2.0, 3.0, 4.0, 5.0]), 'ptfr')
    assert five.wilcoxon_p == pytest.approx(2 / 2**5)  # all five of one sign
    assert five.median_difference.estimate == 3.0


def test_no_answer_has_the_highest_rank_and_is_left_out_of_t() -> None:
    a, b = rows([2.0, 4.0, 6.0, 8.0, NAN, NAN]), rows([1.0, 2.0, 3.0, 4.0, 5.0, NAN])
    found = paired_tests(a, b, 'ptfr')
    assert (found.n, found.n_finite) == (6, 4)
    assert found.mean_difference == 2.5
    assert found.wilcoxon_p == pytest.approx(2 / 2**5)  # infinity counts as any greatest value; neither answered: 0
    assert found.median_difference.high == INF


def test_equal_arms_differ_in_nothing() -> None:
    found = paired_tests(rows([1.0, NAN]), rows([1.0, NAN]), 'ptfr')
    assert (found.wilcoxon_p, found.median_difference.estimate) == (1.0, 0.0)
    assert paired_tests(rows([1.0, 2.0]), rows([1.0, 2.0]), 'ptfr').t_p == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    with_gap = holm([0.01, NAN, 0.04])
    assert (with_gap[0], with_gap[2]) == pytest.approx((0.02, 0.04))
    assert math.isnan(with_gap[1])
    assert holm([]) == []


@settings(max_examples=10, deadline=None)  # statsmodels collects garbage at every call: 0.1 s
@given(st.lists(st.floats(0, 1), min_size=4, max_size=9))
def test_holm_keeps_the_order_and_never_makes_a_p_smaller(raw: list[float]) -> None:
    adjusted = holm(raw)
    assert all(one <= other <= 1.0 for one, other in zip(raw, adjusted, strict=True))
    ordered = [adjusted[place] for place in np.argsort(raw, kind='stable')]
    assert ordered == sorted(ordered)


def test_the_ratio_of_arms_that_differ_by_a_factor_is_that_factor() -> None:
    run = run_of({'pace-full': 0.5, 'pace-static': 1.0})
    found = percentile_ratio(cell(run, 'pace-full', 16), cell(run, 'pace-static', 16), 'ptfr', 95)
    assert (found.ratio.estimate, found.ratio.low, found.ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found.p == pytest.approx(2 / 2001)


@pytest.mark.parametrize(('a', 'b', 'estimate'), [([1.0, 1.0], [NAN, NAN], 0.0), ([NAN, NAN], [1.0, 1.0], INF)])
def test_the_ratio_to_no_answer_is_nothing_and_of_it_infinite(
    a: list[float], b: list[float], estimate: float
) -> None:
    assert percentile_ratio(rows(a), rows(b), 'ptfr', 95).ratio.estimate == estimate


def test_no_answer_on_either_side_says_nothing() -> None:
    found = percentile_ratio(rows([NAN, NAN]), rows([NAN, NAN]), 'ptfr', 95)
    assert math.isnan(found.ratio.estimate)
    assert (found.ratio.low, found.ratio.high, found.p) == (0.0, INF, 1.0)


latencies = st.lists(st.tuples(*[st.one_of(st.floats(0.01, 100), st.just(NAN))] * 2), min_size=2, max_size=30)


@settings(max_examples=40, deadline=None)
@given(latencies)
def test_the_ratios_interval_holds_it_whoever_did_not_answer(values: list[tuple[float, float]]) -> None:
    found = percentile_ratio(rows([a for a, _ in values]), rows([b for _, b in values]), 'ptfr', 95).ratio
    assert not math.isnan(found.low + found.high) or math.isinf(found.low)
    assert math.isnan(found.estimate) or found.low <= found.estimate <= found.high


def test_baselines_are_corrected_together_and_called_exploratory() -> None:
    run = run_of({'pace-full': 1.0, 'pace-static': 1.2, 'pure-llm': 3.0})
    table = against_baselines(run, 'pace-full', ['pace-static', 'pure-llm'], 16)
    assert list(table['baseline']) == ['pace-static', 'pure-llm']
    assert set(table['status']) == {'exploratory'}
    assert (table['t_holm'] >= table['t_p']).all()
    assert (table['median_difference_high'] < 0).all()
    assert (table['n'] == 180).all()


@pytest.mark.parametrize(('factor', 'quality', 'holds'), [(0.97, 0.0, True), (1.2, 0.0, False), (0.97, -0.5, False)])
def test_not_inferior_is_both_fast_and_good_enough(factor: float, quality: float, holds: bool) -> None:
    run = run_of({'pace-gated': factor, 'pace-static': 1.0})
    run.loc[run['arm'] == 'pace-gated', 'quality'] += quality
    found = not_inferior(run, 16)
    assert found.holds is holds
    assert found.fast_enough is (factor < 1.1)
    assert found.good_enough is (quality > -0.1)
    assert (found.margin, found.quality_margin) == (0.10, 0.1)
    assert ('is not inferior to' in str(found)) is holds


def test_a_difference_of_means_is_of_what_was_judged_under_both() -> None:
    one = pd.DataFrame({'seed': 1, 'index': range(4), 'quality': [5.0, 4.0, NAN, 3.0]})
    other = pd.DataFrame({'seed': 1, 'index': range(4), 'quality': [4.0, 4.0, 1.0, NAN]})
    found = mean_difference(one, other, 'quality')
    assert (found.estimate, found.n) == (0.5, 2)
    with pytest.raises(StatisticsError, match='quality'):
        mean_difference(one.assign(quality=NAN), other, 'quality')


def test_the_confirmatory_endpoint_is_one_and_marked() -> None:
    run = run_of({'pace-full': 0.6, 'pace-static': 1.0, 'pure-llm': 2.0}, concurrencies=(4, 16))
    ramp = run.assign(part='ramp', ptfr=99.0)
    found = confirmatory(pd.concat([run, ramp], ignore_index=True))
    assert (found.status, found.confirmed, found.p95.ratio.n) == ('confirmatory', True, 180)
    assert found.p95.ratio.estimate == pytest.approx(0.6)
    own = cell(run, 'pace-static', 16)
    assert found.p95.b == pytest.approx(np.percentile(own['ptfr'], 95))
    assert str(found).startswith('Confirmatory: PTFR P95 at c = 16')
    slower = run_of({'pace-full': 1.1, 'pace-static': 1.0})
    assert not confirmatory(slower).confirmed
    with pytest.raises(StatisticsError, match='pace-full at c = 16'):
        confirmatory(run.loc[run['concurrency'] == 4])
