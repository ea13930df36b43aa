from __future__ import annotations

import contextlib
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet, body, messages

from pace_ros.serving.conversations import TooMany
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaSlow
from pace_ros.serving.seating import Refused
from pace_ros.serving.simulated_replica import written

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))


async def test_a_first_turn_is_read_on_the_prefiller_and_its_cache_moves_once(fleet: SimulatedFleet) -> None:
    first = await fleet.ask('v', LONG)
    prompt = len(written(messages(LONG)).split())
    assert (fleet['p'].reads, fleet['d1'].reads) == (prompt, 1)
    second = await fleet.ask('v', LONG, first, 'and then?')
    later = len(written(messages(LONG, first, 'and then?')).split())
    assert fleet['p'].reads == prompt
    assert fleet['d1'].reads == 1 + later - (prompt + 4)  # 5 words of answer, the last never fed back
    assert second
    assert (fleet.gateway.tally.handed_over, fleet.gateway.tally.turns, fleet.gateway.tally.drift) == (1, 2, 0)
    fleet.check()


async def test_the_answer_is_that_of_a_replica_alone(fleet: SimulatedFleet) -> None:
    assert await fleet.ask('v', LONG) == ' '.join(fleet['d1'].answer(written(messages(LONG)).split()))


async def test_conversations_share_the_decoders(fleet: SimulatedFleet) -> None:
    for key in 'abcd':
        await fleet.ask(key, LONG)
    assert sorted(fleet.home(key) for key in 'abcd') == ['d1', 'd1', 'd2', 'd2']
    with pytest.raises(Refused):
        await fleet.ask('e', LONG)
    assert (fleet.gateway.tally.refused, len(fleet.gateway.conversations)) == (1, 4)
    fleet.check()


async def test_a_decoder_that_dies_before_its_first_token_costs_time_alone(fleet: SimulatedFleet) -> None:
    first = await fleet.ask('v', LONG)
    assert fleet.home('v') == 'd1'
    fleet['d1'].faults.dies_after = 0
    assert await fleet.ask('v', LONG, first, 'next')
    assert fleet.home('v') == 'd2'
    tally = fleet.gateway.tally
    assert (tally.rebound, tally.deaths, tally.failed, tally.turns, tally.handed_over) == (1, 1, 0, 2, 2)
    fleet.check()


async def test_a_turn_that_has_cost_two_replicas_does_not_cost_the_third(fleet: SimulatedFleet) -> None:
    for replica in fleet.replicas.values():
        replica.faults.kills.add('completions')
    with pytest.raises(ReplicaDown, match='d1'):
        await fleet.ask('v', LONG)
    assert [name for name, each in fleet.replicas.items() if each.faults.dead] == ['p', 'd1']
    assert (fleet.gateway.tally.deaths, fleet.gateway.tally.failed) == (2, 1)
    fleet['d2'].faults.kills.clear()
    assert await fleet.ask('w', LONG)
    fleet.check()


async def test_its_other_conversations_are_bound_anew_too(fleet: SimulatedFleet) -> None:
    said = {key: await fleet.ask(key, f'{key} {LONG}') for key in 'abc'}
    assert [fleet.home(key) for key in 'abc'] == ['d1', 'd2', 'd1']
    fleet['d1'].kill()
    assert await fleet.ask('a', f'a {LONG}', said['a'], 'next')
    assert [fleet.home(key) for key in 'abc'] == ['d2', 'd2', None]
    fleet.check()


async def test_a_decoder_that_dies_in_the_middle_is_an_error(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.dies_after = 2
    async with contextlib.aclosing(fleet.gateway.answer('v', body(LONG))) as chunks:
        for _ in range(3):  # the role, and two words
            await anext(chunks)
        with pytest.raises(ReplicaDown, match='d1'):
            await anext(chunks)
    assert (fleet.gateway.tally.failed, fleet.gateway.tally.rebound) == (1, 0)
    assert await fleet.ask('v', LONG)
    assert fleet.home('v') == 'd2'
    fleet.check()


async def test_a_broken_connection_is_no_death(fleet: SimulatedFleet) -> None:
    other = await fleet.ask('other', LONG)
    assert fleet.home('other') == 'd1'
    await fleet.ask('v', LONG)
    fleet['d2'].faults.breaks_after = 0
    assert await fleet.ask('v', LONG, 'so', 'next')
    assert fleet.gateway.tally.deaths == 0
    assert await fleet.ask('other', LONG, other, 'next')
    assert (fleet.home('other'), fleet.home('v')) == ('d1', 'd1')
    fleet.check()


async def test_a_fleet_of_one_tries_once_more(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, roles={'one': 'both'}, hands_over=False)
    fleet['one'].faults.resets.add('completions')
    with pytest.raises(ReplicaDown):
        await fleet.ask('v', 'hello')
    assert [name for name, _ in fleet['one'].seen].count('completions') == 2
    fleet['one'].faults.resets.clear()
    assert await fleet.ask('v', 'hello')


async def test_an_answer_that_ends_without_a_last_word_is_an_error(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.ends_after = 1
    with pytest.raises(ReplicaDown, match='in the middle'):
        await fleet.ask('v', LONG)


@pytest.mark.parametrize('fault', ['dies', 'resets', 'hangs', 'fails'])
async def test_where_the_prefiller_fails_the_decoder_reads(fleet: SimulatedFleet, fault: str) -> None:
    faults = fleet['p'].faults
    if fault == 'dies':
        faults.kills.add('completions')
    elif fault == 'resets':
        faults.resets.add('completions')
    elif fault == 'hangs':
        faults.hangs.add('completions')
    else:
        faults.refuses['completions'] = 500, 'compute error'
    assert await fleet.ask('v', LONG)
    assert fleet['d1'].reads == len(written(messages(LONG)).split())
    assert (fleet.gateway.tally.hand_overs_failed, fleet.gateway.tally.handed_over) == (1, 0)
    fleet.check()


async def test_a_prefiller_killed_during_hand_over_is_lost(fleet: SimulatedFleet) -> None:
    fleet['p'].faults.kills.add('save')
    assert await fleet.ask('v', LONG)
    tally = fleet.gateway.tally
    assert (tally.deaths, tally.hand_overs_failed, tally.rebound, tally.turns) == (1, 1, 0, 1)
    assert not fleet.gateway.states['p'].well
    fleet.check()
    assert await fleet.ask('w', LONG)  # with nobody to hand over, it is read where it is answered
    assert (tally.hand_overs_failed, fleet.home('w')) == (1, 'd2')
    fleet.check()


async def test_a_decoder_killed_during_hand_over_is_left(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.kills.add('restore')
    assert await fleet.ask('v', LONG)
    assert (fleet.home('v'), fleet.gateway.tally.rebound, fleet.gateway.tally.deaths) == ('d2', 1, 1)
    fleet.check()


async def test_a_slow_decoder_is_left_before_its_first_token(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.stalls_after = 0
    assert await fleet.ask('v', LONG)
    assert (fleet.home('v'), fleet.gateway.tally.rebound, fleet.gateway.tally.deaths) == ('d2', 1, 0)
    fleet.check()


async def test_a_decoder_that_stalls_in_the_middle_is_an_error(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.stalls_after = 2
    with pytest.raises(ReplicaSlow, match='d1 gave no token within'):
        await fleet.ask('v', LONG)
    fleet.check()


async def test_without_a_replica_that_is_well_turns_are_refused(fleet: SimulatedFleet) -> None:
    for replica in fleet.replicas.values():
        replica.kill()
    with pytest.raises(Refused, match='no replica is well'):
        await fleet.ask('v', LONG)
    assert (fleet.gateway.tally.deaths, len(fleet.gateway.conversations)) == (3, 0)


async def test_a_decoder_that_fails_is_no_end(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.refuses['completions'] = 500, 'failed to find free space in the KV cache'
    assert await fleet.ask('v', LONG)
    assert fleet.home('v') == 'd2'
    fleet.check()


async def test_what_a_server_lost_in_silence_is_counted(fleet: SimulatedFleet) -> None:
    first = await fleet.ask('v', LONG)
    fleet['d1'].slots[0].held = ['<user>', 'w0']
    await fleet.ask('v', LONG, first, 'next')
    assert fleet.gateway.tally.drift == len(written(messages(LONG)).split()) - 2
    fleet.check()


async def test_a_history_that_the_client_changed_is_no_drift(fleet: SimulatedFleet) -> None:
    await fleet.ask('v', LONG)
    await fleet.ask('v', f'{LONG} indeed', 'something else', 'next')
    assert fleet.gateway.tally.drift == 0
    fleet.check()


async def test_a_turn_that_is_too_long_is_refused_for_good(fleet: SimulatedFleet) -> None:
    with pytest.raises(Refused) as refused:
        await fleet.ask('v', f'{LONG} {LONG} {LONG}')
    assert refused.value.retry_after == float('inf')
    assert len(fleet.gateway.conversations) == 0


async def test_an_answer_of_no_given_length_takes_what_there_is(fleet: SimulatedFleet) -> None:
    async for _ in fleet.gateway.answer('v', {'messages': messages(LONG)}):
        pass
    asked = next(asked for name, asked in fleet['d1'].seen if name == 'completions')
    assert asked['max_tokens'] == 256 - len(written(messages(LONG)).split())


async def test_an_answer_is_cut_to_the_room_that_there_is(fleet: SimulatedFleet) -> None:
    prompt = len(written(messages(LONG)).split())
    assert await fleet.ask('v', LONG, max_tokens=1000)
    asked = next(asked for name, asked in fleet['d1'].seen if name == 'completions')
    assert asked['max_tokens'] == 256 - prompt
    almost = ' '.join(f'w{number}' for number in range(252))  # and three words of the template
    assert len((await fleet.ask('w', almost, max_tokens=1000)).split()) == 1
    with pytest.raises(Refused, match='257 tokens are more than a context of 256'):
        await fleet.ask('x', f'{almost} more', max_tokens=1000)


async def test_refusals_say_whose_fault_it_is(fleet: SimulatedFleet) -> None:
    for key in 'abcd':
        await fleet.ask(key, LONG)
    with pytest.raises(Refused) as full:
        await fleet.ask('e', LONG)
    for name in ('d1', 'd2'):
        fleet.gateway.lost(name)
    with pytest.raises(Refused, match='no decoder is well') as out:
        await fleet.ask('f', LONG)
    fleet.gateway.lost('p')
    with pytest.raises(Refused, match='no replica is well') as all_out:
        await fleet.ask('f', LONG)
    assert [each.value.status for each in (full, out, all_out)] == [429, 503, 503]
    assert fleet.gateway.tally.refused == 3


async def test_more_conversations_than_there_may_be_are_counted(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'limits': {'conversations': 1}})
    await fleet.ask('v', LONG)
    with pytest.raises(TooMany):
        await fleet.ask('w', LONG)
    assert fleet.gateway.tally.refused == 1


async def test_a_turn_that_would_wait_where_nobody_may_costs_nothing(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'admission': {'wait': 60.0, 'waiting': 1}}, slots=1)
    said = [await fleet.ask(key, LONG) for key in 'ab']
    async with anyio.create_task_group() as group:
        group.start_soon(fleet.ask, 'c', LONG)
        await anyio.wait_all_tasks_blocked()
        before = [len(each.seen) for each in fleet.replicas.values()]
        with pytest.raises(Refused, match='others wait for room, and 1 turns are waiting'):
            await fleet.ask('d', LONG)
        assert [len(each.seen) for each in fleet.replicas.values()] == before
        assert await fleet.ask('a', LONG, said[0], 'next'), 'who lives somewhere waits behind nobody'
        group.cancel_scope.cancel()
    fleet.check()
