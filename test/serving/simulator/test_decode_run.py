"""Steps in one go are those of step by step."""
from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pace_ros.serving.simulator.decode_run import DecodeRun

times = st.floats(0.0, 10.0).map(lambda each: round(each, 3))
runs = st.builds(DecodeRun, times, times | st.floats(1e-9, 1e-6), st.integers(1, 300))


def one_by_one(run: DecodeRun) -> list[float]:
    return [run.first + run.growth * number for number in range(run.steps)]


def test_by_hand() -> None:
    run = DecodeRun(1.0, 0.5, 4)  # 1, 1.5, 2, 2.5 s: ends at 1, 2.5, 4.5, 7
    assert [run.length(each) for each in range(5)] == [0.0, 1.0, 2.5, 4.5, 7.0]
    assert [run.begun(each) for each in (0.0, 0.1, 1.0, 1.1, 2.5, 4.6, 9.0)] == [0, 1, 1, 2, 2, 4, 4]
    assert [run.longer(1.5, since) for since in (1, 2, 3, 4, 5)] == [2, 2, 2, 1, 0]


@given(runs)
def test_lengths_add_up(run: DecodeRun) -> None:
    for steps, length in enumerate(itertools.accumulate(one_by_one(run)), start=1):
        assert abs(run.length(steps) - length) <= 1e-9 * max(1.0, length)


@given(runs, st.floats(0.0, 1.2))
def test_the_step_under_way_goes_on(run: DecodeRun, share: float) -> None:
    elapsed = share * run.length(run.steps)
    steps = run.begun(elapsed)
    slack = 1e-9 * max(1.0, elapsed)
    if elapsed <= 0.0:
        assert steps == 0
        return
    assert 1 <= steps <= run.steps
    assert steps == run.steps or run.length(steps) >= elapsed - slack
    assert steps == 1 or run.length(steps - 1) <= elapsed + slack


@given(runs, st.floats(0.0, 30.0), st.integers(1, 301))
def test_long_steps_are_counted(run: DecodeRun, limit: float, since: int) -> None:
    assert run.longer(limit, since) == sum(run.step(each) > limit for each in range(since, run.steps + 1))
