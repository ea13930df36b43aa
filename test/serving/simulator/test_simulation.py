"""Conversations through a fleet: times and energy by hand, and what must hold whatever comes."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.fleet import POLICIES, Fleet
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.simulator import simulation
from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.fleets import simulated_fleet
from pace_ros.serving.simulator.hardware import Hardware, Power
from pace_ros.serving.simulator.outcome import OCCUPANCY, REPLICAS
from pace_ros.serving.simulator.row import COLUMNS, conversations
from pace_ros.serving.simulator.script import Script, TurnScript, Workload
from pace_ros.serving.simulator.simulation import simulate, with_policy
from pace_ros.settings import ConfigError

COSTS = Costs(prefill_base=0.5, prefill_token=0.01, attend=0.0001, decode_base=0.1, decode_stream=0.01,
              decode_token=0.001, save_base=0.2, save_token=0.001, restore_base=0.1, restore_token=0.002,
              transfer_latency=0.3, transfer_bandwidth=1e6, kv_bytes=1000.0)
HARDWARE = Hardware(COSTS, Power(idle=10.0, prefill=100.0, decode=50.0))
OPEN = {'wait': 600.0, 'waiting': 10_000, 'utilisation': 10.0}


def script(key: str, *turns: tuple[int, int, float]) -> Script:
    """Turns by new tokens, answer and think time; each prompt repeats all before it."""
    held, made = 0, []
    for new, answer, think in turns:
        made.append(TurnScript(held + new, answer, shared=held, think=think))
        held += new + answer
    return Script(key, tuple(made))


def workload(*arrivals: tuple[float, Script]) -> Workload:
    return Workload('by hand', arrivals)


def step(context: int, streams: int = 1) -> float:
    return 0.1 + 0.01 * streams + 0.001 * context


def one_replica(**settings: Any) -> Fleet:
    return simulated_fleet(prefillers=0, decoders=0, both=1, slots=4, context=2000, admission=OPEN, **settings)


def test_one_conversation_alone() -> None:
    outcome = simulate(one_replica(), HARDWARE, workload((1.0, script('a', (100, 3, 0.0), (50, 2, 7.0)))))
    first, second = outcome.turns.itertuples()
    assert first.ttft == pytest.approx(0.5 + 1.0 + 0.0001 * 100 * 100 / 2)
    assert first.ended == pytest.approx(1.0 + first.ttft + step(101) + step(102))
    assert first.tbt_mean == pytest.approx((step(101) + step(102)) / 2)
    assert first.tbt_max == pytest.approx(step(102))
    assert second.arrival == pytest.approx(first.ended + 7.0)
    assert (second.cached, second.read, second.lost) == (102, 51, 1)  # the last token given was never fed back
    assert second.ttft == pytest.approx(0.5 + 0.51 + 0.0001 * (51 * 102 + 51 * 51 / 2))
    assert outcome.duration == pytest.approx(second.ended)


def test_a_hand_over_takes_its_parts_and_the_last_token_again() -> None:
    fleet = simulated_fleet(prefillers=1, decoders=1, context=2000, admission=OPEN)
    outcome = simulate(fleet, HARDWARE, workload((0.0, script('a', (100, 2, 0.0), (10, 2, 1.0)))))
    first, second = outcome.turns.itertuples()
    assert (first.read_at, first.answered_at, first.moved, first.reread) == ('prefill-1', 'decode-1', 100, 1)
    assert first.hand_over == pytest.approx((0.2 + 0.1) + (0.3 + 0.1) + (0.1 + 0.2))
    assert first.ttft == pytest.approx(COSTS.prefill(100) + first.hand_over + COSTS.prefill(1, 99))
    assert (second.read_at, second.answered_at, second.moved, second.hand_over) == ('decode-1', 'decode-1', 0, 0.0)
    assert (second.cached, second.read) == (101, 11)


def with_one_cache(fleet: Fleet) -> Fleet:
    """The slots of a replica share one, with room for all of them."""
    return dataclasses.replace(fleet, replicas=tuple(dataclasses.replace(each, kv=each.capacity)
                                                     for each in fleet.replicas))


def disaggregated(*arrivals: tuple[float, Script], prefix_cache: bool = False, shared: bool = False) -> pd.DataFrame:
    fleet = simulated_fleet(prefillers=1, decoders=1, context=2000, admission=OPEN, policy='disaggregated')
    fleet = with_one_cache(fleet) if shared else fleet
    hardware = dataclasses.replace(HARDWARE, prefix_cache=prefix_cache)
    return simulate(fleet, hardware, workload(*arrivals)).turns.set_index(['conversation', 'turn'])


ANN, BOB = script('ann', (100, 2, 0.0), (10, 2, 20.0)), script('bob', (60, 2, 0.0))


def test_a_prefiller_s_slot_has_the_prompt_that_it_held_last() -> None:
    """Alone, ann's second prompt of 112 tokens finds the first one of 100; her answer was never read there."""
    again = disaggregated((0.0, ANN)).loc[('ann', 2)]
    assert (again.read_at, again.answered_at) == ('prefill-1', 'decode-1')
    assert (again.cached, again.read, again.lost, again.moved, again.reread) == (100, 12, 2, 112, 1)
    assert again.ttft == pytest.approx(COSTS.prefill(12, 100) + again.hand_over + COSTS.prefill(1, 111))


def test_a_prefiller_s_slot_that_another_has_used_has_nothing() -> None:
    """Bob's only turn takes the same first free slot between ann's two: all 112 tokens are read again."""
    turns = disaggregated((0.0, ANN), (10.0, BOB))
    again = turns.loc[('ann', 2)]
    assert again.arrival > turns.loc[('bob', 1)].ended
    assert (again.cached, again.read, again.lost) == (0, 112, 102)
    assert again.ttft == pytest.approx(COSTS.prefill(112) + again.hand_over + COSTS.prefill(1, 111))
    paged = disaggregated((0.0, ANN), (10.0, BOB), prefix_cache=True).loc[('ann', 2)]
    assert (paged.cached, paged.read, paged.lost) == (100, 12, 2)


def test_a_prefiller_s_slot_is_emptied_where_slots_share_one_cache() -> None:
    """All of ann's second prompt is read, though nobody has come between; a prefix cache still has her first one."""
    again = disaggregated((0.0, ANN), shared=True).loc[('ann', 2)]
    assert (again.cached, again.read, again.lost) == (0, 112, 102)
    paged = disaggregated((0.0, ANN), prefix_cache=True, shared=True).loc[('ann', 2)]
    assert (paged.cached, paged.read, paged.lost) == (100, 12, 2)


def test_a_prefiller_reads_the_next_prompt_when_the_one_before_has_arrived() -> None:
    turns = disaggregated((0.0, BOB), (0.1, script('eve', (100, 2, 0.0))))
    bob, eve = turns.loc[('bob', 1)], turns.loc[('eve', 1)]
    read = COSTS.prefill(60) + bob.hand_over  # what bob's decoder does then holds up nobody here
    assert bob.ttft == pytest.approx(read + COSTS.prefill(1, 59))
    moved = COSTS.save(100) + COSTS.transfer(100) + COSTS.restore(100)
    assert eve.hand_over == pytest.approx(moved)
    assert eve.ttft == pytest.approx(read + COSTS.prefill(100) + moved + COSTS.prefill(1, 99) - 0.1)


def test_an_opening_that_all_share_is_found_where_another_has_been() -> None:
    one, two = (dataclasses.replace(each, family='persona', opening=40) for each in (BOB, script('eve', (100, 2, 0.0))))
    late = disaggregated((0.0, one), (30.0, two)).loc[('eve', 1)]
    assert (late.cached, late.read, late.lost) == (40, 60, 0)


@pytest.mark.parametrize('shared', [False, True])
def test_two_that_collide(*, shared: bool) -> None:
    both = workload((0.0, script('a', (100, 3, 0.0))), (2.1, script('b', (200, 1, 0.0))))
    fleet = with_one_cache(one_replica()) if shared else one_replica()
    stream, late = simulate(fleet, HARDWARE, both, stall=1.0).turns.itertuples()
    begins = COSTS.prefill(100) + step(101)  # the step under way goes on
    assert begins - step(101) < 2.1 < begins
    ends = begins + COSTS.prefill(200) + step(102) - (0.1 if shared else 0.0)  # one base, the larger one
    assert late.ttft == pytest.approx(ends - 2.1)
    assert stream.tbt_max == pytest.approx(ends - begins)
    assert stream.stalls == 1


@pytest.mark.parametrize(('shared', 'passes'), [(False, 2), (True, 1)])
def test_slots_that_are_not_neighbours_step_apart_unless_they_share_a_cache(*, shared: bool, passes: int) -> None:
    """Ann, bob and eve take the slots 0, 1 and 2; bob leaves while two are answered. Eve is read a step later,
    has two tokens when bob has his three, and is one behind ann to the end.
    """
    answers = {'ann': 10, 'bob': 3, 'eve': 9}
    visits = workload(*((0.0, script(name, (10, answer, 0.0))) for name, answer in answers.items()))
    fleet = with_one_cache(one_replica()) if shared else one_replica()
    ended = simulate(fleet, HARDWARE, visits).turns.set_index('conversation')['ended']
    assert ended['ann'] == ended['eve']
    assert ended['eve'] - ended['bob'] == pytest.approx(
        sum(step(10 + given + 1 + 10 + given, 2) + 0.1 * (passes - 1) for given in range(2, 9)))


def test_energy_by_hand() -> None:
    outcome = simulate(one_replica(), HARDWARE, workload((1.0, script('a', (100, 3, 0.0)))))
    reading, answering = COSTS.prefill(100), step(101) + step(102)
    assert outcome.energy == pytest.approx(1.0 * 10.0 + reading * 100.0 + answering * 50.0)
    assert outcome.turns['energy'].sum() == pytest.approx(reading * 100.0 + answering * 50.0)
    assert outcome.tokens_per_joule == pytest.approx(3 / outcome.energy)


def test_the_first_token_for_the_user() -> None:
    silent = TurnScript(100, 3, hidden=3)
    spoken = TurnScript(153, 3, shared=103, hidden=1, think=2.0)
    outcome = simulate(one_replica(), HARDWARE, workload((0.0, Script('a', (silent, spoken)))))
    first, second = outcome.turns.itertuples()
    assert pd.isna(first.ttfet)
    assert second.ttfet == pytest.approx(second.ttft + step(154))
    whole = conversations(outcome.turns).iloc[0]
    assert whole['ttfet'] == pytest.approx(second.arrival + second.ttfet)
    assert whole['complete']
    assert whole['last_tbt_max'] == pytest.approx(step(155))


def test_who_is_refused_does_not_come_back() -> None:
    too_long = script('a', (100, 3, 0.0), (3000, 2, 1.0), (5, 5, 1.0))
    outcome = simulate(one_replica(), HARDWARE, workload((0.0, too_long)))
    assert list(outcome.turns['refused'] != '') == [False, True]
    assert 'context' in outcome.turns['refused'].iloc[1]
    assert not conversations(outcome.turns)['complete'].any()


def test_idling_ends_a_conversation_for_the_fleet() -> None:
    outcome = simulate(one_replica(idle=60.0), HARDWARE, workload((0.0, script('a', (100, 3, 0.0), (50, 2, 61.0)))))
    assert list(outcome.turns['cached']) == [0, 0]
    assert list(outcome.turns['lost']) == [0, 103]


def test_a_full_fleet_makes_wait() -> None:
    fleet = simulated_fleet(prefillers=0, decoders=1, slots=1, context=2000, admission=OPEN)
    one, other = simulate(fleet, HARDWARE, workload(
        (0.0, script('a', (100, 3, 0.0))), (0.5, script('b', (100, 3, 0.0))))).turns.itertuples()
    assert other.queued == pytest.approx(one.ended - 0.5)
    assert other.ttft == pytest.approx(other.queued + COSTS.prefill(100))


def test_what_nobody_keeps_is_lost_when_room_is_needed() -> None:
    """Least-loaded leaves the first one's context behind; on one slot the second one's takes its place."""
    for slots, lost in ((1, 103), (2, 1)):
        fleet = simulated_fleet(prefillers=0, decoders=1, slots=slots, context=2000, admission=OPEN,
                                policy='least-loaded')
        outcome = simulate(fleet, HARDWARE, workload(
            (0.0, script('a', (100, 3, 0.0), (50, 2, 30.0))), (10.0, script('b', (100, 3, 0.0)))))
        again = outcome.turns[(outcome.turns['conversation'] == 'a') & (outcome.turns['turn'] == 2)].iloc[0]
        assert again['lost'] == lost


def test_a_slot_that_the_server_chose_is_not_emptied() -> None:
    fleet = simulated_fleet(prefillers=0, decoders=1, context=2000, admission=OPEN, policy='least-loaded')
    work = workload((0.0, script('a', (100, 3, 0.0), (50, 2, 30.0))))
    _, again = simulate(with_one_cache(fleet), HARDWARE, work).turns.itertuples()
    assert (again.cached, again.read, again.lost) == (102, 51, 1)


class Wandering(Policy):
    """Every turn moves the conversation to the other decoder, where all of it is read."""

    name = 'wandering'

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        there = f'decode-{1 + turn.number % 2}'
        return Placement(there, there)


def test_the_slot_that_a_conversation_leaves_is_emptied_where_slots_share_one_cache(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, 'make_policy', lambda *_, **__: Wandering())
    fleet = simulated_fleet(prefillers=0, context=2000, admission=OPEN)
    work = workload((0.0, script('a', (100, 3, 0.0), (50, 2, 1.0), (10, 2, 1.0))))
    assert list(simulate(fleet, HARDWARE, work).turns['cached']) == [0, 0, 102]
    assert list(simulate(with_one_cache(fleet), HARDWARE, work).turns['cached']) == [0, 0, 0]


def test_a_replica_needs_hardware() -> None:
    with pytest.raises(ConfigError, match='both-1'):
        simulate(one_replica(), {}, workload((0.0, script('a', (1, 1, 0.0)))))


turns = st.lists(st.tuples(st.integers(1, 400), st.integers(1, 30), st.floats(0.0, 9.0)), min_size=1, max_size=4)
arrivals = st.lists(st.tuples(st.floats(0.0, 9.0), turns), min_size=1, max_size=10)
fleets = st.builds(
    simulated_fleet, prefillers=st.integers(0, 2), decoders=st.integers(1, 3), slots=st.integers(1, 4),
    context=st.just(2000), admission=st.sampled_from([OPEN, {'wait': 2.0}]), idle=st.sampled_from([3.0, 600.0]),
    policy=st.sampled_from(POLICIES), prediction_error=st.sampled_from([0.0, 0.5]),
)


def made(drawn: list[tuple[float, list[tuple[int, int, float]]]]) -> Workload:
    return workload(*((at, script(str(number), *each))
                      for number, (at, each) in enumerate(sorted(drawn, key=lambda each: each[0]))))


@settings(max_examples=40, deadline=None)
@given(fleets, arrivals, st.sampled_from([64, 10_000]))
def test_laws(fleet: Fleet, drawn: list[tuple[float, list[tuple[int, int, float]]]], chunk: int) -> None:
    work = made(drawn)
    outcome = simulate(fleet, dataclasses.replace(HARDWARE, chunk=chunk), work, sample=0.5)
    rows, replicas = outcome.turns, outcome.replicas
    assert list(rows) == list(COLUMNS)
    assert list(replicas) == list(REPLICAS)
    assert list(outcome.occupancy) == list(OCCUPANCY)
    answered = rows[rows['refused'] == '']
    assert (answered['read'] + answered['cached'] == answered['prompt']).all()
    assert (answered['lost'] >= 0).all()
    assert (answered['cached'] + answered['lost'] + answered['append'] == answered['prompt']).all()
    assert answered['read'].sum() + answered['reread'].sum() == replicas['read'].sum()
    firsts = (answered['moved'] > 0).sum()  # the token that a prefiller gives
    assert answered['answer'].sum() + firsts == replicas['answered'].sum()
    assert (answered['ttft'] > 0.0).all()
    assert (answered['ended'] <= outcome.duration + 1e-9).all()
    idle = replicas['idle'].sum() * HARDWARE.power.idle
    assert outcome.energy == pytest.approx(idle + answered['energy'].sum())
    assert outcome.energy >= len(replicas) * outcome.duration * HARDWARE.power.idle - 1e-6
    full = outcome.occupancy['held'] + outcome.occupancy['reserved']
    assert full.max() <= 1.0 + 1e-9
    if fleet.settings.policy in {'pinned', 'collocated'} and fleet.settings.idle > 9.0:
        assert (answered.groupby('conversation')['answered_at'].nunique() == 1).all()
        assert (answered.loc[answered['turn'] > 1, 'moved'] == 0).all()
        assert (answered.loc[answered['turn'] > 1, 'lost'] == 1).all()


@settings(max_examples=10, deadline=None)
@given(fleets, arrivals)
def test_the_same_again_is_the_same(fleet: Fleet, drawn: list[tuple[float, list[tuple[int, int, float]]]]) -> None:
    one, other = (simulate(fleet, HARDWARE, made(drawn), seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(one.turns, other.turns)
    pd.testing.assert_frame_equal(one.replicas, other.replicas)


@settings(max_examples=10, deadline=None)
@given(arrivals, st.booleans())
def test_on_infinite_hardware_all_policies_agree(
    drawn: list[tuple[float, list[tuple[int, int, float]]]], apart: bool
) -> None:
    """Where nothing takes any time, or answering does and no two meet."""
    fleet = simulated_fleet(prefillers=1, decoders=2, slots=64, context=10_000, rate=1e7, admission=OPEN)
    hardware = Hardware(Costs(decode_base=0.01 if apart else 0.0))
    work = made(drawn)
    if apart:
        work = workload(*((100.0 * number, each) for number, each in enumerate(work.scripts)))
    found = [simulate(with_policy(fleet, policy), hardware, work).turns for policy in POLICIES]
    times = ['conversation', 'turn', 'arrival', 'ttft', 'ttfet', 'ended', 'refused']
    for each in found[1:]:
        pd.testing.assert_frame_equal(each[times], found[0][times])
    assert (found[0]['ttft'] == 0.0).all()
