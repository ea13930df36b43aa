from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Router
from pace_ros.control.thresholds import Thresholds, operating_point, under_load

LOADS = st.floats(0.0, 1.0)


def intervals() -> st.SearchStrategy[Router]:
    """Any intervals the configuration lets through."""
    interval = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted)
    return st.builds(
        lambda cache, direct: Router(
            cache_low=cache[0], cache_high=cache[1], direct_low=direct[0], direct_high=direct[1]
        ),
        interval,
        interval,
    )


def falls(values: list[float]) -> bool:
    return all(after <= before for before, after in itertools.pairwise(values))


# -- the law ----------------------------------------------------------------------------------------------------------


def test_the_boundary_solutions_are_met_exactly() -> None:
    assert under_load(0.0, Router()) == Thresholds(0.98, 0.85)
    assert under_load(1.0, Router()) == Thresholds(0.90, 0.70)


def test_between_them_by_hand() -> None:
    half = under_load(0.5, Router())
    assert (half.cache, half.direct) == pytest.approx((0.94, 0.775))


def test_the_operating_point_is_the_papers_and_knows_no_load() -> None:
    assert operating_point(Router()) == Thresholds(0.95, 0.75)
    moved = Router(cache_low=0.5, cache_high=0.6, direct_low=0.1, direct_high=0.2)
    assert operating_point(moved) == Thresholds(0.95, 0.75)


@given(settings=intervals(), load=LOADS)
def test_no_load_leads_out_of_the_intervals(settings: Router, load: float) -> None:
    thresholds = under_load(load, settings)
    assert settings.cache_low <= thresholds.cache <= settings.cache_high
    assert settings.direct_low <= thresholds.direct <= settings.direct_high


@given(settings=intervals(), loads=st.lists(LOADS, min_size=2, max_size=20))
def test_they_fall_with_load(settings: Router, loads: list[float]) -> None:
    thresholds = [under_load(load, settings) for load in sorted(loads)]
    assert falls([each.cache for each in thresholds])
    assert falls([each.direct for each in thresholds])


@given(settings=intervals(), load=LOADS)
def test_the_law_is_the_secant_through_both_boundary_solutions(settings: Router, load: float) -> None:
    idle, now, full = (under_load(each, settings) for each in (0.0, load, 1.0))
    assert now.cache == pytest.approx((1 - load) * idle.cache + load * full.cache, abs=1e-12)
    assert now.direct == pytest.approx((1 - load) * idle.direct + load * full.direct, abs=1e-12)


# -- the monotone optimum: what minimises (1 + kappa lambda) T(theta) under a price of quality falls with lambda ------

SCALE = 20  # steps of lambda from 0 to 1


def optima(latency: list[int], penalty: list[int], kappa: int, *, last: bool = False) -> list[int]:
    """The best place for each lambda, in whole numbers throughout: rounding has no say. Ties: first, or last."""
    best = []
    for step in range(SCALE + 1):
        costs = (SCALE + kappa * step) * np.array(latency) + SCALE * np.array(penalty)
        best.append(int(len(costs) - 1 - np.argmin(costs[::-1])) if last else int(np.argmin(costs)))
    return best


@given(
    steps=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=60),
    kappa=st.integers(0, 50),
    last=st.booleans(),
)
def test_the_optimum_falls_with_load_for_any_latency_that_rises_and_any_penalty_that_falls(
    steps: list[tuple[int, int]], kappa: int, *, last: bool
) -> None:
    latency = list(itertools.accumulate((rise for rise, _ in steps), initial=0))
    penalty = list(itertools.accumulate((-fall for _, fall in steps), initial=60_000))
    assert falls(optima(latency, penalty, kappa, last=last))


@pytest.mark.parametrize('kappa', [1, 2, 5, 20])
@pytest.mark.parametrize(('low', 'high'), [(0.90, 0.98), (0.70, 0.85)])
def test_on_a_latency_of_two_paths_the_optimum_moves_and_so_does_the_law(low: float, high: float, kappa: int) -> None:
    grid = np.linspace(low, high, 401)
    place = (grid - low) / (high - low)
    miss = 1 / (1 + np.exp(-(place - 0.5) / 0.3))  # P(miss | theta) rises: fewer questions are near enough
    latency = 0.05 + (2.0 - 0.05) * miss           # s: instant, or L2's first token
    penalty = 6.0 * np.exp(-place / 0.4)           # what wrong hits cost
    best = [float(grid[np.argmin((1 + kappa * load) * latency + penalty)]) for load in np.linspace(0, 1, 101)]
    assert falls(best)
    assert best[-1] < best[0]  # this load is felt
    settings = Router(cache_low=low, cache_high=high)
    law = [under_load(load, settings).cache for load in np.linspace(0, 1, 101)]
    assert falls(law)
    assert law[-1] < law[0]


@pytest.mark.parametrize('kappa', [0, 1, 5, 20])
@pytest.mark.parametrize('relief', [0.0, 0.1, 0.4])
def test_under_a_quality_floor_the_optimum_is_the_lowest_threshold_that_keeps_it_and_never_rises(
    kappa: int, relief: float
) -> None:
    """A floor that load may lower by ``relief`` is kept at equality, since every higher threshold only costs time."""
    grid = np.linspace(0.90, 0.98, 401)
    latency = 0.05 + 1.95 * (grid - 0.90) / 0.08
    quality = 1 - 0.5 * np.exp(-(grid - 0.90) / 0.02)
    best = []
    for load in np.linspace(0, 1, 51):
        allowed = quality >= 0.95 - relief * load
        costs = np.where(allowed, (1 + kappa * load) * latency, np.inf)
        best.append(float(grid[np.argmin(costs)]))
        assert best[-1] == grid[allowed][0]
    assert falls(best)
    assert (best[-1] < best[0]) is (relief > 0)
