from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Filler
from pace_ros.filler import FillerPlan, budget, plan


@pytest.mark.parametrize('p_instant', [0.0, 0.7, 1.0])
def test_fixed_launches_always_and_off_never(p_instant: float) -> None:
    assert plan('fixed', Filler(), p_instant=p_instant) == FillerPlan(True, 'fixed')
    assert plan('off', Filler(), p_instant=p_instant) == FillerPlan(False, 'off')


@pytest.mark.parametrize(
    ('p_instant', 'launch'), [(0.0, True), (0.699, True), (0.7, True), (0.701, False), (1.0, False)]
)
def test_adaptive_launches_up_to_seven_tenths_and_says_why(p_instant: float, launch: bool) -> None:
    decided = plan('adaptive', Filler(), p_instant=p_instant)
    assert decided.launch is launch
    assert decided.reason == f'adaptive: P(inst) {p_instant:.3f} {"<=" if launch else ">"} 0.7'


def expected_gain(*, launch: bool, p_instant: float, waste: float, use: float) -> float:
    """By enumeration of both futures: a filler on an instant path costs ``waste``, one before L2 is worth ``use``."""
    futures = {True: p_instant, False: 1.0 - p_instant}
    return sum(share * ((-waste if instant else use) if launch else 0.0) for instant, share in futures.items())


def test_the_rule_is_bayes_optimal_where_waste_is_three_tenths_of_all_that_is_at_stake() -> None:
    for percent, scale in itertools.product(range(101), (0.1, 1.0, 7.0)):
        p_instant, waste, use = percent / 100, 0.3 * scale, 0.7 * scale
        gains = {choice: expected_gain(launch=choice, p_instant=p_instant, waste=waste, use=use)
                 for choice in (True, False)}
        chosen = plan('adaptive', Filler(), p_instant=p_instant).launch
        assert gains[chosen] >= max(gains.values()) - 1e-9


@given(p_instant=st.floats(0, 1), ratio=st.floats(0.01, 0.99))
def test_any_other_price_of_waste_belongs_to_another_threshold(p_instant: float, ratio: float) -> None:
    settings = Filler(launch_below=1.0 - ratio)  # c / (c + u) = ratio
    gain = expected_gain(launch=True, p_instant=p_instant, waste=ratio, use=1.0 - ratio)
    if abs(gain) > 1e-9:
        assert plan('adaptive', settings, p_instant=p_instant).launch is (gain > 0)


@pytest.mark.parametrize(('ttft', 'elapsed', 'expected'), [
    (1.5, 0.0, 1.2),        # 0.8 * 1.5
    (1.0, 0.1, 0.7),        # 0.8 - 0.1
    (4.0, 0.0, 1.2),        # 3.2, clipped
    (0.2, 0.0, 0.2),        # 0.16, clipped
    (1.0, 5.0, 0.2),        # nothing left of it
])
def test_the_adaptive_budget_by_hand(ttft: float, elapsed: float, expected: float) -> None:
    assert budget('adaptive', Filler(), ttft=ttft, elapsed=elapsed) == pytest.approx(expected)


def test_the_fixed_budget_is_the_papers_whatever_the_load() -> None:
    assert budget('fixed', Filler(), ttft=4.0, elapsed=0.5) == 0.9
    assert budget('fixed', Filler(budget=0.0), ttft=0.1, elapsed=0.5) == 0.0


@given(ttft=st.floats(0, 100), elapsed=st.floats(0, 100))
def test_the_adaptive_budget_never_leaves_its_interval_and_shrinks_with_what_has_passed(
    ttft: float, elapsed: float
) -> None:
    now = budget('adaptive', Filler(), ttft=ttft, elapsed=elapsed)
    assert 0.2 <= now <= 1.2
    assert budget('adaptive', Filler(), ttft=ttft, elapsed=elapsed + 0.1) <= now
    assert budget('adaptive', Filler(), ttft=ttft + 0.1, elapsed=elapsed) >= now
