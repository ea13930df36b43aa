"""What the levels learn of one question on its way down."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pace_ros.control import CostLedger
from pace_ros.embedding import Vector
from pace_ros.llm import InFlight, Message
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import TurnRecord


@dataclass
class Foreseen:
    """What was prepared for an unfinished hypothesis: its vector, and perhaps a request to the language model.

    ``booked`` are the tokens charged for the request ahead, ``volatile`` why the hypothesis counts as volatile, and
    ``reason`` why nothing was prepared, both empty if not so.
    """

    text: str
    vector: Vector | None = None
    messages: tuple[Message, ...] = ()
    request: InFlight | None = None
    booked: int = 0
    volatile: str = ''
    knowledge_version: int = 0
    reason: str = ''

    async def drop(self, ledger: CostLedger) -> int:
        """End the request, if there is one, and correct what was booked for it.

        Returns the tokens it cost in vain, 0 if it was never sent.
        """
        if self.request is None:
            return 0
        request, self.request = self.request, None
        await request.aclose()
        wasted = self.booked + request.pieces if request.report.attempts else 0
        ledger.spend(tokens=wasted - self.booked)
        return wasted


@dataclass
class Query:
    """``vector`` has shape (d,), None if there is none.

    ``may_recall`` is false for L0 switched off, and for a volatile question whose answers are never cached: a stable
    question much like it may have been.
    """

    text: str
    locale: str
    may_recall: bool = False
    vector: Vector | None = None
    hits: tuple[RetrievalHit, ...] = ()
    knowledge_version: int = 0
    foreseen: Foreseen | None = None

    @property
    def best(self) -> RetrievalHit | None:
        """The nearest knowledge entry."""
        return self.hits[0] if self.hits else None


def note_volatile(record: TurnRecord, hits: Iterable[RetrievalHit]) -> None:
    """An answer ages with any knowledge it is made of."""
    for hit in hits:
        if hit.entry.volatile:
            record.volatile_query, record.volatile_reason = True, f'knowledge: {hit.entry.entry_id}'
