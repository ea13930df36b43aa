"""Who is first, and who is told."""
from __future__ import annotations

import anyio
import pytest
from anyio.abc import TaskStatus

from pace_ros.serving.waiting_line import WaitingLine


def test_who_came_first_is_first_but_behind_those_who_come_again() -> None:
    line = WaitingLine()
    with line.place() as ann, line.place() as bob:
        with line.place(again=True) as cy, line.place(again=True) as dee:
            assert [line.is_first(each) for each in (ann, bob, cy, dee)] == [False, False, True, False]
            assert len(line) == 4
        assert line.is_first(ann)
        assert not line.is_first(bob)
    assert len(line) == 0


@pytest.mark.anyio
async def test_who_waits_is_told_of_a_change_and_of_a_place_given_up() -> None:
    line, told = WaitingLine(), []

    async def wait(name: str, *, task_status: TaskStatus[None]) -> None:
        task_status.started()
        await line.wait(30.0)
        told.append(name)

    with anyio.fail_after(10.0):
        async with anyio.create_task_group() as group:
            await group.start(wait, 'ann')
            await anyio.wait_all_tasks_blocked()
            line.changed()
        async with anyio.create_task_group() as group:
            with line.place():
                await group.start(wait, 'bob')
                await anyio.wait_all_tasks_blocked()
    assert told == ['ann', 'bob']


@pytest.mark.anyio
async def test_a_wait_ends_without_a_change() -> None:
    with anyio.move_on_after(10.0) as guard:
        await WaitingLine().wait(0.0)
    assert not guard.cancelled_caught
