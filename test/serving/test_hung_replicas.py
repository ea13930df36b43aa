"""Replicas that hang and yet answer /health: they are left out after a while, and nobody waits for them for long."""
from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import anyio
import pytest
from serving_fleet import SimulatedFleet

from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.serving.replica_errors import ReplicaDown
from pace_ros.serving.simulated_replica import Faults

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))
FAULTS = {
    'stalls': Faults(stalls_after=0), 'hangs': Faults(hangs={'completions'}),
    'fails': Faults(refuses={'completions': (500, 'compute error')}),
}


@pytest.fixture
def fleet(tmp_path: Path, clock: VirtualClock) -> SimulatedFleet:
    return SimulatedFleet(tmp_path, slots=8, clock=clock)


def patient(folder: Path, clock: VirtualClock | None = None) -> SimulatedFleet:
    """Its deadlines are never reached."""
    long = dict.fromkeys(('prefill', 'hand_over', 'first_token', 'next_token'), 60.0)
    return SimulatedFleet(folder, {'deadlines': long}, slots=8, clock=clock)


async def hang_up(fleet: SimulatedFleet, clock: VirtualClock, after: float, *words: str, at: str = 'd1') -> None:
    """Once a replica has been asked for an answer, after so many s."""
    before = fleet.calls(at, 'completions')
    async with anyio.create_task_group() as group:
        group.start_soon(fleet.ask, 'v', *words)
        with anyio.fail_after(5):
            while fleet.calls(at, 'completions') == before:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        clock.advance(after)
        group.cancel_scope.cancel()


@pytest.mark.parametrize('fault', FAULTS.values(), ids=FAULTS)
async def test_a_decoder_that_fails_twice_is_left_out_until_it_passes_a_probe(
    fleet: SimulatedFleet, fault: Faults
) -> None:
    fleet['d1'].faults = fault
    for key in 'abc':
        assert await fleet.ask(key, LONG)
        assert fleet.home(key) == 'd2'
    assert fleet.calls('d1', 'completions') == 2
    assert not fleet.gateway.states['d1'].well
    assert (fleet.gateway.tally.slow, fleet.gateway.tally.deaths) == ({'d1': 2}, 0)
    await fleet.keeper.look()
    assert not fleet.gateway.states['d1'].well
    fleet['d1'].faults = Faults()
    await fleet.keeper.look()
    assert fleet.gateway.states['d1'].well
    assert await fleet.ask('d', LONG)
    assert fleet.home('d') == 'd1'
    fleet.check()


async def test_what_one_that_is_left_out_holds_is_there_when_it_is_back(fleet: SimulatedFleet) -> None:
    first = await fleet.ask('v', LONG)
    for _ in range(2):
        fleet.gateway.strike(fleet.gateway.states['d1'])
    assert await fleet.ask('w', LONG)
    assert (fleet.home('v'), fleet.home('w')) == ('d1', 'd2')
    await fleet.keeper.look()
    reads = fleet['d1'].reads
    assert await fleet.ask('v', LONG, first, 'next')
    assert fleet['d1'].reads - reads < 10
    fleet.check()


async def test_a_token_in_between_wipes_a_strike_out(fleet: SimulatedFleet) -> None:
    state = fleet.gateway.states['d1']
    for key in 'abc':
        fleet['d1'].faults.stalls_after = 0
        await fleet.ask(key, LONG, 'so', 'next')
        assert state.strikes == 1
        fleet['d1'].faults.stalls_after = None
        await fleet.ask(f'then {key}', LONG)
        assert (fleet.home(f'then {key}'), state.strikes) == ('d1', 0)
        for each in fleet.gateway.conversations:
            await fleet.gateway.end(each, 'told')
    assert state.well


async def test_that_is_the_first_token_not_the_end_of_its_answer(fleet: SimulatedFleet) -> None:
    state = fleet.gateway.states['d1']
    state.strikes = 1
    async with contextlib.aclosing(fleet.chunks('v', LONG)) as chunks:
        await anext(chunks)
        assert (fleet.gateway.tally.turns, state.strikes) == (0, 0)


async def test_a_replica_that_does_not_tell_tokens_is_asked_last(fleet: SimulatedFleet) -> None:
    fleet['p'].faults.hangs.add('tokenize')
    for key in 'abcd':
        assert await fleet.ask(key, LONG)
    assert fleet.calls('p', 'tokenize') == 1
    assert fleet.gateway.tally.handed_over == 4


async def test_one_that_tells_no_tokens_does_not_pass_the_probe(fleet: SimulatedFleet) -> None:
    state = fleet.gateway.states['d1']
    for _ in range(2):
        fleet.gateway.strike(state)
    fleet['d1'].faults.hangs.add('tokenize')
    await fleet.keeper.look()
    assert not state.well
    fleet['d1'].faults.hangs.clear()
    await fleet.keeper.look()
    assert state.well
    fleet.check()


async def test_a_probe_takes_no_slot_of_a_conversation(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=1)
    await fleet.ask('v', LONG)
    held = list(fleet['d1'].slots[0].held or ())
    for _ in range(2):
        fleet.gateway.strike(fleet.gateway.states['d1'])
    await fleet.keeper.look()
    assert fleet.gateway.states['d1'].well
    assert fleet['d1'].slots[0].held == held
    fleet.check()


async def test_a_client_that_gives_up_on_a_stalled_decoder_does_not_live_there(
    fleet: SimulatedFleet, clock: VirtualClock
) -> None:
    first = await fleet.ask('v', LONG)
    fleet['d1'].faults.stalls_after = 0
    await hang_up(fleet, clock, 4.0, LONG, first, 'next')
    assert (fleet.home('v'), fleet.gateway.tally.slow, fleet.gateway.tally.hung_up) == (None, {'d1': 1}, 1)
    await hang_up(fleet, clock, 4.0, LONG, first, 'next')
    assert not fleet.gateway.states['d1'].well
    assert await fleet.ask('v', LONG, first, 'next')
    assert fleet.home('v') == 'd2'
    fleet.check()


async def test_one_that_interrupts_soon_does(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    first = await fleet.ask('v', LONG)
    fleet['d1'].faults.stalls_after = 0
    await hang_up(fleet, clock, 2.0, LONG, first, 'next')
    assert (fleet.home('v'), fleet.gateway.tally.slow, fleet.gateway.tally.hung_up) == ('d1', {}, 1)


async def test_a_long_prompt_may_take_long(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    fleet.gateway.states['p'].rate, fleet.gateway.states['p'].measured = 50.0, True  # 103 tokens: 2 s
    fleet['p'].faults.hangs.add('completions')
    await hang_up(fleet, clock, 6.0, LONG, at='p')
    assert fleet.gateway.tally.slow == {}
    await hang_up(fleet, clock, 7.0, LONG, at='p')
    assert fleet.gateway.tally.slow == {'p': 1}
    fleet.check()


async def test_first_turns_do_not_wait_for_a_hung_prefiller_one_after_the_other(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=8, clock=SystemClock())
    fleet['p'].faults.hangs.add('completions')
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for key in 'abcdefgh':
                group.start_soon(fleet.ask, key, LONG)
    assert fleet.calls('p', 'completions') <= 2
    tally = fleet.gateway.tally
    assert (tally.turns, tally.hand_overs_failed, tally.failed, {*tally.slow}) == (8, 8, 0, {'p'})
    fleet.check()


async def test_who_waits_for_a_prefiller_that_is_left_out_does_not_try_it_as_well(
    tmp_path: Path, clock: VirtualClock
) -> None:
    fleet = patient(tmp_path, clock=clock)
    fleet.gateway.states['p'].strikes, fleet.gateway.states['p'].measured = 1, True
    fleet['p'].faults.hangs.add('completions')
    with anyio.fail_after(5):
        async with anyio.create_task_group() as second, anyio.create_task_group() as first:
            first.start_soon(fleet.ask, 'a', LONG)
            await anyio.wait_all_tasks_blocked()
            second.start_soon(fleet.ask, 'b', LONG)
            await anyio.wait_all_tasks_blocked()
            clock.advance(4.0)  # half of what 103 tokens may take is 3.5 s
            first.cancel_scope.cancel()
    assert (fleet.calls('p', 'completions'), fleet.gateway.tally.turns) == (1, 1)
    assert not fleet.gateway.states['p'].well
    fleet.check()


async def test_a_hand_over_leaves_time_to_answer(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'deadlines': {'prefill': 60.0, 'first_token': 60.0, 'total': 4.0}},
                           clock=SystemClock())
    fleet['p'].faults.hangs.add('completions')
    assert await fleet.ask('v', LONG)
    assert fleet.gateway.tally.slow == {}, 'it had no time to show how slow it is'
    fleet.check()


@pytest.mark.parametrize('lost', ['d1', 'p'])
@pytest.mark.parametrize('call', ['completions', 'save', 'restore'])
async def test_a_replica_that_is_lost_wakes_those_who_wait_for_it(tmp_path: Path, lost: str, call: str) -> None:
    """It is gone without a word: no connection to it ends."""
    fleet = patient(tmp_path)
    for name in ('p', 'd1'):
        fleet[name].faults.hangs |= {call} if name == lost else set()
    hangs = call == 'completions' or (call, lost) in (('save', 'p'), ('restore', 'd1'))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.ask, 'a', LONG)
            group.start_soon(fleet.ask, 'b', f'b {LONG}')  # waits for its turn to be read, or lives on d2
            await anyio.wait_all_tasks_blocked()
            assert (fleet.gateway.tally.turns < 2) == hangs
            fleet.gateway.lost(lost)
    tally = fleet.gateway.tally
    assert (tally.turns, tally.failed, tally.deaths) == (2, 0, 1)
    if hangs:
        assert (tally.rebound, tally.hand_overs_failed) == ((1, 0) if lost == 'd1' else (0, 2))
    fleet[lost].faults = Faults()
    fleet.check()


@pytest.mark.parametrize('lost', ['d1', 'p'])
async def test_a_loss_while_a_prompt_is_read_does_not_make_the_reader_slow(
    tmp_path: Path, clock: VirtualClock, lost: str
) -> None:
    fleet = patient(tmp_path, clock)
    fleet['p'].faults.hangs.add('completions')
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.ask, 'a', LONG)
            await anyio.wait_all_tasks_blocked()
            fleet['p'].faults.hangs.clear()  # the call under way hangs
            clock.advance(4.0)  # half of what 103 tokens may take is 3.5 s
            fleet.gateway.lost(lost)
    assert (fleet.gateway.tally.turns, fleet.gateway.tally.slow, fleet.gateway.states['p'].strikes) == (1, {}, 0)
    fleet[lost].revive()
    fleet.check()


@pytest.mark.parametrize('back', [False, True])
async def test_a_replica_lost_in_the_middle_of_an_answer_is_an_error_at_once(tmp_path: Path, back: bool) -> None:
    fleet = patient(tmp_path)
    fleet['d1'].faults.stalls_after = 2
    with anyio.fail_after(10):
        async with contextlib.aclosing(fleet.chunks('v', LONG)) as chunks:
            for _ in range(3):  # the role, and two words
                await anext(chunks)
            fleet.gateway.lost('d1')
            fleet.gateway.states['d1'].up = back
            with pytest.raises(ReplicaDown, match='d1'):
                await anext(chunks)
    fleet['d1'].faults = Faults()
    fleet.check()


@pytest.mark.parametrize(('lost', 'home'), [('d1', 'd2'), ('p', 'd1')])
async def test_a_replica_that_is_lost_and_back_in_a_hand_over_has_nobodys_slot_overwritten(
    tmp_path: Path, lost: str, home: str
) -> None:
    fleet = patient(tmp_path)

    def goes_and_comes(_path: Any) -> None:
        if not fleet.gateway.tally.deaths:
            fleet.gateway.lost(lost)
            fleet.gateway.states[lost].up = True
            fleet.gateway.ledger.open('another', lost, 10)
            fleet[lost].slots[0].held = ['another']

    fleet['p'].faults.on_saved = goes_and_comes
    with anyio.fail_after(10):
        assert await fleet.ask('v', LONG)
    assert (fleet.home('v'), fleet[lost].slots[0].held) == (home, ['another'])
    account = fleet.gateway.ledger.account('another', lost)
    assert account is not None
    assert (account.slot, account.held, account.reserved) == (0, 0, 10)
    fleet.gateway.ledger.close(account)
    assert fleet.gateway.tally.handed_over == (lost == 'd1')
    fleet.check()
