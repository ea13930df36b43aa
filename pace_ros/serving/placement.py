"""Where a turn is read and where it is answered: the one interface of all policies, real and simulated."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


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

    def delay(self, prompt: int) -> float:
        """When a prompt of so many tokens would have been read here, s from now."""
        return (self.waiting + prompt) / self.rate


@dataclass(frozen=True)
class Placement:
    """``prefill`` reads the prompt and hands its cache to ``decode``, which answers; the same one: nothing is moved.
    ``stays``: the conversation keeps its slot there for its later turns.
    """

    prefill: str
    decode: str
    stays: bool = True


class Policy(ABC):
    """Decides turn by turn. It may remember, but not look at anything else."""

    name: str

    @abstractmethod
    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """Where, or None while there is no room. ``home`` is where the conversation lives, if that is well."""

    def learn(self, turn: Turn, answered: int) -> None:  # noqa: B027  most policies remember nothing
        """A turn has ended after so many tokens of answer."""

    def forget(self, conversation: str) -> None:  # noqa: B027  likewise
        """A conversation has ended."""
