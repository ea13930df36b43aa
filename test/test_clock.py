import pytest

from pace_ros.clock import Forward, SystemClock, VirtualClock


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


def test_ros_time_stands_still_for_a_correction_and_begins_anew_when_set_back() -> None:
    time = Forward()
    assert [time.goes_on(each) for each in (0.0, 100.0, 99.5, 99.6)] == [True] * 4
    assert time.now == 100.0
    assert time.goes_on(100.5)
    assert not time.goes_on(99.0)
    assert time.now == 99.0
