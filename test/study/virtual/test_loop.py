"""The loop in virtual time: what takes how long."""
from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.study.virtual.loop import LoopClock, Stuck, VirtualLoop, run

HOUR = 3600.0


def spin(seconds: float) -> None:
    """Compute for so much CPU time."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def test_waiting_for_an_hour_takes_no_time() -> None:
    loop = VirtualLoop(measured=False)

    async def wait() -> float:
        begin = loop.time()
        await asyncio.sleep(HOUR)
        return loop.time() - begin

    begin = time.monotonic()
    assert run(loop, wait()) == pytest.approx(HOUR, abs=1e-6)
    assert time.monotonic() - begin < 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.0, 1000.0), min_size=1, max_size=20))
def test_timers_ring_in_order_at_their_instants(delays: list[float]) -> None:
    loop = VirtualLoop(measured=False)
    rung: list[tuple[float, float]] = []

    async def wait(delay: float) -> None:
        await asyncio.sleep(delay)
        rung.append((delay, loop.time()))

    async def all_of_them() -> None:
        await asyncio.gather(*map(wait, delays))

    run(loop, all_of_them())
    assert [delay for delay, _ in rung] == sorted(delays)
    assert all(instant == pytest.approx(delay, abs=1e-6) for delay, instant in rung)


def test_computing_is_charged_as_measured_but_not_what_is_free() -> None:
    loop = VirtualLoop(measured=True)

    async def work() -> tuple[float, float, float]:
        begin = loop.time()
        spin(0.02)
        computed = loop.time()
        with loop.free():
            spin(0.02)
            inside = loop.time()
            with loop.free():
                spin(0.01)
        return computed - begin, inside - computed, loop.time() - inside

    computed, free, after = run(loop, work())
    assert computed == pytest.approx(0.02, rel=0.2)
    assert free < 0.002
    assert after < 0.002


def test_at_fixed_cost_only_charges_count() -> None:
    loop = VirtualLoop(measured=False)

    async def work() -> float:
        begin = loop.time()
        spin(0.005)
        loop.charge(0.25)
        return loop.time() - begin

    assert run(loop, work()) == 0.25


def test_a_thread_s_work_is_done_at_once_with_its_errors() -> None:
    loop = VirtualLoop(measured=False)

    def refuse() -> None:
        raise ValueError('no')

    async def work() -> str:
        with pytest.raises(ValueError, match='no'):
            await asyncio.to_thread(refuse)
        return await asyncio.to_thread(str, 7)

    assert run(loop, work()) == '7'


def test_a_deadline_is_kept_and_a_deadlock_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('pace_ros.study.virtual.loop.STUCK', 0.01)

    async def late() -> None:
        await asyncio.wait_for(asyncio.Event().wait(), 30.0)

    with pytest.raises(asyncio.TimeoutError):
        run(VirtualLoop(measured=False), late())

    async def never() -> None:
        await asyncio.Event().wait()

    loop = VirtualLoop(measured=False)
    with pytest.raises(Stuck, match='no timer'):
        loop.run_until_complete(never())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.close()


def test_the_clock_is_the_loop_s() -> None:
    loop = VirtualLoop(measured=False)
    clock = LoopClock(loop, epoch=100.0)
    loop.charge(2.5)
    assert (clock.monotonic(), clock.wall()) == (2.5, 102.5)
    loop.close()


def test_at_fixed_cost_what_is_free_costs_nothing_either() -> None:
    loop = VirtualLoop(measured=False)
    spin(0.003)
    with loop.free():
        spin(0.003)
    assert loop.time() == 0.0
    loop.close()
