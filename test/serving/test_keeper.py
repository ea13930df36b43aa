from __future__ import annotations

import contextlib
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet, messages

from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.serving import gateway, keeper
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.simulated_replica import written

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))
PROMPT = len(written(messages(LONG)).split())


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fleet(tmp_path: Path, clock: VirtualClock) -> SimulatedFleet:
    return SimulatedFleet(tmp_path, clock=clock)


async def looks(fleet: SimulatedFleet, clock: VirtualClock, times: int) -> None:
    for _ in range(times):
        clock.advance(2.0)
        await fleet.keeper.look()


async def test_two_missed_looks_are_no_death(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    await fleet.ask('v', LONG)
    fleet['d1'].faults.hangs.add('health')
    await looks(fleet, clock, 2)
    assert fleet.home('v') == 'd1'
    fleet['d1'].faults.hangs.clear()
    await looks(fleet, clock, 1)
    fleet['d1'].faults.hangs.add('health')
    await looks(fleet, clock, 2)
    assert (fleet.home('v'), fleet.gateway.tally.deaths) == ('d1', 0)


async def test_the_third_is(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    await fleet.ask('v', LONG)
    fleet['d1'].kill()
    await looks(fleet, clock, 3)
    assert (fleet.home('v'), fleet.gateway.tally.deaths) == (None, 1)
    await looks(fleet, clock, 3)
    assert fleet.gateway.tally.deaths == 1
    fleet.check()


async def test_a_replica_that_answers_turns_is_not_dead(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    state = fleet.gateway.states['d1']
    fleet['d1'].faults.hangs.add('health')

    for _ in range(5):
        clock.advance(2.0)
        state.client.heard = clock.monotonic() - 1.0
        await fleet.keeper.look()
    assert (state.well, state.misses) == (True, 0)


async def test_what_a_lost_replica_held_is_not_trusted(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    first = await fleet.ask('v', LONG)
    stale = list(fleet['d1'].slots[0].held or ())
    fleet['d1'].kill()
    await looks(fleet, clock, 3)
    fleet['d1'].revive()
    fleet['d1'].slots[0].held = [*stale[:10], 'other']
    await looks(fleet, clock, 1)
    assert fleet.gateway.states['d1'].well
    assert fleet.gateway.ledger.held('d1') == 0
    assert await fleet.ask('v', LONG, first, 'next')
    assert (fleet.gateway.tally.handed_over, fleet.gateway.tally.drift) == (2, 0)
    fleet.check()


async def test_a_server_that_was_restarted_unseen_is_found_out(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    first = await fleet.ask('v', LONG)
    fleet['d1'].revive()
    await looks(fleet, clock, 1)
    assert fleet.gateway.tally.drift == PROMPT
    assert fleet.gateway.ledger.held('d1') == 0
    assert fleet.home('v') == 'd1'
    assert await fleet.ask('v', LONG, first, 'next')
    assert fleet.gateway.tally.drift == PROMPT  # said once
    fleet.check()


async def test_a_server_without_a_list_of_its_slots_is_believed(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    await fleet.ask('v', LONG)
    fleet['d1'].faults.refuses['slots'] = 501, 'This server does not support slots endpoint.'
    await looks(fleet, clock, 4)
    assert fleet.home('v') == 'd1'
    fleet.check()


@pytest.mark.parametrize(('slots', 'context'), [(1, 256), (2, 128)])
async def test_a_server_that_is_not_what_the_fleet_file_says_is_left_out(
    fleet: SimulatedFleet, clock: VirtualClock, caplog: pytest.LogCaptureFixture, slots: int, context: int,
) -> None:
    del fleet['d1'].slots[slots:]
    fleet['d1'].context = context
    await looks(fleet, clock, 2)
    said = [each.message for each in caplog.records if 'left out' in each.message]
    assert said == [f'replica d1 has {slots} slots of {context} tokens, the fleet file says 2 of 256: it is left out']
    await fleet.ask('v', 'hello')
    assert fleet.home('v') == 'd2'


async def test_a_server_that_wants_another_key_is_left_out_and_that_is_said_once(
    fleet: SimulatedFleet, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    fleet['d1'].api_key = 'another'
    await looks(fleet, clock, 2)
    said = [each.message for each in caplog.records if 'left out' in each.message]
    assert said == ['replica d1 does not take the key of the gateway: it is left out']
    await fleet.ask('v', 'hello')
    assert fleet.home('v') == 'd2'
    fleet['d1'].api_key = ''
    await looks(fleet, clock, 1)
    assert fleet.gateway.states['d1'].well


async def test_one_that_has_never_answered_is_not_waited_for(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    fleet['d1'].kill()
    await looks(fleet, clock, 1)
    assert [each.name for each in fleet.gateway.states.values() if each.well] == ['p', 'd2']


async def test_nobody_waits_for_a_replica_that_is_slow_to_be_looked_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, 'EMPTYING', 0.2)
    patient = {'hand_over': 60.0, 'connect': 60.0}
    fleet = SimulatedFleet(tmp_path, {'health_period': 0.1, 'idle': 1.0, 'deadlines': patient}, clock=SystemClock())
    await fleet.ask('v', LONG)
    conversation = fleet.gateway.conversations.get('v')
    assert conversation is not None
    conversation.until = 0.0  # it is over
    fleet[fleet.home('v') or ''].faults.hangs |= {'health', 'slots', 'erase'}
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.keeper.run)
            for wanted in (False, True):
                if not wanted:
                    fleet['d2'].kill()
                else:
                    fleet['d2'].revive()
                while fleet.gateway.states['d2'].well is not wanted:  # noqa: ASYNC110  the keeper tells nobody
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()


async def test_a_turn_that_comes_just_before_its_conversation_ends_is_not_waited_for(
    fleet: SimulatedFleet, clock: VirtualClock
) -> None:
    await fleet.ask('v', LONG)
    clock.advance(601.0)
    [conversation] = fleet.gateway.conversations.over()
    async with contextlib.aclosing(fleet.chunks('v', LONG)) as chunks:
        await anext(chunks)
        with anyio.fail_after(1):
            await fleet.gateway.end(conversation, 'idle')
    assert (fleet.home('v'), fleet.gateway.tally.ended) == ('d1', {})
    fleet.check()


async def test_a_mistake_in_a_look_does_not_end_the_looking(
    fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    looked = []

    async def fail(state: ReplicaState) -> None:
        looked.append(state.name)
        raise KeyError('oops')

    monkeypatch.setattr(fleet.keeper, '_look_at', fail)
    object.__setattr__(fleet.fleet.settings, 'health_period', 0.001)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.keeper.run)
            while len(looked) < 9:  # noqa: ASYNC110  the keeper tells nobody
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
    assert {*looked} == {'p', 'd1', 'd2'}
    await fleet.keeper.look()
    assert 'a look at the fleet failed' in caplog.text


@pytest.mark.parametrize('fault', ['hangs', 'resets'])
async def test_one_that_is_lost_is_back_once_it_does_more_than_say_that_it_is_well(
    fleet: SimulatedFleet, clock: VirtualClock, fault: str
) -> None:
    fleet['d1'].kill()
    await looks(fleet, clock, 1)
    fleet['d1'].revive()
    getattr(fleet['d1'].faults, fault).add('slots')
    await looks(fleet, clock, 1)
    assert not fleet.gateway.states['d1'].up
    fleet['d1'].revive()
    await looks(fleet, clock, 1)
    assert fleet.gateway.states['d1'].well
    getattr(fleet['d1'].faults, fault).add('slots')
    await looks(fleet, clock, 1)
    assert fleet.gateway.states['d1'].well, 'it was not lost'


async def test_a_look_does_not_wait_for_slots_as_long_as_a_hand_over_does(
    tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, 'PATIENCE', 0.01)
    fleet = SimulatedFleet(tmp_path, {'deadlines': {'hand_over': 60.0}}, clock=clock)
    fleet['d1'].faults.hangs.add('slots')
    with anyio.fail_after(5):
        await fleet.keeper.look()
    assert fleet.calls('d1', 'slots') == 1
    assert fleet.gateway.states['d1'].well


async def test_a_mistake_in_the_end_of_one_conversation_is_none_of_the_others(
    fleet: SimulatedFleet, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    ended: list[str] = []

    async def end(conversation: Conversation, _why: str) -> None:
        if conversation.key == 'v':
            raise KeyError('oops')
        await anyio.lowlevel.checkpoint()
        ended.append(conversation.key)

    for key in 'vw':
        await fleet.ask(key, LONG)
    clock.advance(601.0)
    monkeypatch.setattr(fleet.gateway, 'end', end)
    await fleet.keeper.look()
    assert ended == ['w']
    assert 'a look at the fleet failed' in caplog.text


async def test_who_did_not_tell_tokens_is_asked_like_the_others_once_it_is_back(
    fleet: SimulatedFleet, clock: VirtualClock
) -> None:
    state = fleet.gateway.states['p']
    state.untold, state.strikes = 1, 2
    await looks(fleet, clock, 1)
    assert (state.untold, state.well) == (0, True)
    state.untold = 1
    fleet.gateway.lost('p')
    assert state.untold == 0
