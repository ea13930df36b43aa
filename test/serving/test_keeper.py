from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet, messages

from pace_ros.clock import VirtualClock
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


async def test_a_mistake_in_a_look_does_not_end_the_looking(
    fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    looked = []

    async def fail() -> None:
        looked.append(1)
        raise KeyError('oops')

    monkeypatch.setattr(fleet.keeper, 'look', fail)
    object.__setattr__(fleet.fleet.settings, 'health_period', 0.001)
    with anyio.move_on_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.keeper.run)
            while len(looked) < 3:  # noqa: ASYNC110  the keeper tells nobody
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
    assert len(looked) >= 3
    assert 'a look at the fleet failed' in caplog.text
