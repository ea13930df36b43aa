from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import VirtualClock
from pace_ros.config import Config, Gate
from pace_ros.config import Router as RouterSettings
from pace_ros.control import Router
from pace_ros.embedding import Vector

LITERAL = Config(gate=Gate(significance=1.0))
H = LITERAL.gate.quiet_windows


def routed(clock: VirtualClock, config: Config | None = None) -> Router:
    made = config or Config()
    return Router(lambda: made, clock)


def minutes(router: Router, clock: VirtualClock, count: int, *, ttft: float | None = 1.5, gap: float = 1.0) -> None:
    """Regular visitors, each answered by L2 at once (``ttft`` None: from the cache), ended by a look at the close."""
    for _ in range(round(count * 60 / gap)):
        router.observe_arrival()
        router.decide('gated')
        if ttft is not None:
            router.observe_ttft(ttft)
        clock.advance(gap)
    router.state()


@pytest.fixture
def router(clock: VirtualClock) -> Router:
    return routed(clock)


# -- one decision -----------------------------------------------------------------------------------------------------


def test_a_fresh_router_decides_from_what_it_assumes(router: Router) -> None:
    decision = router.decide('adaptive')
    load = 0.7 * (1.5 - 1) / 3
    assert decision.load_index == pytest.approx(load)
    assert (decision.theta_cache, decision.theta_direct) == pytest.approx((0.98 - 0.08 * load, 0.85 - 0.15 * load))
    assert (decision.law, decision.reason) == ('adaptive', 'adaptive')
    assert (decision.p_instant, decision.ttft_ewma) == pytest.approx((0.3, 1.5))


def test_a_decision_under_load_by_hand(router: Router, clock: VirtualClock) -> None:
    for _ in range(120):  # 2 a second: z = 1/4
        router.observe_arrival()
        clock.advance(0.25)
    router.observe_ttft(3.5)  # 1.5 + 0.3 * 2 = 2.1: z = 11/30
    load = 0.7 * 11 / 30 + 0.3 / 4
    decision = router.decide('adaptive')
    assert decision.load_index == pytest.approx(load)
    assert decision.theta_cache == pytest.approx(0.98 - 0.08 * load)
    assert router.state().arrival_rate == 2.0


def test_static_is_the_operating_point_whatever_the_load(router: Router, clock: VirtualClock) -> None:
    minutes(router, clock, 3, ttft=9.0, gap=0.1)
    decision = router.decide('static')
    assert (decision.theta_cache, decision.theta_direct) == (0.95, 0.75)
    assert (decision.law, decision.reason) == ('static', 'static')
    assert decision.load_index == 1.0


def test_gated_is_adaptive_until_load_has_been_steady_and_static_from_then_on(
    router: Router, clock: VirtualClock
) -> None:
    minutes(router, clock, 10)
    before = router.decide('gated')
    assert (before.law, before.reason) == ('adaptive', 'gate: cold start')
    assert before == replace(router.decide('adaptive'), reason='gate: cold start')
    minutes(router, clock, 1)
    after = router.decide('gated')
    assert (after.law, after.reason) == ('static', 'gate: 10 quiet windows')
    assert after == replace(router.decide('static'), reason='gate: 10 quiet windows')
    assert router.decide('adaptive').law == 'adaptive'


def test_the_close_of_a_window_is_seen_by_whoever_decides_next_without_any_arrival(
    router: Router, clock: VirtualClock
) -> None:
    clock.advance(11 * 60 - 0.001)
    assert router.decide('gated').law == 'adaptive'
    clock.advance(0.001)
    assert router.decide('gated').law == 'static'


def test_a_window_that_ended_unseen_is_closed_as_of_its_boundary(clock: VirtualClock) -> None:
    looked, unseen = routed(clock), routed(clock)
    for _ in range(90):
        for each in (looked, unseen):
            each.observe_arrival()
        clock.advance(0.5)
    for _ in range(4):
        clock.advance(20.0)
        looked.state()
    assert unseen.state() == looked.state()
    gate = looked.state().gate
    assert gate.windows == 2
    assert gate.triggers[2].value == pytest.approx(0.3 * 89 / 60 / 8)  # to none; the first came at 0 s


def test_what_happens_after_a_boundary_is_none_of_the_window_before(router: Router, clock: VirtualClock) -> None:
    """Whoever comes first closes it, with no look between."""
    for _ in range(3):
        clock.advance(61.0)
        router.observe_arrival()
    assert [window.count for window in router._gate._regime] == [0, 1, 1]
    clock.advance(61.0)
    router.observe_ttft(9.0)
    assert router._gate.state.windows == 4
    assert router._gate._regime[-1].load == pytest.approx(0.7 * 0.5 / 3 + 0.3 / 60 / 8)
    clock.advance(61.0)
    assert router.state().decision.ttft_ewma == pytest.approx(3.75)
    assert router._gate._regime[-1].load == pytest.approx(0.7 * 2.75 / 3)


def test_the_state_speaks_for_the_nodes_own_mode(clock: VirtualClock) -> None:
    for mode in ('static', 'adaptive', 'gated'):
        state = routed(clock, Config(router=RouterSettings(mode=mode))).state()
        assert state.decision.reason == ('gate: cold start' if mode == 'gated' else mode)


def test_settings_take_effect_at_the_next_turn(clock: VirtualClock) -> None:
    config = Config()
    made = Router(lambda: config, clock)
    config = Config(router=RouterSettings(theta_cache=0.97, ttft_alpha=1.0, cache_low=0.5, cache_high=0.6))
    assert made.decide('static').theta_cache == 0.97
    made.observe_ttft(4.0)
    assert made.decide('adaptive').theta_cache == pytest.approx(0.6 - 0.7 * 0.1)


def test_the_share_of_instant_paths_is_handed_on(router: Router) -> None:
    for number in range(40):
        router.observe_path(instant=number % 4 == 0)
    assert router.decide('gated').p_instant == pytest.approx(0.25)


@pytest.mark.parametrize('nonsense', [math.nan, math.inf, -1.0])
def test_what_is_no_first_token_time_changes_nothing(router: Router, clock: VirtualClock, nonsense: float) -> None:
    router.observe_ttft(2.0)
    clock.advance(5)
    before = router.state()
    router.observe_ttft(nonsense)
    assert router.state() == before
    assert (before.ttft_samples, before.ttft_age) == (1, 5.0)


def test_it_goes_on_where_an_earlier_run_ended(router: Router, clock: VirtualClock) -> None:
    clock.advance(10)
    router.restore(3.0, 42.0)
    clock.advance(1)
    state = router.state()
    assert (state.decision.ttft_ewma, state.ttft_age, state.ttft_samples) == (3.0, 43.0, 0)


def test_offline_windows_are_so_many_requests(clock: VirtualClock) -> None:
    made = routed(clock, Config(gate=Gate(window_requests=50, significance=1.0)))
    for number in range(550):
        assert made.state().gate.static is False
        assert made.state().gate.windows == number // 50
        clock.advance(1.3)
        made.observe_arrival()
    assert made.state().gate.static


# -- steadiness at the rate of a showroom -----------------------------------------------------------------------------


def showroom(seed: int, config: Config, *, hours: int = 2) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """30 turns an hour, two in five of them L2's: after each close, whether the gate is closed, and what fired."""
    rng, clock, now = Random(seed), VirtualClock(), 0.0
    made = routed(clock, config)
    events: list[tuple[float, Callable[[], None]]] = []
    while (now := now + rng.expovariate(30 / 3600)) < hours * 3600:
        events.append((now, made.observe_arrival))
        if rng.random() < 0.4:
            ttft = rng.lognormvariate(math.log(1.8), 0.5)
            events.append((now + ttft, lambda ttft=ttft: made.observe_ttft(ttft)))
    events.sort(key=lambda event: event[0])
    waiting = deque(events)
    for boundary in range(60, hours * 3600 + 1, 60):
        while waiting and waiting[0][0] < boundary:
            instant, happen = waiting.popleft()
            clock.advance(instant - clock.monotonic())
            happen()
        clock.advance(boundary - clock.monotonic())
        gate = made.state().gate
        yield gate.static, tuple(trigger.name for trigger in gate.triggers if trigger.fired)


def steadiness(config: Config, *, seeds: int = 20) -> tuple[float, Counter[str]]:
    """The mean share of windows after the first ten that are STATIC, and what opened a closed gate."""
    shares, openings = [], Counter[str]()
    for seed in range(seeds):
        seen = list(showroom(seed, config))
        shares.append(sum(static for static, _ in seen[10:]) / len(seen[10:]))
        for (was, _), (static, fired) in itertools.pairwise(seen):
            if was and not static:
                openings.update(fired)
    return sum(shares) / seeds, openings


def test_thirty_turns_an_hour_are_never_steady_for_the_literal_rule() -> None:
    share, openings = steadiness(LITERAL)
    assert share < 0.02, f'STATIC in {share:.1%} of all windows; opened by {dict(openings)}'


def test_thirty_turns_an_hour_are_steady_by_default() -> None:
    share, openings = steadiness(Config())
    assert share > 0.95, f'STATIC in {share:.1%} of all windows; opened by {dict(openings)}'


# -- exposure after a change of load, the literal rule ----------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    rates=st.tuples(st.floats(0.5, 2.0), st.floats(0.5, 2.0)),
    ttfts=st.tuples(st.floats(0.2, 6.0), st.floats(0.2, 6.0)),
    within=st.one_of(st.just(0.0), st.floats(0.0, 59.999)),
)
def test_a_change_of_load_exposes_at_most_eleven_windows(
    rates: tuple[float, float], ttfts: tuple[float, float], within: float
) -> None:
    """Regular visitors, all answered by L2: whatever fires is the change and no noise."""
    clock = VirtualClock()
    made = routed(clock, LITERAL)
    change, end = (H + 3) * 60 + within, (2 * H + 20) * 60
    instants = [number / rates[0] for number in range(int(change * rates[0]) + 1)]
    instants += [change + number / rates[1] for number in range(1, int((end - change) * rates[1]))]
    waiting = deque(sorted(instants))
    static = []
    for boundary in range(60, end + 1, 60):
        while waiting and waiting[0] < boundary:
            clock.advance(max(0.0, waiting.popleft() - clock.monotonic()))
            made.observe_arrival()
            made.observe_ttft(ttfts[clock.monotonic() > change])
        clock.advance(boundary - clock.monotonic())
        static.append(made.state().gate.static)
    assert static[:H + 3] == [False] * H + [True] * 3
    exposed = static[H:].count(False)
    assert exposed in (0, H, H + 1)
    if exposed:
        first = H + static[H:].index(False)
        assert static[first:] == [False] * exposed + [True] * (len(static) - first - exposed)


# -- static and gated are one and the same once load is steady --------------------------------------------------------

DIMENSION = 16


def unit(rng: np.random.Generator) -> Vector:
    vector = rng.standard_normal(DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass
class Arm:
    """A router with a cache of its own, deciding in one mode."""

    mode: str
    router: Router
    cache: SemanticCache

    def turn(self, number: int, vector: Vector, retrieval: float, ttft: float) -> tuple[object, ...]:
        """The way through the cascade; everything that could differ between two arms."""
        self.router.observe_arrival()
        decision = self.router.decide(self.mode)
        match = self.cache.recall(vector, 'en', decision.theta_cache)
        path = 'L0' if match.entry is not None else 'L1' if retrieval >= decision.theta_direct else 'L2'
        if path == 'L2':
            self.cache.admit(CacheEntry(f'q{number}', f'a{number}', 'en', (), 0.0, None), vector)
            self.router.observe_ttft(ttft)
        self.router.observe_path(instant=path != 'L2')
        return path, match, replace(decision, reason='')


def arm(mode: str, clock: VirtualClock) -> Arm:
    cache = SemanticCache(dimension=DIMENSION, capacity=150, half_life=600.0, clock=clock)
    for number, vector in enumerate(map(unit, [np.random.default_rng(5)] * 100)):  # the same snapshot for all
        cache.admit(CacheEntry(f'old{number}', 'old', 'en', (), 0.0, None), vector)
    return Arm(mode, routed(clock), cache)


def test_the_gated_router_decides_turn_by_turn_as_the_static_arm_does(clock: VirtualClock) -> None:
    rng = np.random.default_rng(6)
    arms = [arm(mode, clock) for mode in ('gated', 'static', 'adaptive')]
    themes = [unit(rng) for _ in range(300)]
    ways: list[Counter[str]] = [Counter() for _ in arms]
    strayed = False
    for _ in range(900):  # a steady quarter of an hour brings all to one state
        clock.advance(1.0)
        ttft = float(rng.lognormal(math.log(1.5), 0.05))
        for each in arms:
            each.router.observe_arrival()
            each.router.observe_ttft(ttft)
    gated, static, _ = (each.router for each in arms)
    assert gated.state() == static.state()
    for number in range(4000):
        clock.advance(1.0)
        theme = themes[rng.integers(len(themes))] + rng.uniform(0.05, 0.5) * unit(rng)
        vector = (theme / np.linalg.norm(theme)).astype(np.float32)
        retrieval, ttft = float(rng.uniform(0.5, 0.9)), float(rng.lognormal(math.log(1.5), 0.05))
        taken = [each.turn(number, vector, retrieval, ttft) for each in arms]
        assert taken[0] == taken[1], number
        assert gated.state().gate.static
        strayed |= taken[0][0] != taken[2][0]
        for way, (path, *_) in zip(ways, taken, strict=True):
            way[str(path)] += 1
    assert gated.state() == static.state()
    assert ways[0] == ways[1]
    assert min(ways[0][path] for path in ('L0', 'L1', 'L2')) > 400, ways  # every way was taken
    assert strayed  # the adaptive arm did not: this could have failed


# -- time -------------------------------------------------------------------------------------------------------------


def test_jumps_of_the_wall_clock_change_nothing() -> None:
    def history(jumps: tuple[float, ...]) -> list[object]:
        rng, clock = Random(4), VirtualClock()
        made = routed(clock, LITERAL)
        seen: list[object] = []
        for number in range(2000):
            clock.advance(rng.expovariate(1.0))
            clock.jump_wall(jumps[number % len(jumps)])
            made.observe_arrival()
            seen.append(made.decide('gated'))
            made.observe_ttft(rng.lognormvariate(0.5, 0.3))
            seen.append(made.state())
        return seen

    assert history((0.0,)) == history((86_400.0, -90_000.0, 1e9, -1e9, 0.5))


@pytest.mark.parametrize('days', [1.0, 30.0, 3650.0])
def test_days_without_anyone_are_survived_quickly(router: Router, clock: VirtualClock, days: float) -> None:
    minutes(router, clock, 12)
    clock.advance(days * 86_400)
    began = time.perf_counter()
    state = router.state()
    assert time.perf_counter() - began < 1.0
    assert (state.arrival_rate, state.gate.static, state.starved) == (0.0, True, False)
    minutes(router, clock, 12)
    assert router.state().arrival_rate == 59 / 60  # the last was a second ago
    assert router.decide('gated').law == 'static'


def test_it_grows_no_larger_with_the_turns_it_has_seen(router: Router, clock: VirtualClock) -> None:
    def held(thing: object) -> int:
        """Everything in containers reachable from the router."""
        if isinstance(thing, (deque, tuple, list, dict)):
            return sum(1 + held(each) for each in (thing.values() if isinstance(thing, dict) else thing))
        if type(thing).__module__.startswith('pace_ros'):
            return held(vars(thing))
        return 0

    def turns(count: int) -> int:
        for number in range(count):
            router.observe_arrival()
            router.decide('gated')
            router.observe_path(instant=number % 2 == 0)
            if number % 2:
                router.observe_ttft(1.5 + number % 7 / 10)
            clock.advance(0.5)
        return held(router)

    early = turns(160 * 120)
    assert turns(840 * 120) == early  # looked at in the same place of a window
    assert len(router._arrivals._instants) == 120


# -- threads ----------------------------------------------------------------------------------------------------------


def test_threads_lose_nothing(router: Router, clock: VirtualClock) -> None:
    threads, turns, errors = 8, 500, []

    def work() -> None:
        try:
            for number in range(turns):
                router.observe_arrival()
                router.observe_ttft(2.0)
                router.observe_path(instant=number % 2 == 0)
                decision = router.decide('gated')
                state = router.state()
                assert 0.90 <= decision.theta_cache <= 0.98
                assert 1.5 <= state.decision.ttft_ewma <= 2.0
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for _ in range(400):  # 59 s in all: no arrival leaves the window
            clock.advance(0.1475)
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    state = router.state()
    assert state.ttft_samples == threads * turns
    assert state.arrival_rate == threads * turns / 60
    assert state.decision.p_instant == pytest.approx(0.5, abs=0.25)
    clock.advance(1.0)
    assert router.state().gate.windows == 1
    assert router._gate._regime[0].count == threads * turns


@pytest.mark.parametrize(
    'call',
    [
        lambda router: router.observe_arrival(),
        lambda router: router.observe_ttft(1.0),
        lambda router: router.observe_path(instant=True),
        lambda router: router.decide('gated'),
        lambda router: router.state(),
        lambda router: router.restore(1.0, 0.0),
    ],
    ids=['arrival', 'ttft', 'path', 'decide', 'state', 'restore'],
)
def test_nobody_enters_while_another_is_at_it(router: Router, call: Callable[[Router], object]) -> None:
    worker = threading.Thread(target=call, args=(router,))
    with router._lock:
        worker.start()
        worker.join(0.05)
        assert worker.is_alive()
    worker.join(5.0)
    assert not worker.is_alive()


# -- a starved signal -------------------------------------------------------------------------------------------------


def sensitive(clock: VirtualClock) -> Router:
    """Starved after five minutes."""
    return routed(clock, Config(router=RouterSettings(signal_age=300.0)))


def visitors(router: Router, clock: VirtualClock, seconds: float) -> None:
    """One every ten seconds, whose turns give no first token."""
    for _ in range(int(seconds // 10)):
        router.observe_arrival()
        clock.advance(10.0)


def test_visitors_without_a_first_token_for_five_minutes_starve_the_signal(clock: VirtualClock) -> None:
    router = sensitive(clock)
    router.observe_ttft(1.0)
    clock.advance(3600)
    visitors(router, clock, 300)
    assert not router.state().starved  # nobody to hear before the first of them
    router.observe_arrival()
    clock.advance(0.001)
    assert router.state().starved


def test_it_starves_without_any_sample_ever(clock: VirtualClock) -> None:
    router = sensitive(clock)
    visitors(router, clock, 310)
    assert router.state().starved


def test_a_first_token_relieves_it_and_nonsense_does_not(clock: VirtualClock) -> None:
    router = sensitive(clock)
    visitors(router, clock, 400)
    router.observe_ttft(math.nan)
    router.observe_path(instant=True)
    assert router.state().starved
    router.observe_ttft(2.0)
    assert not router.state().starved
    visitors(router, clock, 290)
    assert not router.state().starved
    visitors(router, clock, 20)
    assert router.state().starved


def test_a_signal_that_is_fed_is_never_starved(clock: VirtualClock) -> None:
    router = sensitive(clock)
    for _ in range(50):
        visitors(router, clock, 280)
        router.observe_ttft(1.5)
        assert not router.state().starved


def test_at_night_nothing_is_starved(clock: VirtualClock) -> None:
    router = sensitive(clock)
    visitors(router, clock, 600)
    assert router.state().starved
    clock.advance(290.0)  # 300 s after the last of them
    assert router.state().starved
    for _ in range(100):
        clock.advance(300.0)
        assert not router.state().starved


def test_an_empty_showroom_is_not_starved(clock: VirtualClock) -> None:
    router = sensitive(clock)
    for _ in range(100):
        clock.advance(600.0)
        assert not router.state().starved


def test_how_long_is_a_setting(clock: VirtualClock) -> None:
    made = routed(clock, Config(router=RouterSettings(signal_age=20.0)))
    visitors(made, clock, 20)
    assert not made.state().starved
    visitors(made, clock, 10)
    assert made.state().starved


def test_a_cloud_that_becomes_slow_opens_the_gate_of_a_showroom_too() -> None:
    """60 turns an hour, a third of them L2's: TTFT five times as long from the third hour on, twenty floors."""
    opened = 0
    for seed in range(20):
        rng, clock = Random(seed), VirtualClock()
        router = Router(Config, clock)
        now, was_static, seen = 0.0, False, False
        while (now := now + rng.expovariate(1 / 60)) < 5 * 3600:
            clock.advance(now - clock.monotonic())
            slow = now >= 3 * 3600
            if not slow:
                was_static = router.state().gate.static
            seen = seen or (slow and not router.state().gate.static)
            router.observe_arrival()
            if rng.random() < 1 / 3:
                router.observe_ttft(rng.lognormvariate(math.log(6.0 if slow else 1.2), 0.5))
        opened += was_static and seen
    assert opened >= 12, f'{opened} of 20'
