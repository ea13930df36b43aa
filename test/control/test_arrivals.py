from __future__ import annotations

from bisect import bisect_right
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.control.arrivals import ArrivalWindow

DAY = 86_400.0


@given(
    span=st.integers(1, 60),
    gaps=st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=100),
)
def test_the_count_is_that_of_the_half_open_window(span: int, gaps: list[tuple[int, bool]]) -> None:
    window, now, seen = ArrivalWindow(float(span)), 0, []
    for gap, arrives in gaps:
        now += gap
        if arrives:
            window.observe(float(now))
            seen.append(now)
        assert window.rate(float(now)) * span == pytest.approx(sum(now - span < each <= now for each in seen))


def test_the_far_edge_is_out_and_the_near_edge_is_in() -> None:
    window = ArrivalWindow(60.0)
    window.observe(0.0)
    assert window.rate(0.0) == 1 / 60
    assert window.rate(59.999) == 1 / 60
    assert window.rate(60.0) == 0.0


def test_nobody_is_no_rate() -> None:
    assert ArrivalWindow(60.0).rate(1e9) == 0.0


@pytest.mark.parametrize('start', [0.0, 12_345.678, 1e7])
def test_days_of_arrivals_leave_no_drift_and_no_more_memory_than_the_window_holds(start: float) -> None:
    rng, window, now, instants = Random(1), ArrivalWindow(60.0), start, []
    longest = 0
    while now < start + 3 * DAY:
        now += rng.expovariate(120_000 / (3 * DAY))
        window.observe(now)
        instants.append(now)
        expected = len(instants) - bisect_right(instants, now - 60.0)
        assert len(window._instants) == expected
        longest = max(longest, expected)
    assert len(instants) > 100_000
    assert longest < 80
    assert window.rate(now) == expected / 60.0
    assert window.rate(now + 60.0) == 0.0
    assert len(window._instants) == 0
