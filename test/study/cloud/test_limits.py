from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.cloud.limits import Outages, TokenBucket
from pace_ros.study.cloud.settings import Outage


def test_a_burst_passes_and_then_the_rate() -> None:
    bucket = TokenBucket(2.0, 3)
    assert [bucket.wait(10.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert bucket.wait(10.4) > 0.0
    assert bucket.wait(10.5) == 0.0
    assert bucket.wait(10.6) == pytest.approx(0.4)


@given(st.lists(st.floats(0.0, 3.0), max_size=60), st.floats(0.2, 5.0), st.integers(1, 5))
def test_never_more_pass_than_burst_and_rate_allow(gaps: list[float], rate: float, burst: int) -> None:
    bucket, now, passed = TokenBucket(rate, burst), 0.0, 0
    for gap in gaps:
        now += gap
        passed += bucket.wait(now) == 0.0
    assert passed <= burst + rate * now + 1e-6


def test_no_limit_lets_all_pass() -> None:
    bucket = TokenBucket(0.0, 1)
    assert {bucket.wait(0.0) for _ in range(100)} == {0.0}


def test_outages_hold_from_their_begin_to_before_their_end() -> None:
    outages = Outages((Outage(1.0, 2.0), Outage(5.0, 6.0)))
    assert [outages.hold(now) for now in (0.9, 1.0, 1.9, 2.0, 5.5)] == [False, True, True, False, True]
    assert [outages.next(now) for now in (0.0, 1.0, 5.0)] == [1.0, 5.0, math.inf]
