"""Where a turn is read and where it is answered: the one interface of all policies, real and simulated."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Turn:
    """What can be seen of a turn when it arrives: ``prompt`` tokens in all, and as many as it may answer with."""

    conversation: str
    number: int
    prompt: int
    answer: int

    @property
    def tokens(self) -> int:
        """What it may come to hold."""
        return self.prompt + self.answer


@dataclass(frozen=True)
class ReplicaView:
    """What can be seen of a replica that is well: ``free`` tokens and slots by the ledger, prompt tokens ``waiting`` or
    being read there, ``streams`` being answered, measured ``rate`` (prompt tokens/s), tokens of this conversation
    ``held`` there, and whether a cache can be handed over to and from it.
    """

    name: str
    prefills: bool
    decodes: bool
    free: int
    free_slots: int
    context: int
    capacity: int
    waiting: int = 0
    streams: int = 0
    rate: float = 1.0
    held: int = 0
    hands_over: bool = True

    def fits(self, tokens: int) -> bool:
        """Whether a conversation of so many tokens has room here."""
        return self.free_slots > 0 and tokens <= min(self.free, self.context)

    def goes_on(self, tokens: int) -> bool:
        """Whether the conversation that is here already has room to grow to so many tokens."""
        return tokens <= self.context and tokens - self.held <= self.free

    def delay(self, prompt: int) -> float:
        """When a prompt of so many tokens would have been read here, s from now."""
        return (self.waiting + prompt) / self.rate


@dataclass(frozen=True)
class Placement:
    """``prefill`` reads the prompt and hands its cache to ``decode``, which answers; the same one: nothing is moved.
    ``prefill`` may be the conversation's home, from which its cache then moves with the turn. ``stays``: the
    conversation keeps its slot at ``decode`` for its later turns.
    """

    prefill: str
    decode: str
    stays: bool = True


class Policy(ABC):
    """Decides turn by turn. It may remember, but not look at anything else. Ties are broken by name, so that the order
    of a fleet file means nothing. ``role_blind``: it reads and answers on every replica, whatever its role.
    ``settles``: a conversation never leaves where it lives, while that is well.
    """

    name: str
    role_blind = False
    settles = False

    def answers(self, *, decodes: bool) -> bool:
        """Whether turns may be answered on a replica, given that its role is to decode, or is not."""
        return decodes or self.role_blind

    def seen(self, fleet: Sequence[ReplicaView]) -> Sequence[ReplicaView]:
        """The fleet as this policy, and admission for it, takes it."""
        if not self.role_blind:
            return fleet
        return [
            each if each.prefills and each.decodes else replace(each, prefills=True, decodes=True) for each in fleet
        ]

    @abstractmethod
    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """Where, or None while there is no room. ``home`` is where the conversation lives, if that is well.

        It may be asked about one turn more than once, until there is room.
        """

    def placed(self, turn: Turn, placement: Placement) -> None:  # noqa: B027  most policies remember nothing
        """There was room, and the turn is under way."""

    def left(self, turn: Turn) -> None:  # noqa: B027  likewise
        """The turn is under way no more, however it has ended."""

    def learn(self, turn: Turn, answered: int) -> None:  # noqa: B027  likewise
        """A turn has ended after so many tokens of answer."""

    def forget(self, conversation: str) -> None:  # noqa: B027  likewise
        """A conversation has ended."""
