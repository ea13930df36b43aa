"""L2: the language model is asked and its answer relayed; a filler may fill the wait, and the answer may be cached."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import numpy as np

from pace_ros.admitting import Admitting, Generated
from pace_ros.aging import STABLE
from pace_ros.bookkeeping import catch_up, note_request, note_tools
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.conversation import Conversation
from pace_ros.filler import PendingFiller, budget
from pace_ros.generation import Generation
from pace_ros.language import normal_form, normal_forms
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange, InFlight, L2Error, Message
from pace_ros.llm.history import as_it_stands, reminded, told
from pace_ros.llm.prompt import new_passages
from pace_ros.llm.tools.rounds import PreambleEnd
from pace_ros.lookup import Lookup
from pace_ros.query import Foreseen, Query
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import Outcome

MOST_RESTARTS = 3  # of one answer, where knowledge keeps changing or prompts are too long


class Thinking:
    """One turn's way through L2."""

    def __init__(self, levels: Levels, lookup: Lookup, config: Callable[[], Config], clock: Clock) -> None:
        self._levels = levels
        self._lookup = lookup
        self._config = config
        self._clock = clock
        self._admitting = Admitting(levels, config, clock)
        self._running: set[Generation] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.used_ahead = 0

    async def answer(
        self, turn: LiveTurn, query: Query, conversation: Conversation, filler: PendingFiller | None
    ) -> str:
        """Relay the model's answer and end the turn; returns why there is none to end it with, empty if it is over."""
        self._loop = asyncio.get_running_loop()
        history, cut = self.seen(conversation.history), False
        generation = self._begin(turn, query, history, conversation.visit)
        waiting = self._wait_with(turn, conversation, None if generation.request.speaks else filler)
        try:
            failure = await self._relay(turn, generation, waiting)
            for restart in range(1, MOST_RESTARTS + 1):
                too_long = generation.too_long and bool(history)
                if not (generation.outdated or too_long) or turn.informative:
                    break
                if too_long:
                    conversation.keep(len(history) // 2)
                    cut = True
                turn.record.restarts += 1
                query.epoch = self._levels.cache.epoch
                await self._lookup.search(query)
                history = self.seen(conversation.history)
                generation = self._begin(turn, query, history, conversation.visit)
                generation.final = restart == MOST_RESTARTS
                failure = await self._relay(turn, generation, waiting)
        finally:
            waiting.cancel()
        if failure and generation.request.report.used.acted:
            self._own_up(turn, conversation, failure)
            return ''
        if not failure:
            query.asked, query.informed = generation.messages[-1]['content'], generation.informed
            note_tools(turn.record, query, generation.request.report.used, history)
            if cut:  # the subject that the scope names may be gone from the prompt
                query.scope = replace(query.scope, key=None, reason='its history was cut')
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
            if generation.stoppable and generation.is_built_on(entry_ids, terms):
                generation.outdated = True
                generation.request.end()

    def _begin(self, turn: LiveTurn, query: Query, history: Sequence[Exchange], visit: str) -> Generation:
        """Ask the model, unless that was done ahead."""
        passages = self.passages(query, rag=turn.switches.rag)
        turn.record.entry_ids = tuple(hit.entry.entry_id for hit in passages)
        query.note_volatile(turn.record, passages)
        messages: Sequence[Message] = self.messages(query, passages, history, persona=turn.switches.persona)
        request, foreseen = self._foreseen_request(turn, query, messages, visit), query.foreseen
        if request is not None and foreseen is not None:
            messages = foreseen.messages
        append = self._config().l2.layout == 'append'
        before = told(history) if append else []  # it is in the prompt, and may be in the answer
        entries = [*before, *(hit.entry for hit in passages)]
        return Generation(
            request or self.ask(messages, visit, query.locale), messages,
            tuple(hit.entry for hit in new_passages(passages, history)) if append else (), entries,
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
            query.text, query.locale, passages=passages, persona=persona, history=history,
            layout=self._config().l2.layout,
        )

    def seen(self, history: Sequence[Exchange]) -> Sequence[Exchange]:
        """What the model is reminded of."""
        settings = self._config().l2
        append = settings.layout == 'append'
        seen = reminded(history, settings.history_turns, in_blocks=append)
        return as_it_stands(seen, self._levels.knowledge.serves) if append else seen

    def ask(self, messages: Sequence[Message], visit: str, locale: str, *, ahead: bool = False) -> InFlight:
        """Send a request of a visit; ``ahead``: before the visitor has finished."""
        stream = self._levels.llm.stream
        if self._levels.tools is not None and self._config().l2.tool_rounds:
            stream = partial(self._levels.tools.stream, locale=locale)
        request = InFlight(lambda report: stream(messages, report, conversation=visit), self._clock.monotonic())
        request.report.used.ahead = ahead
        return request

    async def _relay(self, turn: LiveTurn, generation: Generation, waiting: asyncio.Task[None]) -> str:
        """Utter every piece as it comes; the first one ends the wait and is a sample of TTFT.

        Returns why the answer is not whole, empty if it is.
        """
        request, record = generation.request, turn.record
        self._running.add(generation)
        turn.catch_up = partial(catch_up, record, request.report, record.tool_rounds, record.tools)
        try:
            async with request:
                async for piece in request:
                    waiting.cancel()
                    if isinstance(piece, PreambleEnd):
                        turn.preamble_ends(piece)
                        continue
                    if not turn.informative:
                        self._levels.router.observe_ttft(request.report.sample)
                    turn.answer(piece)
        except L2Error as error:
            return str(error)
        finally:
            self._running.discard(generation)
            turn.catch_up()
            note_request(record, generation, self._levels.ledger, self._levels.llm.breaker.state)
        return '' if turn.informative else 'the model gave no answer'

    def _foreseen_request(
        self, turn: LiveTurn, query: Query, messages: Sequence[Message], visit: str
    ) -> InFlight | None:
        """The request made for the hypothesis, if it asks the same question in the same place; else it is ended, as the
        turn's own must not wait behind it.
        """
        foreseen = query.foreseen
        if foreseen is None or foreseen.request is None:
            return None
        if foreseen.visit not in ('', visit):
            turn.record.speculation = 'dropped: another visit'
        elif not _same_place(foreseen, query, messages):
            turn.record.speculation = 'dropped: other passages or history'
        elif foreseen.request.failed or (foreseen.request.over and not foreseen.request.report.finish_reason):
            turn.record.speculation = 'dropped: the request failed'
        elif not self._same_question(query):
            turn.record.speculation = 'dropped: another question'
        else:
            return self._taken_over(turn, query, foreseen, foreseen.request)
        foreseen.request.end()
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
        request.report.used.ahead = False
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

    def _own_up(self, turn: LiveTurn, conversation: Conversation, failure: str) -> None:
        """Something was done for the visitor, and no answer says so: the robot does, and the model will be reminded, so
        that nobody has it done again.
        """
        remark = self._levels.remarks.acted(turn.utterance.locale)
        turn.remark(f' {remark}' if turn.informative else remark)
        turn.end(Outcome.FAILED, f'l2: {failure}')
        conversation.remember(turn.utterance.text, remark, live=True)


def _same_place(foreseen: Foreseen, query: Query, messages: Sequence[Message]) -> bool:
    """Whether all but the words of the question is the same."""
    mine, ahead = messages[-1]['content'], foreseen.messages[-1]['content']
    around = mine.removesuffix(query.text) == ahead.removesuffix(foreseen.text)
    return around and list(foreseen.messages[:-1]) == list(messages[:-1])
