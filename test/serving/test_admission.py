"""What is let in, by the clock."""
from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.clock import VirtualClock
from pace_ros.serving.admission import LATER, SOON, Admission, readers
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.placement import ReplicaView, Turn

SETTINGS = AdmissionSettings(utilisation=0.5, window=10.0)


def view(name: str, role: str = 'both', **facts: Any) -> ReplicaView:
    defaults = {'free': 40_000, 'free_slots': 4, 'context': 10_000, 'capacity': 40_000, 'rate': 100.0}
    return ReplicaView(name=name, prefills=role != 'decode', decodes=role != 'prefill', **{**defaults, **facts})


FLEET = [view('p', 'prefill', rate=200.0), view('d', 'decode', rate=70.0)]  # 0.5 * 200 tokens/s for first turns


def turn(prompt: int) -> Turn:
    return Turn('ann', 1, prompt, 10)


def come(admission: Admission, prompt: int, fleet: list[ReplicaView] | None = None) -> bool:
    """A first turn; whether it was let in."""
    verdict = admission.verdict(turn(prompt), prompt, FLEET if fleet is None else fleet, known=False)
    if verdict.admitted:
        admission.admit(prompt)
    return verdict.admitted


def test_prompts_come_in_until_the_window_is_full_and_again_as_they_are_read(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    assert [come(admission, 400) for _ in range(4)] == [True, True, True, False]  # 1,000 tokens are read in 10 s
    verdict = admission.verdict(turn(400), 400, FLEET, known=False)
    assert verdict.reason == '120 prompt tokens/s arrive, 100 can be read'
    assert verdict.retry_after == pytest.approx(2.0)  # 200 too many, at 100 a second
    clock.advance(1.9)
    assert not come(admission, 400)
    clock.advance(0.2)
    assert come(admission, 400)


def test_retry_after_grows_with_what_is_over(clock: VirtualClock) -> None:
    admission, waits = Admission(SETTINGS, clock), []
    for prompt in (1000, 1500, 4000, 9000):
        admission = Admission(SETTINGS, clock)
        assert come(admission, prompt)
        waits.append(admission.verdict(turn(1), 1, FLEET, known=False).retry_after)
    assert waits == pytest.approx([SOON, 5.0, 30.0, 80.0])


def test_who_comes_back_when_told_to_is_let_in(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    assert come(admission, 7000)
    clock.advance(admission.verdict(turn(500), 500, FLEET, known=False).retry_after + 1e-6)
    assert come(admission, 500)


def test_a_lone_first_long_prompt_comes_in_however_long_it_takes_to_read(clock: VirtualClock) -> None:
    assert come(Admission(SETTINGS, clock), 9_900)


def test_a_long_prompt_is_not_starved_by_short_ones(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    for _ in range(100):  # a client that takes whatever room there is
        while come(admission, 50):
            pass
        clock.advance(1.0)
        assert come(admission, 9_000) or not come(admission, 1), 'where a short one may come in, a long one may'


def test_a_conversation_that_is_known_is_not_refused_for_the_newcomers(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    while come(admission, 900):
        pass
    full = [view('d', free=0, free_slots=0)]
    assert admission.verdict(turn(400), 40, FLEET, known=True).admitted
    assert admission.verdict(turn(400), 40, full, known=True).admitted


@given(st.lists(st.tuples(st.integers(1, 3000), st.floats(0.0, 20.0)), max_size=60))
@settings(deadline=None)
def test_no_more_comes_in_than_can_be_read(arrivals: list[tuple[int, float]]) -> None:
    clock = VirtualClock()
    admission = Admission(SETTINGS, clock)
    came = [(0.0, 0)]
    for prompt, pause in arrivals:
        clock.advance(pause)
        if come(admission, prompt):
            came.append((clock.monotonic(), prompt))
    for first in range(len(came)):
        for last in range(first, len(came)):
            tokens = sum(prompt for _, prompt in came[first:last + 1])
            longest = max(prompt for _, prompt in came[first:last + 1])
            assert tokens <= 100.0 * (came[last][0] - came[first][0] + SETTINGS.window) + longest + 1e-6


def test_an_over_long_prompt_is_refused_for_good(clock: VirtualClock) -> None:
    verdict = Admission(SETTINGS, clock).verdict(turn(9_991), 9_991, FLEET, known=False)
    assert verdict.retry_after == math.inf
    assert verdict.reason == '10001 tokens are more than a context of 10000'


@pytest.mark.parametrize('fleet', [[], [view('p', 'prefill')]])
def test_without_a_decoder_a_turn_may_come_again(clock: VirtualClock, fleet: list[ReplicaView]) -> None:
    verdict = Admission(SETTINGS, clock).verdict(turn(10), 10, fleet, known=False)
    assert (verdict.admitted, verdict.reason, verdict.retry_after) == (False, 'no decoder is well', SOON)


def test_while_every_cache_is_full_a_client_is_asked_to_wait_longer_and_longer(clock: VirtualClock) -> None:
    admission, waits = Admission(SETTINGS, clock), []
    full = [view('p', 'prefill'), view('d', 'decode', free=400, free_slots=1)]
    for pause in (0.0, 4.0, 16.0, 80.0):
        clock.advance(pause)
        verdict = admission.verdict(turn(500), 500, full, known=False)
        assert verdict.reason == 'every KV cache is full'
        waits.append(verdict.retry_after)
    assert waits == [SOON, 4.0, 20.0, LATER]
    assert admission.verdict(turn(390), 390, full, known=False).admitted
    assert admission.verdict(turn(500), 500, full, known=False).retry_after == SOON


def test_the_rest_beyond_the_occupancy_is_for_growth(clock: VirtualClock) -> None:
    admission = Admission(AdmissionSettings(occupancy=0.75), clock)
    part = [view('d', free=20_000)]  # of 40,000, of which 10,000 are kept
    assert admission.open_to_new(part)[0].free == 10_000
    assert come(admission, 9_990, part)
    assert not come(admission, 9_990, [view('d', free=19_999)])
    assert admission.verdict(turn(9_990), 40, [view('d', free=0)], known=True).admitted


def test_an_empty_replica_takes_the_longest_prompt_whatever_the_occupancy(clock: VirtualClock) -> None:
    admission = Admission(AdmissionSettings(occupancy=0.1), clock)
    assert come(admission, 9_990, [view('d', free=10_000, free_slots=1, capacity=10_000)])


def test_arrivals_are_averaged_over_the_window(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    admission.admit(300)
    clock.advance(6.0)
    admission.admit(200)
    assert admission.arriving() == 50.0
    clock.advance(4.0)
    assert admission.arriving() == 20.0


def test_a_lost_prefiller_reads_no_more(clock: VirtualClock) -> None:
    admission = Admission(SETTINGS, clock)
    both = [*FLEET, view('q', 'prefill', rate=300.0)]
    assert come(admission, 2_400, both)
    assert come(admission, 1, both)  # 250 tokens/s for 10 s
    assert not come(admission, 1)
    clock.advance(10.0)  # 1,401 are left; from now on 100 tokens/s are read
    assert not come(admission, 1)
    clock.advance(4.02)
    assert come(admission, 1)


def test_the_throughput_is_that_of_those_who_can_read_first_turns(clock: VirtualClock) -> None:
    cut_off = [view('p', 'prefill', hands_over=False), view('d', 'decode', rate=70.0)]
    assert [each.name for each in readers(cut_off)] == ['d']
    assert [each.name for each in readers(FLEET)] == ['p']
    assert [each.name for each in readers([view('one', hands_over=False)])] == ['one']
    assert Admission(SETTINGS, clock).throughput(cut_off) == 35.0
