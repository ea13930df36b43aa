from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Router
from pace_ros.control.ewma import TtftEwma
from pace_ros.control.load import load_index
from pace_ros.control.thresholds import under_load

ALPHA = Router().ttft_alpha
TIMES = st.floats(0.0, 100.0)


def follow(samples: list[float], *, initial: float = 1.5, alpha: float = ALPHA) -> list[float]:
    """The average after each sample."""
    ewma = TtftEwma(initial)
    values = []
    for number, sample in enumerate(samples):
        assert ewma.observe(sample, alpha=alpha, now=float(number))
        values.append(ewma.value)
    return values


def monotone(values: list[float]) -> bool:
    steps = [after - before for before, after in itertools.pairwise(values)]
    return all(step >= -1e-12 for step in steps) or all(step <= 1e-12 for step in steps)


def test_the_designs_constants_are_the_defaults() -> None:
    assert (Router().ttft_alpha, Router().ttft_initial) == (0.3, 1.5)


def test_the_first_samples_by_hand() -> None:
    assert follow([2.5, 2.5, 0.0]) == pytest.approx([1.8, 2.01, 1.407])


# -- how an error dies out --------------------------------------------------------------------------------------------


@given(initial=TIMES, constant=TIMES)
def test_the_initial_error_decays_as_seven_tenths_to_the_n(initial: float, constant: float) -> None:
    for n, value in enumerate(follow([constant] * 60, initial=initial), start=1):
        assert value - constant == pytest.approx(0.7**n * (initial - constant), rel=1e-9, abs=1e-12)


@given(initial=TIMES, constant=TIMES, alpha=st.floats(0.001, 1.0))
def test_another_weight_has_its_own_decay(initial: float, constant: float, alpha: float) -> None:
    for n, value in enumerate(follow([constant] * 30, initial=initial, alpha=alpha), start=1):
        assert value - constant == pytest.approx((1 - alpha) ** n * (initial - constant), rel=1e-9, abs=1e-11)


@given(before=TIMES, after=TIMES)
def test_a_step_is_tracked_in_five_observations(before: float, after: float) -> None:
    values = follow([after] * 5, initial=before)
    assert abs(values[4] - after) <= 0.1681 * abs(after - before) + 1e-12
    assert abs(values[3] - after) >= 0.24 * abs(after - before) - 1e-12  # and not in four


# -- how far behind a drift it is -------------------------------------------------------------------------------------


@pytest.mark.parametrize('drift', [0.001, 0.05, 1.0, -0.001, -0.02])
def test_under_a_linear_drift_the_lag_grows_to_seven_thirds_of_a_step_and_no_further(drift: float) -> None:
    inputs = [50.0 + drift * number for number in range(1, 81)]
    lags = [(sample - value) / drift for sample, value in zip(inputs, follow(inputs, initial=50.0), strict=True)]
    for n, lag in enumerate(lags, start=1):
        assert lag == pytest.approx(7 / 3 * (1 - 0.7**n), abs=1e-8)
        assert lag <= 7 / 3 + 1e-8 <= 2.34
    assert lags[-1] == pytest.approx(7 / 3, abs=1e-6)


@given(drift=st.floats(0.0, 1.0), moves=st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=100))
def test_no_drift_of_at_most_so_much_a_sample_is_lagged_by_more(drift: float, moves: list[float]) -> None:
    inputs = list(itertools.accumulate((drift * move for move in moves), initial=200.0))[1:]
    for sample, value in zip(inputs, follow(inputs, initial=200.0), strict=True):
        assert abs(sample - value) <= drift * 7 / 3 + 1e-9


# -- no oscillation of its own ----------------------------------------------------------------------------------------


@given(initial=TIMES, constant=TIMES, rate=st.floats(0.0, 20.0))
def test_constant_inputs_are_approached_from_one_side_all_the_way_to_the_thresholds(
    initial: float, constant: float, rate: float
) -> None:
    settings = Router()
    values = [initial, *follow([constant] * 40, initial=initial)]
    loads = [load_index(value, rate, settings) for value in values]
    thresholds = [under_load(load, settings) for load in loads]
    assert monotone(values)
    assert monotone(loads)
    assert monotone([each.cache for each in thresholds])
    assert monotone([each.direct for each in thresholds])


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(
    initial=st.floats(0.0, 10.0),
    base=st.floats(0.1, 4.0),
    span=st.floats(0.0, 60.0),
    cache=st.tuples(st.floats(0.88, 1.0), st.floats(0.002, 0.1)),
    direct=st.tuples(st.floats(0.65, 0.9), st.floats(0.004, 0.2)),
    share=st.floats(0.0, 1.0),
    rate=st.floats(0.0, 10.0),
)
def test_with_the_loop_closed_over_the_share_of_l2_it_settles_without_overshoot(
    initial: float,
    base: float,
    span: float,
    cache: tuple[float, float],
    direct: tuple[float, float],
    share: float,
    rate: float,
) -> None:
    """Stricter thresholds send more turns to L2, and more turns make it slower.

    x <- 0.7 x + 0.3 g(x) is monotone in x while |dg/dx| <= 7/3; lambda moves by 0.7/3 a second, so this holds while the
    first token moves by at most 10 s over the whole range of lambda. (Both intervals of thresholds are 0.08 and 0.15.)
    """
    settings = Router()
    steepest = share * 0.08 / (4 * cache[1]) + (1 - share) * 0.15 / (4 * direct[1])  # of L2's share, over lambda
    span = min(span, 10.0 / steepest)
    ewma = TtftEwma(initial)
    values = [initial]
    for number in range(300):
        thresholds = under_load(load_index(ewma.value, rate, settings), settings)
        l2 = share * logistic((thresholds.cache - cache[0]) / cache[1])
        l2 += (1 - share) * logistic((thresholds.direct - direct[0]) / direct[1])
        ewma.observe(base + span * l2, alpha=ALPHA, now=float(number))
        values.append(ewma.value)
    assert monotone(values)
    assert abs(values[-1] - values[-2]) < 1e-6


@given(initial=TIMES, samples=st.lists(TIMES, min_size=1, max_size=50))
def test_it_never_leaves_what_it_has_seen(initial: float, samples: list[float]) -> None:
    for value in follow(samples, initial=initial):
        assert min(initial, *samples) - 1e-9 <= value <= max(initial, *samples) + 1e-9


# -- what is a sample -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('nonsense', [math.nan, math.inf, -math.inf, -1e-9, -3.0])
def test_what_is_no_time_is_refused_and_changes_nothing(nonsense: float) -> None:
    ewma = TtftEwma(1.5)
    ewma.observe(2.0, alpha=ALPHA, now=7.0)
    before = (ewma.value, ewma.samples, ewma.last_sample)
    assert not ewma.observe(nonsense, alpha=ALPHA, now=9.0)
    assert (ewma.value, ewma.samples, ewma.last_sample) == before


def test_an_instant_first_token_is_a_sample() -> None:
    ewma = TtftEwma(1.0)
    assert ewma.observe(0.0, alpha=ALPHA, now=0.0)
    assert ewma.value == pytest.approx(0.7)


def test_its_age_counts_from_the_last_sample() -> None:
    ewma = TtftEwma(1.5)
    assert not math.isfinite(ewma.age(100.0))
    ewma.observe(2.0, alpha=ALPHA, now=100.0)
    assert ewma.age(103.5) == 3.5
    ewma.restore(2.5, last_sample=90.0)
    assert (ewma.value, ewma.age(103.5)) == (2.5, 13.5)
