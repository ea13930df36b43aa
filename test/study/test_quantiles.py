"""P50, P95, P99 and their intervals."""
from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.study.quantiles import NEEDED, quantiles


def test_quantiles_lie_linearly_between_order_statistics() -> None:
    found = quantiles([float(each) for each in range(1, 101)])
    assert found.n == 100
    assert found.value == pytest.approx({50: 50.5, 95: 95.05, 99: 99.01})


def test_what_did_not_happen_is_no_value() -> None:
    found = quantiles([math.nan, 2.0, math.nan, 4.0])
    assert (found.n, found.value[50]) == (2, 3.0)
    assert math.isnan(quantiles([math.nan]).value[50])
    assert quantiles([]).n == 0


@pytest.mark.parametrize(('percent', 'least'), [(50, 5), (95, 59), (99, 299)])
def test_an_interval_needs_a_sample_whose_greatest_is_likely_beyond_the_quantile(percent: int, least: int) -> None:
    assert NEEDED[percent] == least
    assert (percent / 100) ** least <= 0.05 < (percent / 100) ** (least - 1)
    few, enough = (quantiles([float(each) for each in range(n)]) for n in (least - 1, least))
    assert math.isnan(few.low[percent])
    assert math.isnan(few.high[percent])
    assert enough.low[percent] <= enough.value[percent] <= enough.high[percent]


def test_the_same_seed_gives_the_same_interval_whatever_the_order() -> None:
    values = [math.sin(each) ** 2 for each in range(200)]
    one, other = quantiles(values, seed=7), quantiles(values[::-1], seed=7)
    assert one.low == pytest.approx(other.low, nan_ok=True)
    assert one.high == pytest.approx(other.high, nan_ok=True)
    assert quantiles(values, seed=8).low[50] != one.low[50]


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = quantiles([0.3] * 400)
    assert found.low == found.high == found.value == {50: 0.3, 95: 0.3, 99: 0.3}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=80))
def test_intervals_stay_within_the_sample(values: list[float]) -> None:
    found = quantiles(values)
    for percent in NEEDED:
        assert min(values) <= found.value[percent] <= max(values)
        if len(values) >= NEEDED[percent]:
            assert min(values) <= found.low[percent] <= found.high[percent] <= max(values)
