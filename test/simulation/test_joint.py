from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.simulation.joint import Joint, Layer, Limits

LIMITS = Limits(lower=-1.0, upper=1.0, velocity=2.0, acceleration=20.0, delay=0.03)
commands = st.lists(
    st.tuples(st.floats(0.0, 2.0), st.sampled_from(Layer), st.floats(-3.0, 3.0)), min_size=1, max_size=12,
)


def test_a_command_takes_effect_after_exactly_the_delay() -> None:
    joint = Joint('head_yaw', LIMITS, 10.0)
    joint.command(10.5, Layer.POSTURE, 0.4, 7)
    assert joint.advance(10.529) == []
    assert joint.at(10.529) == (0.0, 0.0)
    [change] = joint.advance(10.6)
    assert (change.at, change.command) == (pytest.approx(10.53), 7)
    assert joint.at(10.54) == pytest.approx((20.0 * 0.01**2 / 2, 0.2))
    assert joint.at(11.0) == (0.4, 0.0)


def test_layers_add_up_within_the_range() -> None:
    joint = Joint('head_pitch', LIMITS, 0.0, posture=0.5)
    joint.command(0.0, Layer.GESTURE, 0.2, 1)
    joint.command(1.0, Layer.POSTURE, 0.9, 2)
    joint.command(2.0, Layer.GESTURE, 0.0, 3)
    seen = []
    for now in (0.9, 1.9, 2.9):
        joint.advance(now)
        seen.append(joint.at(now)[0])
    assert seen == pytest.approx([0.7, 1.0, 0.9])


def test_dropped_setpoints_never_take_effect() -> None:
    joint = Joint('head_yaw', LIMITS, 0.0)
    joint.command(0.0, Layer.POSTURE, 0.4, 1)
    joint.command(0.0, Layer.GESTURE, 0.4, 2, after=0.5)
    assert joint.gesturing()
    assert joint.drop(Layer.GESTURE) == {2}
    assert not joint.gesturing()
    joint.advance(3.0)
    assert joint.at(3.0) == (0.4, 0.0)


@settings(deadline=None)  # the machine may be busy
@given(commands)
def test_limits_are_never_exceeded_whatever_is_commanded(given_commands: list[tuple[float, Layer, float]]) -> None:
    joint = Joint('elbow', LIMITS, 0.0)
    waiting = sorted(given_commands, key=lambda each: each[0])
    last, step = joint.at(0.0), 0.01
    for tick in range(400):
        now = tick * step
        while waiting and waiting[0][0] <= now:
            at, layer, value = waiting.pop(0)
            joint.command(at, layer, value, 0)
        joint.advance(now)
        here = joint.at(now)
        assert abs(here[1]) <= LIMITS.velocity + 1e-6
        assert abs(here[1] - last[1]) <= LIMITS.acceleration * step + 1e-6
        last = here
    assert LIMITS.lower <= last[0] <= LIMITS.upper
    assert last[1] == 0.0
