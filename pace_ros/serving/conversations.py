"""The conversations that are known: where each lives, and when it ends."""
from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from pace_ros.clock import Clock
from pace_ros.serving.ledger import Account


@dataclass
class Conversation:
    """``home`` is its account on the replica where it lives; ``under_way`` counts turns that run or wait for their
    place; it ends at ``until`` (monotonic, s) unless a turn comes, and with the turn under way once it is ``told`` to.
    ``seat`` is the account of the turn being answered; ``derived``: its client does not say which conversation it is.
    """

    key: str
    turns: int = 0
    home: Account | None = None
    seat: Account | None = None
    under_way: int = 0
    until: float = 0.0
    told: bool = False
    derived: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class TooMany(RuntimeError):
    """No further conversation is taken."""


class Conversations:
    """By key. One turn of a conversation at a time; it ends when it is told to, or is idle for too long."""

    def __init__(self, clock: Clock, *, idle: float, grace: float, most: int) -> None:
        self._clock = clock
        self._idle = idle
        self._grace = grace
        self._most = most
        self._known: dict[str, Conversation] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Conversation]:
        """Those known now, whatever becomes of them meanwhile."""
        return iter([*self._known.values()])

    def get(self, key: str) -> Conversation | None:
        """The conversation of that key, if it is known."""
        return self._known.get(key)

    def enter(self, key: str) -> Conversation:
        """A turn of a conversation begins; it is made if need be. Raises TooMany."""
        conversation = self._known.get(key)
        if conversation is None:
            if len(self._known) >= self._most:
                raise TooMany(f'{self._most} conversations are known, and none has ended')
            conversation = self._known[key] = Conversation(key)
        conversation.under_way += 1
        return conversation

    def leave(self, conversation: Conversation, *, hung_up: bool = False, answered: bool = True) -> None:
        """A turn has ended; a client that has ``hung_up`` in its answer may have left for good. One that was not
        ``answered``, as it was refused or has not waited, leaves the conversation what it had, and time to come again.

        Raises ValueError where none was under way.
        """
        if conversation.under_way < 1:
            raise ValueError(f'no turn of {conversation.key} is under way')
        conversation.under_way -= 1
        now, grace = self._clock.monotonic(), min(self._grace, self._idle)
        if hung_up:
            conversation.until = now + grace
        elif answered:
            conversation.until = now + self._idle
        else:
            conversation.until = max(conversation.until, now + grace)

    def remove(self, conversation: Conversation) -> None:
        """It is known no more; its key may begin another."""
        if self._known.get(conversation.key) is conversation:
            del self._known[conversation.key]

    def first_end(self) -> float:
        """When the first slot becomes free if no turn comes and nobody ends any, s from now; 0 if none is taken."""
        now = self._clock.monotonic()
        left = [
            0.0 if each.told else self._idle if each.under_way else max(0.0, each.until - now)
            for each in self._known.values() if each.home is not None or each.seat is not None
        ]
        return min(left, default=0.0)

    def longest_idle(self, replicas: Collection[str]) -> Conversation | None:
        """Of those whose clients do not say which they are, and so never that they end, the one that lives on one of
        these replicas and has been idle for longest.
        """
        idle = [
            each for each in self._known.values()
            if each.derived and each.home is not None and each.home.replica in replicas
            and not each.under_way and not each.lock.locked()
        ]
        return min(idle, key=lambda each: each.until, default=None)

    def over(self) -> list[Conversation]:
        """Those that have been idle for too long, or were told to end."""
        return [each for each in self._known.values() if self.is_over(each)]

    def is_over(self, conversation: Conversation) -> bool:
        """Whether it has been idle for too long, or was told to end, and no turn has come meanwhile."""
        return not conversation.under_way and (conversation.told or conversation.until <= self._clock.monotonic())
