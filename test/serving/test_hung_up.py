"""Clients that hang up: the ledger settles, the conversation stays for a while, for the visitor who interrupts."""
from __future__ import annotations

import contextlib
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet, body, messages

from pace_ros.clock import VirtualClock
from pace_ros.serving.simulated_replica import written

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))


@pytest.fixture
def fleet(tmp_path: Path, clock: VirtualClock) -> SimulatedFleet:
    return SimulatedFleet(tmp_path, clock=clock)


async def hang_up_after(fleet: SimulatedFleet, words: int, *turns: str) -> None:
    async with contextlib.aclosing(fleet.gateway.answer('v', body(*turns))) as chunks:
        for _ in range(1 + words):  # the role first
            await anext(chunks)


async def test_an_interrupted_answer_leaves_the_conversation_at_home(fleet: SimulatedFleet) -> None:
    await hang_up_after(fleet, 2, LONG)
    assert fleet.home('v') == 'd1'
    assert fleet['d1'].closed == 1  # the server has been told
    await fleet.keeper.look()
    fleet.check()
    reads = fleet['d1'].reads
    await fleet.ask('v', LONG, 'cut off', 'but tell me')
    assert fleet.home('v') == 'd1'
    assert fleet['d1'].reads - reads < 10
    assert fleet.gateway.tally.drift == 0
    assert (fleet.gateway.tally.hung_up, fleet.gateway.tally.turns) == (1, 1)
    assert fleet.gateway.tally.answered == 2 + 5


async def test_it_ends_after_its_grace(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    await hang_up_after(fleet, 2, LONG)
    clock.advance(29.0)
    await fleet.keeper.look()
    assert fleet.home('v') == 'd1'
    clock.advance(2.0)
    await fleet.keeper.look()
    assert (fleet.home('v'), fleet.gateway.tally.ended) == (None, {'idle': 1})
    assert fleet['d1'].slots[0].held == []
    fleet.check()


async def test_a_client_that_hangs_up_before_the_first_token(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.stalls_after = 0
    async with anyio.create_task_group() as group:
        group.start_soon(fleet.ask, 'v', LONG)
        while fleet['d1'].reads == 0:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert fleet.home('v') == 'd1'
    assert fleet.gateway.ledger.held('d1') == len(written(messages(LONG)).split())
    await fleet.keeper.look()
    fleet.check()


async def test_its_slot_holds_less_than_it_was_taken_for_and_that_is_no_drift(
    fleet: SimulatedFleet, clock: VirtualClock,
) -> None:
    await hang_up_after(fleet, 2, LONG)
    fleet['d1'].slots[0].held = fleet['d1'].slots[0].held[:-1]
    clock.advance(1.0)
    await fleet.keeper.look()
    assert fleet.gateway.tally.drift == 0
    fleet.check()


async def test_a_turn_that_waits_for_another_of_its_conversation_can_hang_up(fleet: SimulatedFleet) -> None:
    async with contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks:
        await anext(chunks)
        with anyio.move_on_after(0.05):
            await fleet.ask('v', LONG)
        conversation = fleet.gateway.conversations.get('v')
        assert conversation is not None
        assert conversation.under_way == 1
        assert conversation.until <= fleet.clock.monotonic() + 30.0, 'its grace, no more'
    fleet.check()


async def test_turns_of_one_conversation_do_not_pile_up(fleet: SimulatedFleet) -> None:
    async with contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks:
        await anext(chunks)
        async with anyio.create_task_group() as group:
            for _ in range(7):
                group.start_soon(fleet.ask, 'v', LONG)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RuntimeError, match='8 turns of this conversation are there already'):
                await fleet.ask('v', LONG)
            group.cancel_scope.cancel()
    assert fleet.gateway.tally.refused == 1
    fleet.check()


async def test_a_conversation_that_ends_while_a_turn_waits_begins_anew(fleet: SimulatedFleet) -> None:
    said = []

    async def ask() -> None:
        said.append(await fleet.ask('v', LONG))

    async with (
        anyio.create_task_group() as group, contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks,
    ):
        await anext(chunks)
        conversation = fleet.gateway.conversations.get('v')
        assert conversation is not None
        group.start_soon(fleet.gateway.end, conversation, 'told')
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
    assert said[0]
    assert fleet.gateway.tally.handed_over == 2
    fleet.check()
