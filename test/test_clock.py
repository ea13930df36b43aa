import pytest

from pace_ros.clock import SystemClock, VirtualClock


def test_virtual_time_moves_only_when_told() -> None:
    clock = VirtualClock(monotonic=5.0, wall=100.0)
    assert (clock.monotonic(), clock.wall()) == (5.0, 100.0)
    clock.advance(2.5)
    assert (clock.monotonic(), clock.wall()) == (7.5, 102.5)


def test_a_wall_jump_leaves_durations_alone() -> None:
    clock = VirtualClock(monotonic=1.0, wall=100.0)
    clock.jump_wall(-3600.0)
    assert (clock.monotonic(), clock.wall()) == (1.0, -3500.0)


def test_virtual_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match='backwards'):
        VirtualClock().advance(-0.1)


def test_the_system_clock_is_steady() -> None:
    clock = SystemClock()
    readings = [clock.monotonic() for _ in range(1000)]
    assert readings == sorted(readings)
