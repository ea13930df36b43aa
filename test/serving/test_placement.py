"""What a policy is told of a replica."""
from __future__ import annotations

from dataclasses import replace

import pytest

from pace_ros.serving.placement import ReplicaView, Turn
from pace_ros.serving.policies import Collocated, Pinned

VIEW = ReplicaView('one', prefills=False, decodes=True, free=500, free_slots=1, context=400, capacity=800, rate=50.0)


@pytest.mark.parametrize(('facts', 'tokens', 'fits'), [
    ({}, 400, True),
    ({}, 401, False),
    ({'free': 300}, 301, False),
    ({'free_slots': 0}, 1, False),
])
def test_a_newcomer_needs_a_slot_and_room_in_it(facts: dict[str, int], tokens: int, fits: bool) -> None:
    assert replace(VIEW, **facts).fits(tokens) == fits  # type: ignore[arg-type]


@pytest.mark.parametrize(('held', 'free', 'tokens', 'goes_on'), [
    (300, 100, 400, True),
    (300, 99, 400, False),
    (300, 500, 401, False),
    (300, 0, 200, True),  # a shorter prompt than before
])
def test_who_is_there_needs_room_for_what_is_new(held: int, free: int, tokens: int, goes_on: bool) -> None:
    assert replace(VIEW, held=held, free=free, free_slots=0).goes_on(tokens) == goes_on


def test_a_prompt_is_read_after_those_that_wait() -> None:
    assert replace(VIEW, waiting=50).delay(100) == 3.0


def test_a_turn_may_come_to_hold_its_prompt_and_its_longest_answer() -> None:
    assert Turn('ann', 1, 300, 64).tokens == 364


def test_a_role_blind_policy_sees_every_replica_in_both_roles() -> None:
    assert [*Pinned().seen([VIEW])] == [VIEW]
    assert [*Collocated().seen([VIEW])] == [replace(VIEW, prefills=True)]
