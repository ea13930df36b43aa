from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Router
from pace_ros.control.load import clip, load_index

TIMES, RATES = st.floats(0.0, 100.0), st.floats(0.0, 100.0)


@pytest.mark.parametrize(
    ('ttft', 'rate', 'expected'),
    [
        (1.0, 0.0, 0.0),
        (4.0, 8.0, 1.0),
        (4.0, 0.0, 0.7),
        (1.0, 8.0, 0.3),
        (2.5, 4.0, 0.5),
        (1.5, 0.0, 0.7 / 6),
        (1.0, 0.5, 0.3 / 16),
        (0.0, 0.0, 0.0),     # both below their anchors
        (60.0, 0.0, 0.7),    # one beyond its anchor does not stand in for the other
        (0.2, 99.0, 0.3),
        (60.0, 99.0, 1.0),
    ],
)
def test_the_index_by_hand(ttft: float, rate: float, expected: float) -> None:
    assert load_index(ttft, rate, Router()) == pytest.approx(expected, abs=1e-12)


def test_a_deployment_may_set_its_own_anchors_and_weights() -> None:
    settings = Router(ttft_weight=0.25, ttft_low=0.5, ttft_high=1.5, rate_low=1.0, rate_high=3.0)
    assert load_index(1.0, 2.5, settings) == pytest.approx(0.25 * 0.5 + 0.75 * 0.75)


@given(ttft=TIMES, rate=RATES, weight=st.floats(0.0, 1.0))
def test_it_never_leaves_zero_to_one(ttft: float, rate: float, weight: float) -> None:
    assert 0.0 <= load_index(ttft, rate, Router(ttft_weight=weight)) <= 1.0


@given(ttft=TIMES, rate=RATES, more=st.floats(0.0, 10.0), weight=st.floats(0.0, 1.0))
def test_it_rises_with_either(ttft: float, rate: float, more: float, weight: float) -> None:
    settings = Router(ttft_weight=weight)
    now = load_index(ttft, rate, settings)
    assert load_index(ttft + more, rate, settings) >= now
    assert load_index(ttft, rate + more, settings) >= now


@given(value=st.floats(-10, 10), low=st.floats(-5, 0), high=st.floats(0, 5))
def test_clipping_gives_the_nearest_value_inside(value: float, low: float, high: float) -> None:
    inside = clip(value, low, high)
    assert low <= inside <= high
    assert inside == value or inside in (low, high)


# -- the weights: two unbiased readings of one load, with variances as 3 to 7 -----------------------------------------


def test_the_default_weights_have_the_least_variance_at_a_noise_ratio_of_seven_thirds() -> None:
    grid = range(1001)
    best = min(grid, key=lambda w: w**2 * 3 + (1000 - w) ** 2 * 7)
    assert best / 1000 == Router().ttft_weight == 0.7
    assert load_index(4.0, 0.0, Router()) == pytest.approx(0.7)
    assert load_index(1.0, 8.0, Router()) == pytest.approx(0.3)


def test_simulated_readings_agree() -> None:
    rng, count = Random(7), 20_000
    readings = [(0.5 + rng.gauss(0, 3**0.5) / 20, 0.5 + rng.gauss(0, 7**0.5) / 20) for _ in range(count)]

    def error(weight: float) -> float:
        """Mean squared error of the index by the law itself, readings given in its own units."""
        settings = Router(ttft_weight=weight)
        loads = (load_index(1 + 3 * ttft, 8 * rate, settings) for ttft, rate in readings)
        return sum((load - 0.5) ** 2 for load in loads) / count

    errors = {percent: error(percent / 100) for percent in range(40, 101, 5)}
    assert min(errors, key=lambda percent: errors[percent]) == 70
    assert errors[70] * 400 == pytest.approx(1 / (1 / 3 + 1 / 7), rel=0.03)
