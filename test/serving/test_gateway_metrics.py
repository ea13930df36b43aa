"""What Prometheus is told."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving_fleet import SimulatedFleet

from pace_ros.clock import VirtualClock
from pace_ros.serving.gateway_metrics import BUCKETS, BY_REPLICA
from pace_ros.serving.seating import Refused
from pace_ros.serving.usage import says_something

pytestmark = pytest.mark.anyio
NAME = 'l2_gateway_first_token_seconds'


@pytest.fixture
def fleet(tmp_path: Path, clock: VirtualClock) -> SimulatedFleet:
    return SimulatedFleet(tmp_path, clock=clock)


@pytest.fixture
def thinks(fleet: SimulatedFleet, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], None]:
    """Sets how long (s) a replica takes from saying that it answers to its first word."""
    def thinks(name: str, seconds: float) -> None:
        def answer(_prompt: list[str]) -> list[str]:
            clock.advance(seconds)
            return ['one', 'two', 'three']

        monkeypatch.setattr(fleet[name], 'answer', answer)

    return thinks


async def told(fleet: SimulatedFleet, turn: str) -> dict[str, float]:
    """Count, sum (s) and buckets by their upper bound, of first or of later turns."""
    text = (await fleet.http.get('/metrics')).text
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    return {each.labels.get('le', each.name.removeprefix(f'{NAME}_')): each.value for each in samples
            if each.name.startswith(NAME) and each.labels['turn'] == turn and not each.name.endswith('_created')}


async def test_first_and_later_turns_are_told_apart(
    fleet: SimulatedFleet, clock: VirtualClock, thinks: Callable[[str, float], None]
) -> None:
    thinks('d1', 0.25)
    async for chunk in fleet.chunks('v', 'hello'):
        clock.advance(8.0 if says_something(chunk) else 0.0)  # however long the rest of the answer takes
    thinks('d1', 2.5)
    await fleet.ask('v', 'hello', 'one two three', 'and then?')
    assert clock.monotonic() == 0.25 + 3 * 8.0 + 2.5
    one, other = await told(fleet, 'first'), await told(fleet, 'later')
    assert (one['count'], one['sum'], one['0.2'], one['0.3'], one['+Inf']) == (1, 0.25, 0, 1, 1)
    assert (other['count'], other['sum'], other['2.0'], other['3.0'], other['+Inf']) == (1, 2.5, 0, 1, 1)


async def test_a_replica_lost_on_the_way_is_part_of_the_time(
    fleet: SimulatedFleet, thinks: Callable[[str, float], None]
) -> None:
    thinks('d1', 0.5)
    thinks('d2', 0.25)
    fleet['d1'].faults.dies_after = 0
    await fleet.ask('v', 'hello')
    assert fleet.home('v') == 'd2'
    found = await told(fleet, 'first')
    assert (found['count'], found['sum']) == (1, 0.75)


async def test_a_turn_without_a_token_has_no_time(fleet: SimulatedFleet) -> None:
    for name in ('p', 'd1', 'd2'):
        fleet[name].kill()
    with pytest.raises(Refused):
        await fleet.ask('v', 'hello')
    for turn in ('first', 'later'):
        found = await told(fleet, turn)
        assert list(found) == [*(str(each) for each in BUCKETS), '+Inf', 'count', 'sum']
        assert set(found.values()) == {0}


async def test_all_that_is_counted_is_told(fleet: SimulatedFleet) -> None:
    tally = fleet.gateway.tally
    for number, each in enumerate(dataclasses.fields(tally), start=1):
        before = getattr(tally, each.name)
        setattr(tally, each.name, number if isinstance(before, int) else {'d1': number})
    text = (await fleet.http.get('/metrics')).text
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    told = {each.name: each.value for each in samples if each.name.endswith('_total') and each.value}
    names = [each.name for each in dataclasses.fields(tally)]
    assert told == {
        f'l2_gateway_{ {"ended": "conversations_ended", "drift_at": "drift"}.get(name, name)}_total': number
        for number, name in enumerate(names, start=1)
    }


async def test_what_is_counted_by_replica_begins_at_zero(fleet: SimulatedFleet) -> None:
    text = (await fleet.http.get('/metrics')).text
    for name in BY_REPLICA:
        assert [line for line in text.splitlines() if line.startswith(f'l2_gateway_{name}_total')] == [
            f'l2_gateway_{name}_total{{replica="{each}"}} 0.0' for each in ('p', 'd1', 'd2')
        ]


async def test_how_long_caches_take_to_be_moved(fleet: SimulatedFleet, clock: VirtualClock) -> None:
    fleet['p'].faults.on_saved = lambda _path: clock.advance(0.25)
    await fleet.ask('v', 'hello')
    fleet['p'].faults.on_saved = lambda path: path.unlink()
    await fleet.ask('w', 'hello, too')  # is not moved
    lines = (await fleet.http.get('/metrics')).text.splitlines()
    for line in ('count 1.0', 'sum 0.25', 'bucket{le="0.2"} 0.0', 'bucket{le="0.5"} 1.0'):
        assert f'l2_gateway_hand_over_seconds_{line}' in lines


async def test_without_a_folder_nothing_is_moved(tmp_path: Path) -> None:
    text = (await SimulatedFleet(tmp_path, hands_over=False).http.get('/metrics')).text
    assert 'hand_over_seconds' not in text


def test_the_buckets_reach_from_50_ms_to_a_minute() -> None:
    assert (BUCKETS[0], BUCKETS[-1], list(BUCKETS)) == (0.05, 60.0, sorted(set(BUCKETS)))
