"""Conversations that end, and what becomes of their slots."""
from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet, body

from pace_ros.serving.policies import Predicted
from pace_ros.serving.replica_errors import ReplicaDown
from pace_ros.serving.seating import Refused

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))


@pytest.mark.parametrize('policy', ['pinned', 'disaggregated'])
async def test_what_is_given_back_is_emptied_where_slots_share_a_cache(tmp_path: Path, policy: str) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': policy}, kv=512)
    for key in 'ab':
        await fleet.ask(key, key)
    fleet['d1'].faults.breaks_after = fleet['d2'].faults.breaks_after = 1
    with pytest.raises(ReplicaDown):
        await fleet.ask('c', LONG)
    held = {name: sum(bool(each.held) for each in replica.slots) for name, replica in fleet.replicas.items()}
    assert held == ({'p': 0, 'd1': 1, 'd2': 1} if policy == 'pinned' else {'p': 0, 'd1': 0, 'd2': 0})
    fleet.check()


async def test_a_slot_that_the_server_chose_is_left_to_it(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': 'least-loaded'}, kv=512)
    await fleet.ask('a', LONG)
    assert [fleet.calls(name, 'erase') for name in fleet.replicas] == [0, 0, 0]


async def test_where_each_slot_has_its_own_the_next_prompt_may_begin_like_the_last(fleet: SimulatedFleet) -> None:
    await fleet.ask('v', LONG)
    reads = fleet['p'].reads
    await fleet.ask('w', f'{LONG} and more')
    assert fleet['p'].reads - reads < 10
    assert fleet.calls('p', 'erase') == 0


async def test_who_is_told_to_end_while_a_turn_is_under_way_ends_with_it(fleet: SimulatedFleet) -> None:
    async with contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks:
        await anext(chunks)
        conversation = fleet.gateway.conversations.get('v')
        assert conversation is not None
        with anyio.fail_after(1):
            for why in ('told', 'told', 'idle'):
                await fleet.gateway.end(conversation, why)
        assert fleet.gateway.conversations.get('v') is conversation
        assert [chunk async for chunk in chunks]
    assert (len(fleet.gateway.conversations), fleet.gateway.tally.ended) == (0, {'told': 1})
    assert fleet['d1'].slots[0].held == []
    fleet.check()


async def test_two_who_end_a_conversation_end_it_once(fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(fleet.gateway.policy, 'forget', forgotten.append)
    await fleet.ask('v', LONG)
    conversation = fleet.gateway.conversations.get('v')
    assert conversation is not None
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(fleet.gateway.end, conversation, 'told')
    await fleet.ask('v', LONG)
    await fleet.gateway.end(conversation, 'told')
    assert (forgotten, fleet.gateway.tally.ended) == (['v'], {'told': 1})
    assert fleet.home('v') is not None
    fleet.check()


async def test_an_answer_under_way_is_one_for_the_policy_until_it_has_ended_however_it_does(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': 'predicted'})
    policy = fleet.gateway.policy
    assert isinstance(policy, Predicted)

    def counted() -> int:
        return sum(policy._lengths._count.values())

    fleet['d1'].faults.stalls_after = fleet['d2'].faults.stalls_after = 1
    async with contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks:
        await anext(chunks)
        assert counted() == 1
    assert counted() == 0
    fleet['d1'].faults.breaks_after = fleet['d2'].faults.breaks_after = 0
    with pytest.raises(ReplicaDown):
        await fleet.ask('v', LONG, 'so', 'next')
    assert counted() == 0


async def test_who_comes_under_a_key_that_is_being_ended_begins_anew(fleet: SimulatedFleet) -> None:
    """The old slot is emptied over HTTP: meanwhile its account belongs to nobody else."""
    first = await fleet.ask('v', LONG)
    conversation = fleet.gateway.conversations.get('v')
    assert conversation is not None
    fleet['d1'].faults.hangs.add('erase')
    ending = asyncio.ensure_future(fleet.gateway.end(conversation, 'told'))
    await asyncio.sleep(0)
    assert await fleet.ask('v', LONG, first, 'next')
    await ending
    assert fleet.gateway.conversations.get('v') is not conversation
    assert fleet.gateway.tally.ended == {'told': 1}
    fleet.check()


async def test_nobody_gives_up_a_slot_on_a_replica_that_is_left_out(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=1)
    for key in 'ab':
        await fleet.ask(key, LONG)
    left_out = fleet.gateway.conversations.get('a')
    assert left_out is not None
    left_out.derived = True
    for _ in range(2):
        fleet.gateway.strike(fleet.gateway.states['d1'])
    with pytest.raises(Refused, match='every slot is taken by a conversation'):
        await fleet.ask('c', LONG)
    assert (fleet.home('a'), fleet.gateway.tally.ended) == ('d1', {})
    fleet.gateway.states['d1'].strikes = 0
    assert await fleet.ask('c', LONG)
    assert (fleet.home('c'), fleet.gateway.tally.ended) == ('d1', {'gave way': 1})
    fleet.check()
