"""Seats: who gets which, and what is left in the ledger."""
from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from serving_desk import Desk, queue, replica, settle, turn

from pace_ros.serving.conversations import Conversation
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.policies import Pinned
from pace_ros.serving.seating import Refused

pytestmark = pytest.mark.anyio


async def test_a_first_turn_is_read_on_the_prefiller_and_the_next_one_at_home(desk: Desk) -> None:
    seating, ann = desk(replica('p', 'prefill'), replica('d', 'decode')), Conversation('ann')
    seat = await seating.take(ann, turn('ann'))
    assert seat.placement == Placement('p', 'd')
    assert seat.source is not None
    assert (seat.source.replica, seat.source.reserved) == ('p', 300)
    assert (seat.account.replica, seat.account.reserved, seat.slot) == ('d', 400, seat.account.slot)
    assert seating.admission.arriving() == 10.0  # 300 tokens in 30 s
    settle(seating, ann, seat, 380)
    later = await seating.take(ann, turn('ann', 420, number=2))
    assert later.account is seat.account
    assert (later.placement, later.source) == (Placement('d', 'd'), None)
    assert (later.account.held, later.account.reserved) == (380, 140)
    assert seating.admission.arriving() == 10.0, 'it is read on the decoder'


async def test_an_entry_is_made_in_both_ledgers_or_in_none(desk: Desk) -> None:
    class Careless(Policy):
        """It does not look whether the prefiller has a slot."""

        name = 'careless'

        def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement:
            return Placement('p', home or 'd')

    seating = desk(replica('p', 'prefill', slots=1), replica('d', 'decode', slots=3), policy=Careless(), wait=0.0)
    ann, bob = Conversation('ann'), Conversation('bob')
    settle(seating, ann, await seating.take(ann, turn('ann')), 380)
    await seating.take(bob, turn('bob'))  # has the one slot of p
    before = [(each.replica, each.held, each.reserved) for each in seating._ledger.accounts()]
    for conversation in (ann, Conversation('cy')):
        with pytest.raises(Refused, match='no room'):
            await seating.take(conversation, turn(conversation.key, 420))
    assert [(each.replica, each.held, each.reserved) for each in seating._ledger.accounts()] == before


async def test_a_cache_that_moves_with_its_turn_is_read_from_the_account_it_has_at_home(desk: Desk) -> None:
    class Restless(Policy):
        """It moves every turn to another replica."""

        name = 'restless'

        def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement:
            return Placement('a', 'b') if home == 'a' else Placement('a', 'a')

    seating, ann = desk(replica('a'), replica('b'), policy=Restless()), Conversation('ann')
    settle(seating, ann, await seating.take(ann, turn('ann')), 380)
    seat = await seating.take(ann, turn('ann', 420, number=2))
    assert seat.source is ann.home
    assert seat.source is not None
    assert (seat.source.held, seat.source.reserved) == (380, 40)
    assert (seat.account.replica, seat.account.reserved) == ('b', 520)


async def test_a_home_whose_account_is_gone_is_none(desk: Desk) -> None:
    seating, ann = desk(replica('d')), Conversation('ann')
    settle(seating, ann, await seating.take(ann, turn('ann')), 380)
    seating._ledger.drop('d')
    seat = await seating.take(ann, turn('ann', 420, number=2))
    assert (seat.account.held, seat.account.reserved) == (0, 520)


async def test_a_prompt_beyond_every_context_is_refused_for_good_even_behind_others(desk: Desk) -> None:
    seating = desk(replica('d', slots=1), replica('p', 'prefill', context=9000))
    async with queue(seating) as line:
        for key in ('ann', 'bob'):
            await line.come(key)
        with pytest.raises(Refused, match='1001 tokens are more than a context of 1000') as caught:
            await seating.take(Conversation('cy'), turn('cy', 901))
        assert (caught.value.retry_after, caught.value.status) == (math.inf, 413)


async def test_a_conversation_that_outgrows_its_home_is_refused_for_good_for_nothing_migrates(desk: Desk) -> None:
    seating, ann = desk(replica('small'), replica('large', context=4000, slots=1)), Conversation('ann')
    async with queue(seating) as line:
        await line.come('bob')  # takes the large one
        seat = await seating.take(ann, turn('ann'))
        assert seat.account.replica == 'small'
        settle(seating, ann, seat, 380)
        await line.leave('bob')
        with pytest.raises(Refused, match='1100 tokens are more than a context of 1000') as caught:
            await seating.take(ann, turn('ann', 1000, number=2))
        assert caught.value.retry_after == math.inf


async def test_a_prompt_for_a_lost_replica_may_come_again(desk: Desk) -> None:
    seating = desk(replica('small'), replica('large', context=4000), wait=0.0)
    seating._states['large'].up = False
    with pytest.raises(Refused, match='no replica with so long a context is well') as caught:
        await seating.take(Conversation('ann'), turn('ann', 2000))
    assert (caught.value.retry_after, caught.value.status) == (1.0, 503)


async def test_nothing_well_is_no_refusal_for_good(desk: Desk) -> None:
    seating = desk(replica('d'), wait=0.0)
    seating._states['d'].up = False
    with pytest.raises(Refused, match='no decoder is well') as caught:
        await seating.take(Conversation('ann'), turn('ann'))
    assert (caught.value.retry_after, caught.value.status) == (1.0, 503)


async def test_a_policy_is_told_of_those_that_have_a_seat_alone(desk: Desk) -> None:
    class Remembering(Pinned):
        """Who has been placed."""

        def __init__(self) -> None:
            self.who: list[str] = []

        def placed(self, turn: Turn, placement: Placement) -> None:
            self.who.append(f'{turn.conversation} at {placement.decode}')

    policy = Remembering()
    seating = desk(replica('d', slots=1), policy=policy, wait=0.0)
    await seating.take(Conversation('ann'), turn('ann'))
    with pytest.raises(Refused):
        await seating.take(Conversation('bob'), turn('bob'))
    assert policy.who == ['ann at d']


async def test_a_policy_that_does_not_look_at_roles_is_let_in_by_all_replicas(desk: Desk) -> None:
    seating = desk(replica('p', 'prefill', slots=1), replica('d', 'decode', slots=1), policy='least-loaded', wait=0.0)
    seats = [await seating.take(Conversation(key), turn(key)) for key in ('ann', 'bob')]
    assert {each.account.replica for each in seats} == {'p', 'd'}
    assert [each.slot for each in seats] == [None, None]
    with pytest.raises(Refused, match='every slot is taken by a conversation'):
        await seating.take(Conversation('cy'), turn('cy'))


async def test_the_rest_beyond_the_occupancy_is_left_to_those_that_are_there(desk: Desk) -> None:
    seating = desk(replica('d', slots=4, kv=1000), occupancy=0.5, wait=0.0)
    ann = Conversation('ann')
    settle(seating, ann, await seating.take(ann, turn('ann', 300)), 350)
    with pytest.raises(Refused, match='every KV cache is full'):
        await seating.take(Conversation('bob'), turn('bob', 51))  # 350 + 151 > 500
    assert (await seating.take(ann, turn('ann', 800, number=2))).account.tokens == 900
