"""What the levels learn of one question on its way down."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pace_ros.aging import KNOWLEDGE, STABLE
from pace_ros.cache import Scope, Verdict
from pace_ros.control import CostLedger
from pace_ros.embedding import Vector
from pace_ros.llm import InFlight, Message
from pace_ros.retrieval import KnowledgeEntry, RetrievalHit
from pace_ros.turn import TurnRecord


@dataclass
class Foreseen:
    """What was prepared for an unfinished hypothesis: its vector, and perhaps a request to the language model.

    ``booked`` are the tokens charged for the request ahead, ``verdict`` says whether the hypothesis is volatile,
    ``epoch`` is the cache's when its knowledge was read, ``visit`` what the request was made for, and ``reason`` why
    nothing was prepared, empty if it was.
    """

    text: str
    vector: Vector | None = None
    messages: tuple[Message, ...] = ()
    request: InFlight | None = None
    booked: int = 0
    verdict: Verdict | None = None
    epoch: int = 0
    visit: str = ''
    reason: str = ''

    async def drop(self, ledger: CostLedger) -> int:
        """End the request, if there is one, and correct what was booked for it.

        Returns the tokens it cost in vain, 0 if it was never sent.
        """
        if self.request is None:
            return 0
        request, self.request = self.request, None
        await request.aclose()
        report = request.report
        spent = report.tokens_in + report.tokens_out if report.used.rounds else self.booked + request.pieces
        wasted = spent if report.attempts else 0
        ledger.spend(tokens=wasted - self.booked)
        return wasted


@dataclass
class Query:
    """``vector`` has shape (d,), None if there is none.

    ``scope`` is what it means in its conversation, ``category`` the class of its volatility. ``key`` is what it is
    looked up by in L0: None where that is switched off, for a question that means nothing by itself, and for a volatile
    one whose answers are never cached, since a stable question much like it may have been. ``epoch`` is the cache's
    before its knowledge was read. ``asked`` is the message in which the model answered it, with ``informed``, the
    knowledge in that; empty where it did not. ``live``: the answer is not for others: of a live tool, of something
    done, or of such an answer.
    """

    text: str
    locale: str
    scope: Scope
    category: str = STABLE
    key: str | None = None
    vector: Vector | None = None
    hits: tuple[RetrievalHit, ...] = ()
    epoch: int = 0
    foreseen: Foreseen | None = None
    asked: str = ''
    informed: tuple[KnowledgeEntry, ...] = ()
    live: bool = False

    def note_volatile(self, record: TurnRecord, hits: Iterable[RetrievalHit]) -> None:
        """An answer ages with any knowledge it is made of."""
        for hit in hits:
            if hit.entry.volatile:
                record.volatile_query, record.volatile_reason = True, f'knowledge: {hit.entry.entry_id}'
                if self.category == STABLE:
                    self.category = KNOWLEDGE
