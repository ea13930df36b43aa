"""Recorded time during a replay."""
from __future__ import annotations

import math

from pace_ros.bags.bag_clock import BagClock


def test_it_runs_at_the_rate_and_jumps_forward_only() -> None:
    clock = BagClock(100.0, 4.0, start=10.0)
    assert clock.now(11.0) == 104.0
    clock.give(110.0, 11.0)
    assert clock.now(11.0) == 110.0
    assert clock.now(12.0) == 114.0
    clock.give(90.0, 12.0)
    assert clock.now(12.0) == 114.0


def test_as_fast_as_possible_it_still_runs() -> None:
    clock = BagClock(100.0, math.inf, start=0.0)
    assert clock.now(2.0) == 102.0
