from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.clock import VirtualClock
from pace_ros.llm import Breaker, BreakerOpen, L2Error
from pace_ros.llm.breaker import Permit

COOLDOWN = 10.0


@pytest.fixture
def breaker(clock: VirtualClock) -> Breaker:
    return Breaker(failures=3, cooldown=COOLDOWN, clock=clock)


def fail(permit: Permit) -> None:
    with contextlib.suppress(L2Error), permit:
        raise L2Error('no')


def succeed(permit: Permit) -> None:
    with permit:
        permit.succeed()


def opened(breaker: Breaker) -> Breaker:
    while breaker.state == 'closed':
        fail(breaker.acquire())
    return breaker


def test_failures_in_a_row_open_it(breaker: Breaker) -> None:
    for _ in range(2):
        fail(breaker.acquire())
        assert breaker.state == 'closed'
    fail(breaker.acquire())
    assert breaker.state == 'open'
    with pytest.raises(BreakerOpen, match=r'another 10\.0 s'):
        breaker.acquire()


def test_a_success_between_starts_the_count_anew(breaker: Breaker) -> None:
    for _ in range(5):
        fail(breaker.acquire())
        fail(breaker.acquire())
        succeed(breaker.acquire())
    assert breaker.state == 'closed'


def test_an_open_breaker_is_a_refusal_like_any_other() -> None:
    assert issubclass(BreakerOpen, L2Error)


def test_it_is_half_open_once_the_cooldown_is_over(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN - 0.001)
    assert breaker.state == 'open'
    with pytest.raises(BreakerOpen):
        breaker.acquire()
    clock.advance(0.001)
    assert breaker.state == 'half-open'
    breaker.acquire()


@pytest.mark.parametrize('jump', [-1e6, 1e6])
def test_the_wall_clock_does_not_matter(breaker: Breaker, clock: VirtualClock, jump: float) -> None:
    opened(breaker)
    clock.jump_wall(jump)
    assert breaker.state == 'open'
    clock.advance(COOLDOWN)
    clock.jump_wall(-jump)
    assert breaker.state == 'half-open'


def test_one_probe_at_a_time(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN)
    probe = breaker.acquire()
    with pytest.raises(BreakerOpen, match='probe'):
        breaker.acquire()
    succeed(probe)
    breaker.acquire()
    breaker.acquire()


def test_one_probe_at_a_time_among_threads(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN)
    together = threading.Barrier(16)

    def attempt(_: int) -> int:
        together.wait(10)
        try:
            breaker.acquire()
        except BreakerOpen:
            return 0
        return 1

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(attempt, range(16))) == 1


def test_a_probe_that_succeeds_closes_it_with_a_clean_count(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN)
    succeed(breaker.acquire())
    assert breaker.state == 'closed'
    fail(breaker.acquire())
    fail(breaker.acquire())
    assert breaker.state == 'closed'


def test_a_probe_that_fails_opens_it_for_another_cooldown(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN + 5)
    fail(breaker.acquire())
    assert breaker.state == 'open'
    clock.advance(COOLDOWN - 0.001)
    assert breaker.state == 'open'
    clock.advance(0.001)
    succeed(breaker.acquire())
    assert breaker.state == 'closed'


@pytest.mark.parametrize('interruption', [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt])
def test_an_interrupted_probe_gives_its_permit_back(
    breaker: Breaker, clock: VirtualClock, interruption: type[BaseException]
) -> None:
    opened(breaker)
    clock.advance(COOLDOWN)
    with pytest.raises(interruption), breaker.acquire():
        raise interruption
    assert breaker.state == 'half-open'
    succeed(breaker.acquire())
    assert breaker.state == 'closed'


def test_a_probe_left_without_a_verdict_gives_its_permit_back(breaker: Breaker, clock: VirtualClock) -> None:
    opened(breaker)
    clock.advance(COOLDOWN)
    with breaker.acquire():
        pass
    assert breaker.state == 'half-open'
    breaker.acquire()


def test_an_interrupted_request_counts_as_nothing(breaker: Breaker) -> None:
    fail(breaker.acquire())
    fail(breaker.acquire())
    for _ in range(5):
        with contextlib.suppress(asyncio.CancelledError), breaker.acquire():
            raise asyncio.CancelledError
    assert breaker.state == 'closed'
    fail(breaker.acquire())
    assert breaker.state == 'open'


def test_a_permit_is_settled_once(breaker: Breaker) -> None:
    for _ in range(5):
        with contextlib.suppress(L2Error), breaker.acquire() as permit:
            permit.succeed()
            raise L2Error('after the fact')
    assert breaker.state == 'closed'


def test_a_late_success_of_an_older_request_does_not_close_it(breaker: Breaker, clock: VirtualClock) -> None:
    late = breaker.acquire()
    opened(breaker)
    succeed(late)
    assert breaker.state == 'open'
    clock.advance(COOLDOWN)
    assert breaker.state == 'half-open'


def test_a_probe_that_fails_decides_alone_whatever_came_late(breaker: Breaker, clock: VirtualClock) -> None:
    late = breaker.acquire()
    opened(breaker)
    succeed(late)
    clock.advance(COOLDOWN)
    fail(breaker.acquire())
    assert breaker.state == 'open'


def test_a_late_end_of_an_older_request_frees_no_second_probe(breaker: Breaker, clock: VirtualClock) -> None:
    late = breaker.acquire()
    opened(breaker)
    clock.advance(COOLDOWN)
    breaker.acquire()
    succeed(late)
    with pytest.raises(BreakerOpen):
        breaker.acquire()


def test_requests_under_way_together_are_all_counted(breaker: Breaker) -> None:
    for permit in [breaker.acquire() for _ in range(3)]:
        fail(permit)
    assert breaker.state == 'open'


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(['fail', 'succeed', 'cancel', 'wait']), max_size=40))
def test_one_after_the_other_it_follows_the_rules(steps: list[str]) -> None:
    clock = VirtualClock()
    breaker = Breaker(failures=2, cooldown=COOLDOWN, clock=clock)
    failures, ready = 0, None  # failures in a row; the instant from which a probe may go
    for step in steps:
        if step == 'wait':
            clock.advance(COOLDOWN / 2)
            continue
        if ready is not None and clock.monotonic() < ready:
            assert breaker.state == 'open'
            with pytest.raises(BreakerOpen):
                breaker.acquire()
            continue
        assert breaker.state == ('closed' if ready is None else 'half-open')
        permit = breaker.acquire()
        if step == 'succeed':
            succeed(permit)
            failures, ready = 0, None
        elif step == 'fail':
            fail(permit)
            failures += 1
            if ready is not None or failures >= 2:
                ready = clock.monotonic() + COOLDOWN
        else:
            with contextlib.suppress(asyncio.CancelledError), permit:
                raise asyncio.CancelledError


def test_a_permit_given_back_counts_as_nothing() -> None:
    breaker = Breaker(failures=1, cooldown=1.0, clock=VirtualClock())
    with contextlib.suppress(L2Error), breaker.acquire() as permit:
        permit.give_back()
        raise L2Error('this does not count any more')
    assert breaker.state == 'closed'
