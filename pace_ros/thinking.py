"""L2: the language model is asked and its answer relayed; a filler may fill the wait, and the answer may be cached."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import anyio
import numpy as np

from pace_ros.admitting import Admitting, Generated
from pace_ros.aging import STABLE
from pace_ros.cache import Source
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.conversation import Conversation
from pace_ros.filler import PendingFiller, budget
from pace_ros.language import normal_form, normal_forms
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange, InFlight, L2Error, Message, estimated_tokens
from pace_ros.lookup import Lookup
from pace_ros.query import Foreseen, Query
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import Outcome

MOST_RESTARTS = 3  # of one answer, where knowledge keeps changing


@dataclass(eq=False)
class _Generation:
    """An answer under way and what it is built on; ``outdated`` once it was stopped because any of that has changed,
    ``final`` if it will not be.
    """

    request: InFlight
    messages: Sequence[Message]
    sources: tuple[Source, ...]
    expires: float
    outdated: bool = False
    final: bool = False

    def is_built_on(self, entry_ids: set[str], terms: Sequence[str]) -> bool:
        """Whether an entry in its prompt is among these, or a term is in the prompt."""
        if any(source.entry_id in entry_ids for source in self.sources):
            return True
        return any(term in normal_form(message['content']) for term in terms for message in self.messages)


class Thinking:
    """One turn's way through L2."""

    def __init__(self, levels: Levels, lookup: Lookup, config: Callable[[], Config], clock: Clock) -> None:
        self._levels = levels
        self._lookup = lookup
        self._config = config
        self._clock = clock
        self._admitting = Admitting(levels, config, clock)
        self._running: set[_Generation] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.used_ahead = 0

    async def answer(
        self, turn: LiveTurn, query: Query, conversation: Conversation, filler: PendingFiller | None
    ) -> str:
        """Relay the model's answer and end the turn; returns why there is no whole answer, empty if there is."""
        self._loop = asyncio.get_running_loop()
        history = self.seen(conversation.history)
        generation = self._begin(turn, query, history)
        waiting = self._wait_with(turn, conversation, None if generation.request.speaks else filler)
        try:
            failure = await self._relay(turn, generation, waiting)
            for restart in range(1, MOST_RESTARTS + 1):
                if not generation.outdated or turn.informative:
                    break
                query.epoch = self._levels.cache.epoch
                await self._lookup.search(query)
                generation = self._begin(turn, query, history)
                generation.final = restart == MOST_RESTARTS
                failure = await self._relay(turn, generation, waiting)
        finally:
            waiting.cancel()
        if not failure:
            turn.answer('', last=True)
            turn.end(Outcome.ANSWERED)
            self._admitting.admit(
                turn, query, Generated(generation.request.report, generation.sources, generation.expires), history
            )
        return failure

    def knowledge_changed(self, entry_ids: Iterable[str], terms: Iterable[str]) -> None:
        """Restart the answers under way that are built on any of it and not yet heard, if ``volatility.on_change`` says
        so. Callable from any thread.
        """
        if self._loop is not None and self._config().volatility.on_change == 'restart':
            words = normal_forms(terms)
            with contextlib.suppress(RuntimeError):  # the loop has closed: nothing is under way
                self._loop.call_soon_threadsafe(self._restart, set(entry_ids), words)

    def _restart(self, entry_ids: set[str], terms: Sequence[str]) -> None:
        for generation in list(self._running):
            stoppable = not generation.final and not generation.request.speaks
            if stoppable and generation.is_built_on(entry_ids, terms):
                generation.outdated = True
                generation.request.end()

    def _begin(self, turn: LiveTurn, query: Query, history: Sequence[Exchange]) -> _Generation:
        """Ask the model, unless that was done ahead."""
        passages = self.passages(query, rag=turn.switches.rag)
        turn.record.entry_ids = tuple(hit.entry.entry_id for hit in passages)
        query.note_volatile(turn.record, passages)
        messages = self.messages(query, passages, history, persona=turn.switches.persona)
        request = self._foreseen_request(turn, query, messages) or self.ask(messages)
        return _Generation(
            request, messages, tuple(Source(hit.entry.entry_id, hit.entry.version) for hit in passages),
            min((hit.entry.expires for hit in passages if hit.entry.expires is not None), default=math.inf),
        )

    def passages(self, query: Query, *, rag: bool) -> list[RetrievalHit]:
        """The knowledge near enough to inform the model."""
        settings, serves = self._config().l1, self._levels.knowledge.serves
        near = [hit for hit in query.hits[: settings.top_k] if rag and hit.score >= settings.passage_floor]
        return [hit for hit in near if serves(hit.entry)]  # it may have been withdrawn since the search

    def messages(
        self, query: Query, passages: Sequence[RetrievalHit], history: Sequence[Exchange], *, persona: bool
    ) -> list[Message]:
        """The prompt of one question; ``history`` is what the model is to be reminded of."""
        return self._levels.prompts.messages(
            query.text, query.locale, passages=passages, persona=persona, history=history
        )

    def seen(self, history: Sequence[Exchange]) -> Sequence[Exchange]:
        """What the model is reminded of."""
        turns = self._config().l2.history_turns
        return history[-turns:] if turns else ()

    def ask(self, messages: Sequence[Message]) -> InFlight:
        """Send a request."""
        return InFlight(lambda report: self._levels.llm.stream(messages, report), self._clock.monotonic())

    async def _relay(self, turn: LiveTurn, generation: _Generation, waiting: asyncio.Task[None]) -> str:
        """Utter every piece as it comes; the first one ends the wait and is a sample of TTFT.

        Returns why the answer is not whole, empty if it is.
        """
        request = generation.request
        self._running.add(generation)
        try:
            async with request:
                async for piece in request:
                    waiting.cancel()
                    if not turn.informative:
                        self._levels.router.observe_ttft(request.report.sample)
                    turn.answer(piece)
        except L2Error as error:
            return str(error)
        finally:
            self._running.discard(generation)
            self._note(turn, generation)
        return '' if turn.informative else 'the model gave no answer'

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
        query.epoch = foreseen.epoch
        if foreseen.verdict is not None and foreseen.verdict.volatile:
            record.volatile_query, record.volatile_reason = True, foreseen.verdict.reason
            query.category = foreseen.verdict.category if query.category == STABLE else query.category
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
            head_start = 0.0 if math.isnan(record.head_start) else record.head_start
            record.filler_budget = budget(
                turn.switches.filler, settings, ttft=record.ttft_ewma, elapsed=turn.elapsed() + head_start
            )
            turn.think(expected=max(0.0, record.ttft_ewma - head_start))
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

    def _note(self, turn: LiveTurn, generation: _Generation) -> None:
        """Book the request: in the record, and its tokens in the ledger (estimated where the server said nothing)."""
        record, report = turn.record, generation.request.report
        cost = _cost(generation.request, generation.messages)
        record.ttft, record.l2_attempts, record.finish_reason = report.ttft, report.attempts, report.finish_reason
        record.tokens_in, record.tokens_out = report.tokens_in, report.tokens_out
        record.hedge, record.tokens_wasted = report.hedge, record.tokens_wasted + report.tokens_wasted
        record.breaker = report.breaker_after or self._levels.llm.breaker.state
        if generation.outdated:
            record.restarts += 1
            record.tokens_wasted += cost
        self._levels.ledger.spend(tokens=cost)


def _cost(request: InFlight, messages: Sequence[Message]) -> int:
    """Tokens in and out; estimated where the request ended before the server said it."""
    report = request.report
    if report.attempts == 0:
        return 0  # never sent
    return (report.tokens_in or estimated_tokens(messages)) + (report.tokens_out or request.pieces)
