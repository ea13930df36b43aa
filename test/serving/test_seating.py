"""Seats: who waits, in which order, and what is left in the ledger. Time stands still unless a test moves it."""
from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import pytest

from pace_ros.clock import VirtualClock
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import AdmissionSettings, Deadlines, Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.policies import Pinned, make_policy
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused, Seat, Seating

pytestmark = pytest.mark.anyio
Desk = Callable[..., Seating]


@pytest.fixture
async def desk(clock: VirtualClock) -> AsyncIterator[Desk]:
    """A seating over replicas that nobody calls."""
    async with contextlib.AsyncExitStack() as stack:
        def made(
            *replicas: Replica, policy: str | Policy = 'pinned', hands_over: bool = True, **settings: Any
        ) -> Seating:
            clients = [ReplicaClient(each, Deadlines(), clock) for each in replicas]
            for client in clients:
                stack.push_async_callback(client.aclose)
            return Seating(
                {each.replica.name: ReplicaState(each) for each in clients}, Ledger(replicas),
                make_policy(policy) if isinstance(policy, str) else policy,
                AdmissionSettings(**{'wait': 5.0, **settings}), clock, hands_over=hands_over,
            )
        yield made


def replica(name: str, role: str = 'both', **facts: Any) -> Replica:
    return Replica(**{'name': name, 'url': f'http://{name}', 'role': role, 'slots': 2, 'context': 1000,
                      'prefill_rate': 1000.0, **facts})


def turn(key: str, prompt: int = 300, number: int = 1) -> Turn:
    return Turn(key, number, prompt, 100)


def settle(seating: Seating, conversation: Conversation, seat: Seat, held: int) -> None:
    """A turn has ended well."""
    if seat.source is not None:
        seating._ledger.close(seat.source)
    seating._ledger.settle(seat.account, held)
    conversation.home = seat.account
    seating.changed()


class Queue:
    """Turns that are seated one after the other, and the order in which that happens."""

    def __init__(self, seating: Seating, group: anyio.abc.TaskGroup) -> None:
        self.seating, self.group = seating, group
        self.came: list[str] = []
        self.refused: dict[str, Refused] = {}
        self.seats: dict[str, Seat] = {}
        self.scopes: dict[str, anyio.CancelScope] = {}

    async def come(
        self, key: str, prompt: int = 300, without: Sequence[str] = (), *, again: bool = False
    ) -> None:
        self.group.start_soon(self._take, key, prompt, without, again)
        await anyio.wait_all_tasks_blocked()

    async def leave(self, key: str) -> None:
        self.seating._ledger.close(self.seats.pop(key).account)
        self.seating.changed()
        await anyio.wait_all_tasks_blocked()

    async def _take(self, key: str, prompt: int, without: Sequence[str], again: bool) -> None:
        with anyio.CancelScope() as self.scopes[key]:
            try:
                self.seats[key] = await self.seating.take(
                    Conversation(key), turn(key, prompt), without, again=again
                )
                self.came.append(key)
            except Refused as error:
                self.refused[key] = error


@contextlib.asynccontextmanager
async def queue(seating: Seating) -> AsyncIterator[Queue]:
    """Ends with everybody seated or refused, within seconds."""
    with anyio.fail_after(20.0):
        async with anyio.create_task_group() as group:
            yield Queue(seating, group)
            group.cancel_scope.cancel()


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


async def test_those_that_wait_are_seated_in_the_order_in_which_they_came(desk: Desk) -> None:
    seating = desk(replica('d', slots=1))
    async with queue(seating) as line:
        for key in ('ann', 'bob', 'cy', 'dee'):
            await line.come(key)
        assert line.came == ['ann']
        assert seating.waiting == 3
        for key in ('ann', 'bob', 'cy'):
            await line.leave(key)
        assert line.came == ['ann', 'bob', 'cy', 'dee']
        assert seating.waiting == 0


async def test_a_newcomer_that_would_fit_does_not_overtake(desk: Desk) -> None:
    seating = desk(replica('d', slots=3, kv=1000))
    async with queue(seating) as line:
        await line.come('ann', 500)  # 600 of 1,000 tokens
        await line.come('bob', 500)
        await line.come('cy', 100)
        assert line.came == ['ann']
        await line.leave('ann')
        assert line.came == ['ann', 'bob', 'cy']


@pytest.mark.parametrize('comes', [{'without': ['lost']}, {'again': True}])
async def test_who_is_unseated_by_a_lost_replica_goes_before_the_others_and_is_let_in_again(
    desk: Desk, comes: dict[str, Any]
) -> None:
    seating = desk(replica('d', slots=1), replica('lost', slots=1))
    seating._states['lost'].up = False
    async with queue(seating) as line:
        for key in ('ann', 'bob'):
            await line.come(key)
        await line.come('cy', **comes)
        seating.admission.admit(10_000_000)  # no newcomer comes in for hours
        await line.leave('ann')
        assert line.came == ['ann', 'cy']
        await line.leave('cy')
        assert line.came == ['ann', 'cy']


async def test_who_lives_somewhere_waits_behind_nobody(desk: Desk) -> None:
    seating, ann = desk(replica('d', slots=1)), Conversation('ann')
    settle(seating, ann, await seating.take(ann, turn('ann')), 380)
    async with queue(seating) as line:
        await line.come('bob')
        assert seating.waiting == 1
        seating.admission.admit(10_000_000)
        seat = await seating.take(ann, turn('ann', 420, number=2))
        assert seat.account is ann.home


async def test_a_wait_has_a_deadline_and_says_what_was_missing(desk: Desk, clock: VirtualClock) -> None:
    seating = desk(replica('d', slots=1), wait=5.0)
    async with queue(seating) as line:
        for key in ('ann', 'bob', 'cy'):
            await line.come(key)
        clock.advance(4.9)
        seating.changed()
        await anyio.wait_all_tasks_blocked()
        assert not line.refused
        clock.advance(0.2)
        seating.changed()
        await anyio.wait_all_tasks_blocked()
        assert [*line.refused] == ['bob', 'cy']
        assert {str(error) for error in line.refused.values()} == {'every slot is taken by a conversation'}
        assert all(error.retry_after >= 5.0 for error in line.refused.values())
        assert seating.waiting == 0
        assert [each.conversation for each in seating._ledger.accounts()] == ['ann']


async def test_without_patience_a_turn_is_refused_at_once(desk: Desk) -> None:
    seating = desk(replica('d', slots=1), wait=0.0)
    await seating.take(Conversation('ann'), turn('ann'))
    with pytest.raises(Refused, match='every slot is taken by a conversation') as caught:
        await seating.take(Conversation('bob'), turn('bob'))
    assert (caught.value.retry_after, caught.value.status) == (1.0, 429)


async def test_no_turn_waits_beyond_its_own_time(desk: Desk, clock: VirtualClock) -> None:
    seating = desk(replica('d', slots=1), wait=600.0)
    await seating.take(Conversation('ann'), turn('ann'))
    with anyio.fail_after(5), pytest.raises(Refused, match='every slot is taken by a conversation'):
        await seating.take(Conversation('bob'), turn('bob'), until=clock.monotonic())
    assert seating.waiting == 0


async def test_no_more_wait_than_may(desk: Desk) -> None:
    seating = desk(replica('d', slots=1), waiting=1)
    async with queue(seating) as line:
        for key in ('ann', 'bob', 'cy'):
            await line.come(key)
        assert str(line.refused['cy']) == 'others wait for room, and 1 turns are waiting'
        assert seating.waiting == 1


async def test_cancellation_leaves_nothing_behind(desk: Desk) -> None:
    seating = desk(replica('p', 'prefill', slots=1), replica('d', 'decode', slots=1))
    async with queue(seating) as line:
        for key in ('ann', 'bob', 'cy'):
            await line.come(key)
        line.scopes['bob'].cancel()
        await anyio.wait_all_tasks_blocked()
        assert seating.waiting == 1
        source = line.seats['ann'].source
        assert source is not None
        seating._ledger.close(source)
        await line.leave('ann')
        assert line.came == ['ann', 'cy'], 'who waited behind it is told'
        assert {each.conversation for each in seating._ledger.accounts()} == {'cy'}


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
