"""A seating over replicas that nobody calls, and turns that queue for it. Time stands still unless a test moves it."""
from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio

from pace_ros.clock import VirtualClock
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import AdmissionSettings, Deadlines, Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.placement import Policy, Turn
from pace_ros.serving.policies import make_policy
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused, Seat, Seating

Desk = Callable[..., Seating]


@contextlib.asynccontextmanager
async def open_desk(clock: VirtualClock) -> AsyncIterator[Desk]:
    """What makes seatings; the clients are closed behind it."""
    async with contextlib.AsyncExitStack() as stack:
        def made(
            *replicas: Replica, policy: str | Policy = 'pinned', hands_over: bool = True,
            make_room: Callable[..., Any] | None = None, **settings: Any,
        ) -> Seating:
            clients = [ReplicaClient(each, Deadlines(), clock) for each in replicas]
            for client in clients:
                stack.push_async_callback(client.aclose)
            return Seating(
                {each.replica.name: ReplicaState(each) for each in clients}, Ledger(replicas),
                make_policy(policy) if isinstance(policy, str) else policy,
                AdmissionSettings(**{'wait': 5.0, **settings}), clock, hands_over=hands_over, make_room=make_room,
            )
        yield made


def replica(name: str, role: str = 'both', **facts: Any) -> Replica:
    """One of 2 slots of 1,000 tokens, unless told otherwise."""
    return Replica(**{'name': name, 'url': f'http://{name}', 'role': role, 'slots': 2, 'context': 1000,
                      'prefill_rate': 1000.0, **facts})


def turn(key: str, prompt: int = 300, number: int = 1) -> Turn:
    """A turn that may be answered with 100 tokens."""
    return Turn(key, number, prompt, 100)


def settle(seating: Seating, conversation: Conversation, seat: Seat, held: int) -> None:
    """A turn has ended well."""
    if seat.source is not None:
        seating._ledger.close(seat.source)
    seating._ledger.settle(seat.account, held)
    conversation.home = seat.account
    seating.changed()


class Queue:
    """Turns that are seated one after the other, and the order in which that happens."""

    def __init__(self, seating: Seating, group: anyio.abc.TaskGroup) -> None:
        self.seating, self.group = seating, group
        self.came: list[str] = []
        self.refused: dict[str, Refused] = {}
        self.seats: dict[str, Seat] = {}
        self.scopes: dict[str, anyio.CancelScope] = {}

    async def come(
        self, key: str, prompt: int = 300, without: Sequence[str] = (), *, again: bool = False
    ) -> None:
        """A turn comes, and gets as far as it gets."""
        self.group.start_soon(self._take, key, prompt, without, again)
        await anyio.wait_all_tasks_blocked()

    async def leave(self, key: str) -> None:
        """A conversation ends."""
        self.seating._ledger.close(self.seats.pop(key).account)
        self.seating.changed()
        await anyio.wait_all_tasks_blocked()

    async def _take(self, key: str, prompt: int, without: Sequence[str], again: bool) -> None:
        with anyio.CancelScope() as self.scopes[key]:
            try:
                self.seats[key] = await self.seating.take(
                    Conversation(key), turn(key, prompt), without, again=again
                )
                self.came.append(key)
            except Refused as error:
                self.refused[key] = error


@contextlib.asynccontextmanager
async def queue(seating: Seating) -> AsyncIterator[Queue]:
    """Ends with everybody seated or refused, within seconds."""
    with anyio.fail_after(20.0):
        async with anyio.create_task_group() as group:
            yield Queue(seating, group)
            group.cancel_scope.cancel()
