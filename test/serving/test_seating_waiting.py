"""Seats: who waits, in which order, and for how long."""
from __future__ import annotations

from typing import Any

import anyio
import pytest
from serving_desk import Desk, queue, replica, settle, turn

from pace_ros.clock import VirtualClock
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.seating import Refused

pytestmark = pytest.mark.anyio


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


async def test_nobody_gives_way_where_that_does_not_help(desk: Desk) -> None:
    asked: list[set[str]] = []

    async def nobody(replicas: set[str]) -> bool:
        asked.append(replicas)
        return False

    seating = desk(replica('p', 'prefill', slots=1), *(replica(name, slots=1) for name in 'abcd'), wait=0.0,
                   make_room=nobody)
    for key in ('ann', 'bob', 'cy', 'dee'):
        await seating.take(Conversation(key), turn(key, 10))
    seating._states['a'].strikes = 2
    seating._states['b'].up = False
    with pytest.raises(Refused):
        await seating.take(Conversation('eve'), turn('eve'), ['c'])
    assert asked == [{'d'}], 'p answers nobody, a is left out, b is lost, c has just failed'


@pytest.mark.parametrize(('wait', 'took', 'times'), [(5.0, 2.0, 3), (0.0, 2.0, 5)])
async def test_room_is_made_no_longer_than_a_turn_waits(
    desk: Desk, clock: VirtualClock, wait: float, took: float, times: int
) -> None:
    """A slot that was emptied may be somebody else's by then; who does not wait is bound by its turn's own time."""
    made = []

    async def slowly(_replicas: set[str]) -> bool:
        clock.advance(took)
        made.append(clock.monotonic())
        return True

    seating = desk(replica('d', slots=1), wait=wait, make_room=slowly)
    await seating.take(Conversation('ann'), turn('ann'))
    with anyio.fail_after(5), pytest.raises(Refused, match='every slot is taken by a conversation'):
        await seating.take(Conversation('bob'), turn('bob'), until=clock.monotonic() + 9.0)
    assert len(made) == times
