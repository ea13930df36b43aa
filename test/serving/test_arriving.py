"""Who tells a prompt's tokens, and whom that says something of."""
from __future__ import annotations

import dataclasses
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet

from pace_ros.serving.arriving import _answer
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.gateway import TELLING
from pace_ros.serving.ledger import Account
from pace_ros.serving.replica_errors import ReplicaRefused

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(100))


async def test_a_request_whose_prompt_two_replicas_cannot_write_is_to_blame(fleet: SimulatedFleet) -> None:
    for replica in fleet.replicas.values():
        replica.faults.refuses['apply-template'] = 500, 'Failed to parse tools'
    with pytest.raises(ReplicaRefused, match='Failed to parse tools') as refused:
        await fleet.ask('v', LONG)
    assert refused.value.status == 400
    assert len([name for each in fleet.replicas.values() for name, _ in each.seen]) == 2
    assert (fleet.gateway.tally.slow, fleet.gateway.tally.failed) == ({}, 1)


async def test_prompts_are_not_told_all_at_once(fleet: SimulatedFleet) -> None:
    for replica in fleet.replicas.values():
        replica.faults.hangs.add('apply-template')
    async with anyio.create_task_group() as group:
        for number in range(TELLING + 20):
            group.start_soon(fleet.ask, f'v{number}', LONG)
        await anyio.wait_all_tasks_blocked()
        assert sum(fleet.calls(name, 'apply-template') for name in fleet.replicas) == TELLING
        group.cancel_scope.cancel()
    fleet.check()


async def test_a_replica_whose_template_fails_where_anothers_does_not_is_to_blame(fleet: SimulatedFleet) -> None:
    fleet['p'].faults.refuses['apply-template'] = 500, 'out of memory'
    state = fleet.gateway.states['p']
    assert await fleet.ask('v', LONG)
    assert (state.untold, fleet.gateway.tally.slow) == (1, {'p': 1})
    assert fleet.calls('d1', 'apply-template') == 1
    assert await fleet.ask('w', LONG)
    assert fleet.calls('p', 'apply-template') == 1, 'it is asked last'
    fleet.check()


async def test_it_is_left_out_where_it_fails_twice_in_a_row(fleet: SimulatedFleet) -> None:
    fleet['p'].faults.refuses |= dict.fromkeys(('apply-template', 'completions'), (500, 'out of memory'))
    assert await fleet.ask('v', LONG)
    assert not fleet.gateway.states['p'].well
    assert (fleet.gateway.tally.slow, fleet.gateway.tally.turns) == ({'p': 2}, 1)
    fleet.check()


@pytest.mark.parametrize(('policy', 'home', 'answer'), [
    ('collocated', 'p', 200 - 150), ('collocated', 'd1', 256 - 150), ('collocated', None, 256 - 150),
    ('pinned', 'd1', 256 - 150), ('pinned', None, 256 - 150),
])
async def test_an_answer_is_cut_to_what_is_left_where_it_is_given(
    tmp_path: Path, policy: str, home: str | None, answer: int
) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': policy})
    shorter = dataclasses.replace(fleet.fleet.replicas[0], context=200)
    fleet.gateway.fleet = dataclasses.replace(fleet.fleet, replicas=(shorter, *fleet.fleet.replicas[1:]))
    lives = None if home is None else Account('v', home, 0)
    assert _answer(fleet.gateway, Conversation('v', home=lives), {'max_tokens': 160}, 150) == answer


async def test_where_roles_say_nothing_a_prefiller_may_have_the_most_room(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': 'round-robin'})
    longer = dataclasses.replace(fleet.fleet.replicas[0], context=1000)
    fleet.gateway.fleet = dataclasses.replace(fleet.fleet, replicas=(longer, *fleet.fleet.replicas[1:]))
    assert _answer(fleet.gateway, Conversation('v'), {'max_tokens': 160}, 500) == 160


async def test_the_only_one_that_is_well_is_believed(fleet: SimulatedFleet) -> None:
    for name in ('p', 'd1'):
        fleet[name].kill()
        fleet.gateway.lost(name)
    fleet['d2'].faults.refuses['apply-template'] = 500, 'Failed to parse tools'
    with pytest.raises(ReplicaRefused, match='Failed to parse tools') as refused:
        await fleet.ask('v', LONG)
    assert (refused.value.status, refused.value.words) == (400, 'Failed to parse tools')
    assert fleet.gateway.tally.slow == {}
