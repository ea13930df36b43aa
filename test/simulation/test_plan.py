from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.simulation.plan import Plan, first_departure, reaching, resting, stopping_point

TOP, ACCELERATION = 2.0, 10.0
angles = st.floats(-3.0, 3.0)
speeds = st.floats(-TOP, TOP)
instants = st.floats(0.0, 1e4)


def sampled(plan: Plan, begin: float, count: int = 400) -> list[tuple[float, tuple[float, float]]]:
    step = max(plan.end - begin, 1e-6) * 1.1 / count
    return [(begin + index * step, plan.at(begin + index * step)) for index in range(count + 1)]


def test_a_long_way_is_a_trapezoid() -> None:
    # 0.2 s up to 2 rad/s (0.2 rad), 0.3 s at 2 rad/s (0.6 rad), 0.2 s down (0.2 rad).
    plan = reaching(5.0, (0.0, 0.0), 1.0, TOP, ACCELERATION)
    assert [each.start for each in plan.segments] == pytest.approx([5.0, 5.2, 5.5, 5.7])
    assert plan.at(5.1) == pytest.approx((0.05, 1.0))
    assert plan.at(5.35) == pytest.approx((0.5, 2.0))
    assert plan.at(9.0) == (1.0, 0.0)
    assert plan.at(4.0) == (0.0, 0.0)


def test_a_short_way_never_reaches_the_highest_speed() -> None:
    plan = reaching(0.0, (0.0, 0.0), -0.1, TOP, ACCELERATION)  # peak sqrt(10 * 0.1) = 1 rad/s after 0.1 s
    assert plan.at(0.1) == pytest.approx((-0.05, -1.0))
    assert plan.end == pytest.approx(0.2)


def test_a_reversal_brakes_first() -> None:
    plan = reaching(0.0, (0.0, 1.0), -1.0, TOP, ACCELERATION)
    assert plan.at(0.1) == pytest.approx((0.05, 0.0))  # 1 rad/s braked by 10 rad/s^2 in 0.1 s and 0.05 rad
    assert plan.at(0.3) == pytest.approx((-0.15, -2.0))


@settings(deadline=None)  # the machine may be busy
@given(instants, angles, speeds, angles)
def test_limits_hold_and_the_target_is_reached(time: float, position: float, velocity: float, target: float) -> None:
    plan = reaching(time, (position, velocity), target, TOP, ACCELERATION)
    points = sampled(plan, time)
    assert plan.at(time)[0] == pytest.approx(position, abs=1e-6)
    assert plan.at(time)[1] == pytest.approx(velocity, abs=1e-6)
    assert plan.at(plan.end + 1.0) == (target, 0.0)
    for (before, (here, speed)), (after, (there, next_speed)) in itertools.pairwise(points):
        assert abs(next_speed) <= TOP + 1e-6
        assert abs(next_speed - speed) <= ACCELERATION * (after - before) + 1e-5
        assert abs(there - here) <= TOP * (after - before) + 1e-6


@settings(deadline=None)  # the machine may be busy
@given(angles, speeds, angles)
def test_it_goes_straight_on_once_it_has_braked(position: float, velocity: float, target: float) -> None:
    plan = reaching(0.0, (position, velocity), target, TOP, ACCELERATION)
    braked = stopping_point(position, velocity, ACCELERATION)
    ways = [each for _, each in sampled(plan, abs(velocity) / ACCELERATION)]
    for _, speed in ways:
        assert speed * (target - braked) >= -1e-5


@pytest.mark.parametrize('way', [0.3, -0.3])
def test_departure_from_rest_is_speed_over_acceleration_later(way: float) -> None:
    plan = reaching(7.0, (0.0, 0.0), way, TOP, ACCELERATION)
    assert first_departure(plan, resting(7.0, 0.0), 7.0, 0.05) == pytest.approx(7.005)


def test_departure_of_two_motions_is_where_their_velocities_part() -> None:
    near = reaching(0.0, (0.0, 0.0), 0.1, TOP, ACCELERATION)  # brakes from 0.1 s on
    far = reaching(0.0, (0.0, 0.0), 1.0, TOP, ACCELERATION)
    assert first_departure(far, near, 0.0, 0.2) == pytest.approx(0.11)  # 20 rad/s^2 apart from then on
    assert first_departure(far, far, 0.0, 0.2) == math.inf
