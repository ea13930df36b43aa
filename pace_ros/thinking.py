"""L2: the language model is asked and its answer relayed; a filler may fill the wait, and the answer may be cached."""
from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

import anyio
import numpy as np

from pace_ros.cache import CacheEntry, admit, scope_of
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.conversation import Conversation
from pace_ros.filler import PendingFiller, budget
from pace_ros.language import normal_form
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange, InFlight, L2Error, Message, estimated_tokens
from pace_ros.query import Foreseen, Query, note_volatile
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import Outcome


class Thinking:
    """One turn's way through L2."""

    def __init__(self, levels: Levels, config: Callable[[], Config], clock: Clock) -> None:
        self._levels = levels
        self._config = config
        self._clock = clock
        self.knowledge_version = 0
        self.used_ahead = 0

    async def answer(
        self, turn: LiveTurn, query: Query, conversation: Conversation, filler: PendingFiller | None
    ) -> str:
        """Relay the model's answer and end the turn; returns why there is no whole answer, empty if there is."""
        passages = self.passages(query, rag=turn.switches.rag)
        turn.record.entry_ids = tuple(hit.entry.entry_id for hit in passages)
        note_volatile(turn.record, passages)
        messages = self.messages(query, passages, conversation.history, persona=turn.switches.persona)
        request = self._foreseen_request(turn, query, messages) or self.ask(messages)
        waiting = self._wait_with(turn, conversation, None if request.speaks else filler)
        failure = ''
        try:
            async with request:
                await self._relay(turn, request, waiting)
            failure = '' if turn.informative else 'the model gave no answer'
        except L2Error as error:
            failure = str(error)
        finally:
            waiting.cancel()
            self._note(turn, request, messages)
        if not failure:
            turn.answer('', last=True)
            turn.end(Outcome.ANSWERED)
            self._admit(turn, query, request)
        return failure

    def passages(self, query: Query, *, rag: bool) -> list[RetrievalHit]:
        """The knowledge near enough to inform the model."""
        floor = self._config().l1.passage_floor
        return [hit for hit in query.hits if rag and hit.score >= floor]

    def messages(
        self, query: Query, passages: Sequence[RetrievalHit], history: Sequence[Exchange], *, persona: bool
    ) -> list[Message]:
        """The prompt of one question."""
        turns = self._config().l2.history_turns
        return self._levels.prompts.messages(
            query.text, query.locale, passages=passages, persona=persona,
            history=history[-turns:] if turns else (),
        )

    def ask(self, messages: Sequence[Message]) -> InFlight:
        """Send a request."""
        return InFlight(lambda report: self._levels.llm.stream(messages, report), self._clock.monotonic())

    async def _relay(self, turn: LiveTurn, request: InFlight, waiting: asyncio.Task[None]) -> None:
        """Utter every piece as it comes; the first one ends the wait and is a sample of TTFT."""
        async for piece in request:
            waiting.cancel()
            if not turn.informative:
                self._levels.router.observe_ttft(request.report.sample)
            turn.answer(piece)

    def _foreseen_request(self, turn: LiveTurn, query: Query, messages: Sequence[Message]) -> InFlight | None:
        """The request made for the hypothesis, if it asks the same question in the same place."""
        foreseen = query.foreseen
        if foreseen is None or foreseen.request is None:
            return None
        if list(foreseen.messages[:-1]) != messages[:-1]:
            turn.record.speculation = 'dropped: other passages or history'
        elif foreseen.request.over and not foreseen.request.report.finish_reason:
            turn.record.speculation = 'dropped: the request failed'
        elif not self._same_question(query):
            turn.record.speculation = 'dropped: another question'
        else:
            return self._taken_over(turn, query, foreseen, foreseen.request)
        return None

    def _taken_over(self, turn: LiveTurn, query: Query, foreseen: Foreseen, request: InFlight) -> InFlight:
        """The request becomes the turn's own: its cost, the knowledge it was built on, and whether its answer ages."""
        record = turn.record
        record.speculation, record.head_start = 'used', turn.utterance.received - request.begun
        query.knowledge_version = foreseen.knowledge_version
        if foreseen.volatile:
            record.volatile_query, record.volatile_reason = True, foreseen.volatile
        self.used_ahead += 1
        self._levels.ledger.spend(tokens=-foreseen.booked)
        foreseen.request = None
        return request

    def _same_question(self, query: Query) -> bool:
        """The same words, or words as near as ``speculation.similarity`` with the same facts in them."""
        foreseen = query.foreseen
        assert foreseen is not None  # noqa: S101  the caller has looked
        if normal_form(foreseen.text) == normal_form(query.text):
            return True
        if foreseen.vector is None or query.vector is None:
            return False
        near = float(np.dot(foreseen.vector, query.vector)) >= self._config().speculation.similarity
        return near and self._levels.facts.same(foreseen.text, query.text, query.locale)

    def _wait_with(
        self, turn: LiveTurn, conversation: Conversation, filler: PendingFiller | None
    ) -> asyncio.Task[None]:
        """Begin to wait for the first token; with a filler, for as long as its budget B at most."""
        record, settings = turn.record, self._config().filler
        if filler is not None:
            waited = turn.elapsed() + (0.0 if math.isnan(record.head_start) else record.head_start)
            record.filler_budget = budget(turn.switches.filler, settings, ttft=record.ttft_ewma, elapsed=waited)
        return asyncio.create_task(self._fill_the_wait(turn, conversation, filler), name=f'wait {turn.turn_id}')

    async def _fill_the_wait(self, turn: LiveTurn, conversation: Conversation, filler: PendingFiller | None) -> None:
        """The first of filler ready and budget spent; the first token ends the wait from outside."""
        if filler is None:
            return
        record = turn.record
        try:
            with anyio.fail_after(record.filler_budget):
                text = await filler.text()
                record.filler_ready = turn.elapsed()
        except TimeoutError:
            filler.cancel()
            text = filler.placeholder('budget spent')
        if turn.filler(text, filler.reason):
            conversation.last_filler = text

    def _note(self, turn: LiveTurn, request: InFlight, messages: Sequence[Message]) -> None:
        """Book the request: in the record, and its tokens in the ledger (estimated where the server said nothing)."""
        record, report = turn.record, request.report
        record.ttft, record.l2_attempts, record.finish_reason = report.ttft, report.attempts, report.finish_reason
        record.tokens_in, record.tokens_out = report.tokens_in, report.tokens_out
        record.hedge, record.tokens_wasted = report.hedge, record.tokens_wasted + report.tokens_wasted
        record.breaker = report.breaker_after or self._levels.llm.breaker.state
        self._levels.ledger.spend(tokens=_cost(request, messages))

    def _admit(self, turn: LiveTurn, query: Query, request: InFlight) -> None:
        """Cache the answer unless it is cut, ages, or the knowledge under it has changed."""
        record, config = turn.record, self._config()
        admission = admit(volatile=record.volatile_query, policy=turn.switches.volatility, ttl=config.volatility.ttl)
        record.admission_reason = admission.reason
        sound = request.report.whole and query.knowledge_version == self.knowledge_version
        if not turn.switches.l0 or query.vector is None:
            record.admission_reason = 'l0 off' if not turn.switches.l0 else 'no vector'
        elif not sound:
            record.admission_reason = f'unsound: finish {record.finish_reason}, breaker {record.breaker}'
        elif admission.admitted:
            record.admitted = True
            now = self._clock.wall()
            entry = CacheEntry(
                question=query.text,
                answer=record.answer.strip(),
                scope=scope_of(query.locale),
                sources=record.entry_ids,
                written=now,
                expires=None if admission.ttl is None else now + admission.ttl,
            )
            self._levels.cache.admit(entry, query.vector)


def _cost(request: InFlight, messages: Sequence[Message]) -> int:
    """Tokens in and out; estimated where the request ended before the server said it."""
    report = request.report
    if report.attempts == 0:
        return 0  # never sent
    return (report.tokens_in or estimated_tokens(messages)) + (report.tokens_out or request.pieces)
