"""Each policy's choice, by hand."""
from __future__ import annotations

from typing import Any

import pytest

from pace_ros.serving.placement import Placement, ReplicaView, Turn
from pace_ros.serving.policies import Collocated, Disaggregated, LeastLoaded, Pinned, RoundRobin

TURN = Turn('ann', 1, 400, 100)


def view(name: str, role: str = 'both', **facts: Any) -> ReplicaView:
    defaults = {'free': 4000, 'free_slots': 4, 'context': 1000, 'capacity': 4000, 'rate': 100.0}
    return ReplicaView(name=name, prefills=role != 'decode', decodes=role != 'prefill', **{**defaults, **facts})


def test_pinned_reads_on_the_prefiller_and_lives_where_most_is_free() -> None:
    fleet = [view('p', 'prefill'), view('a', 'decode', free=2000), view('b', 'decode', free=3000, streams=3)]
    assert Pinned().place(TURN, fleet, None) == Placement('p', 'b')


def test_pinned_takes_the_prefiller_that_is_done_soonest() -> None:
    # slow: 400 / 50 = 8 s; quick: (500 + 400) / 100 = 9 s; with 300 waiting: 7 s
    fleet = [view('slow', 'prefill', rate=50.0), view('quick', 'prefill', waiting=500), view('d', 'decode')]
    assert Pinned().place(TURN, fleet, None) == Placement('slow', 'd')
    fleet[1] = view('quick', 'prefill', waiting=300)
    assert Pinned().place(TURN, fleet, None) == Placement('quick', 'd')


def test_pinned_waits_for_a_prefiller_rather_than_hold_up_a_decoder() -> None:
    assert Pinned().place(TURN, [view('p', 'prefill', free_slots=0), view('d', 'decode')], None) is None


@pytest.mark.parametrize('prefiller', [
    [], [view('p', 'prefill', context=300)], [view('p', 'prefill', hands_over=False)],
])
def test_pinned_reads_on_the_decoder_where_no_prefiller_ever_could(prefiller: list[ReplicaView]) -> None:
    assert Pinned().place(TURN, [*prefiller, view('d', 'decode')], None) == Placement('d', 'd')


def test_pinned_serves_from_a_single_replica() -> None:
    assert Pinned().place(TURN, [view('one', hands_over=False)], None) == Placement('one', 'one')
    assert Pinned().place(TURN, [view('one')], None) == Placement('one', 'one')


def test_pinned_stays_in_a_replica_without_a_free_slot_and_waits_where_it_cannot_grow() -> None:
    # 300 held and 200 more wanted: 200 free are enough, 199 are not
    full = view('d', 'decode', free_slots=0, free=200, held=300)
    fuller = view('d', 'decode', free_slots=0, free=199, held=300)
    assert Pinned().place(TURN, [full], 'd') == Placement('d', 'd')
    assert Pinned().place(TURN, [fuller, view('e', 'decode')], 'd') is None


def test_collocated_reads_where_it_answers_on_any_replica() -> None:
    policy = Collocated()
    fleet = policy.seen([view('p', 'prefill', waiting=0), view('d', 'decode', waiting=100)])
    assert policy.place(TURN, fleet, None) == Placement('p', 'p')


def test_disaggregated_moves_every_turn() -> None:
    fleet = [view('p', 'prefill'), view('a', 'decode', free=2000, held=400), view('b', 'decode', free=3000)]
    assert Disaggregated().place(TURN, fleet, None) == Placement('p', 'b', stays=False)
    assert Disaggregated().place(Turn('ann', 2, 500, 100), fleet, 'a') == Placement('p', 'b', stays=False)
    assert Disaggregated().place(TURN, [view('p', 'prefill', free_slots=0), *fleet[1:]], None) is None


def test_least_loaded_takes_the_fewest_answers_and_turns_among_equals() -> None:
    policy = LeastLoaded()
    fleet = [view('a', streams=1), view('b'), view('c')]
    assert [policy.place(TURN, fleet, None) for _ in range(3)] == [
        Placement(name, name, stays=False) for name in ('b', 'c', 'b')
    ]


def test_round_robin_passes_over_who_is_full() -> None:
    policy = RoundRobin()
    fleet = [view('c'), view('a'), view('b', free_slots=0)]
    placed = [policy.place(TURN, fleet, None) for _ in range(3)]
    assert [each and each.decode for each in placed] == ['a', 'c', 'a']
    assert policy.place(TURN, [fleet[2]], None) is None
