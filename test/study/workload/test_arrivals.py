"""Open-loop arrivals: their laws, and the ramp."""
from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.workload import MEASURED, PHASES, WARM_UP, poisson, ramp, rate, steady

seeds = st.integers(0, 2**32)


def test_rate_is_concurrency_over_completion_time() -> None:
    assert rate(16, 2.5) == 6.4
    for bad in ((0, 1.0), (1, 0.0), (4, float('nan'))):
        with pytest.raises(ValueError, match='must be positive'):
            rate(*bad)


@given(seed=seeds, count=st.integers(0, 400), each=st.floats(0.01, 50))
def test_times_ascend_and_more_of_them_only_add_at_the_end(seed: int, count: int, each: float) -> None:
    times = poisson([each] * count, seed=seed)
    assert len(times) == count
    assert np.all(np.diff(times, prepend=0.0) > 0)
    assert np.array_equal(poisson([each] * (count + 7), seed=seed)[:count], times)


@given(seed=seeds, each=st.floats(0.01, 50))
def test_twice_the_rate_is_half_the_time(seed: int, each: float) -> None:
    assert np.allclose(poisson([2 * each] * 50, seed=seed), poisson([each] * 50, seed=seed) / 2)


def test_another_seed_gives_other_times() -> None:
    assert not np.allclose(poisson([1.0] * 5, seed=1), poisson([1.0] * 5, seed=2))


def test_gaps_are_exponential() -> None:
    gaps = np.diff(poisson(np.full(40_000, 4.0), seed=3))
    assert gaps.mean() == pytest.approx(0.25, rel=0.02)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
    assert np.mean(gaps > 0.25) == pytest.approx(np.exp(-1), abs=0.01)


def test_a_steady_schedule_warms_up_and_then_measures() -> None:
    schedule = steady(16, 2.0, seed=0, warm_up=3, measured=5)
    assert [each.phase for each in schedule] == [WARM_UP] * 3 + [MEASURED] * 5
    assert {each.concurrency for each in schedule} == {16}
    assert [each.at for each in schedule] == poisson([8.0] * 8, seed=0).tolist()


def test_a_ramp_goes_up_and_down_with_the_rate_of_each_phase() -> None:
    schedule = ramp(2.0, seed=0)
    assert [(each.phase, each.concurrency) for each in schedule] == [
        *[(WARM_UP, 1)] * 200, *[('1 up', 1)] * 150, *[('8 up', 8)] * 150, *[('32', 32)] * 150,
        *[('8 down', 8)] * 150, *[('1 down', 1)] * 150,
    ]
    gaps = np.diff([each.at for each in schedule], prepend=0.0)
    assert (gaps > 0).all()
    assert gaps[500:650].mean() == pytest.approx(2 / 32, rel=0.3)
    assert gaps[800:].mean() == pytest.approx(2.0, rel=0.3)
    # The same draws at one rate: a phase only changes the time scale.
    scale = [1.0] * 350 + [8.0] * 150 + [32.0] * 150 + [8.0] * 150 + [1.0] * 150
    assert np.allclose(gaps * scale, np.diff(poisson([0.5] * 950, seed=0), prepend=0.0))


def test_a_ramp_of_ones_own() -> None:
    schedule = ramp(1.0, seed=0, warm_up=1, each=2, phases={'low': 2, 'high': 4})
    assert Counter(each.phase for each in schedule) == {WARM_UP: 1, 'low': 2, 'high': 2}
    assert schedule[0].concurrency == 2
    assert list(PHASES.values()) == [1, 8, 32, 8, 1]
