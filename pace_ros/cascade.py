"""One turn through the levels: the corridor of design section 2, from top to bottom."""
from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import anyio

from pace_ros.cache import CacheEntry, CacheMatch, admit, scope_of
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control import Decision
from pace_ros.conversation import Conversation
from pace_ros.embedding import DegenerateText, Vector
from pace_ros.filler import PendingFiller, plan
from pace_ros.language import chunks
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Completion, L2Error
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import Outcome, Path

T = TypeVar('T')
log = logging.getLogger(__name__)
QUICK_SECONDS = 0.004  # the longest encoding of a short question that the event loop does itself
QUICK_CHARS = 80  # what a short question is
QUICK_ENTRIES = 5000  # an index of which FAISS searches in about a millisecond


@dataclass
class _Query:
    """What the levels learn of one question; ``vector`` has shape (d,), None if there is none.

    ``may_recall`` is false for L0 switched off, and for a volatile question whose answers are never cached: a stable
    question much like it may have been.
    """

    may_recall: bool = False
    vector: Vector | None = None
    hits: tuple[RetrievalHit, ...] = ()
    knowledge_version: int = 0

    @property
    def best(self) -> RetrievalHit | None:
        return self.hits[0] if self.hits else None


class Cascade:
    """Answers by the cheapest good source.

    Encoder and indexes run on a worker thread, so that they do not hold up the event loop, i.e. other visitors'
    tokens. Where encoding and L0 search are quick the hand-over would cost more than it saves, and they run in place.
    ``embed_seconds`` is what the encoding of a short question takes.
    """

    def __init__(
        self, levels: Levels, config: Callable[[], Config], clock: Clock, *, embed_seconds: float = 0.0
    ) -> None:
        self._levels = levels
        self._quick_encoder = embed_seconds < QUICK_SECONDS
        self._config = config
        self._clock = clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix='recall')
        self._knowledge_version = 0

    async def run(self, turn: LiveTurn, conversation: Conversation) -> None:
        """Take one turn from utterance to last frame."""
        levels, query = self._levels, _Query(knowledge_version=self._knowledge_version)
        levels.router.observe_arrival()
        decision = levels.router.decide()
        turn.routed_by(decision)
        self._classify(turn)
        filler = self._launch_filler(turn, conversation)
        try:
            match = await self._recall(turn, query, decision)
            if match.entry is not None:
                self._replay(turn, match.entry)
            elif (direct := await self._retrieve(turn, query, decision)) is not None:
                self._return_entry(turn, direct)
            else:
                await self._think(turn, query, conversation, filler)
        finally:
            if filler is not None:
                filler.cancel()
                turn.record.filler_calls = int(filler.begun)
        levels.router.observe_path(instant=turn.record.path in (Path.L0, Path.L1))
        if turn.record.outcome is Outcome.ANSWERED:
            conversation.remember(turn.utterance.text, turn.record.answer)

    def knowledge_changed(self) -> None:
        """Answers being generated now were built on the old knowledge: they are delivered but not cached."""
        self._knowledge_version += 1

    def close(self) -> None:
        """End the worker thread after what it is doing."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    # -- before the levels ------------------------------------------------------------------------------------------

    def _classify(self, turn: LiveTurn) -> None:
        """Volatile by the wording of the question; where the classifier fails, volatile too."""
        record = turn.record
        try:
            verdict = self._levels.volatility.classify(turn.utterance.text, turn.utterance.locale)
            record.volatile_query, record.volatile_reason = verdict.volatile, verdict.reason
        except Exception as error:
            log.exception('the volatility classifier failed')
            record.volatile_query, record.volatile_reason = True, f'classifier failed: {error}'

    def _launch_filler(self, turn: LiveTurn, conversation: Conversation) -> PendingFiller | None:
        """Start a filler before the path is known; an instant path cancels it."""
        decided = plan(turn.switches.filler, self._config().filler)
        turn.record.filler_reason = decided.reason
        if not decided.launch:
            return None
        turn.record.filler_launched = True
        turn.record.filler_budget = decided.budget
        utterance = turn.utterance
        return self._levels.fillers.launch(utterance.text, utterance.locale, conversation.last_filler)

    # -- L0 ---------------------------------------------------------------------------------------------------------

    async def _recall(self, turn: LiveTurn, query: _Query, decision: Decision) -> CacheMatch:
        """Look for an earlier answer: the same words first, else embed once and search."""
        match = CacheMatch(None, math.nan)
        switches, scope = turn.switches, scope_of(turn.utterance.locale)
        query.may_recall = switches.l0 and not (turn.record.volatile_query and switches.volatility == 'deny')
        if query.may_recall:
            match = self._levels.cache.recall_exact(turn.utterance.text, scope)
        if match.entry is None and (query.may_recall or switches.l1 or switches.rag):
            turn.record.stale_reject = match.stale
            if self._is_quick(turn.utterance.text):
                match = self._embed_and_recall(turn, query, decision, scope)
            else:
                match = await self._off_loop(self._embed_and_recall, turn, query, decision, scope)
        turn.record.stale_reject = turn.record.stale_reject or match.stale
        turn.record.cache_score, turn.record.exact_repeat = match.score, match.exact
        return match

    def _embed_and_recall(self, turn: LiveTurn, query: _Query, decision: Decision, scope: str) -> CacheMatch:
        try:
            query.vector = self._levels.embedder.embed(turn.utterance.text)
        except DegenerateText:
            return CacheMatch(None, math.nan)
        finally:
            turn.embedded(self._clock.monotonic())
        if not query.may_recall:
            return CacheMatch(None, math.nan)
        return self._levels.cache.recall(query.vector, scope, decision.theta_cache)

    def _replay(self, turn: LiveTurn, entry: CacheEntry) -> None:
        turn.path_decided(Path.L0)
        turn.record.cached_question, turn.record.entry_ids = entry.question, entry.sources
        self._deliver(turn, list(chunks(entry.answer, self._config().l0.chunk_chars)))

    # -- L1 ---------------------------------------------------------------------------------------------------------

    async def _retrieve(self, turn: LiveTurn, query: _Query, decision: Decision) -> RetrievalHit | None:
        """Search the knowledge base; the best entry is returned if it may answer directly and is near enough."""
        if query.vector is None or not (turn.switches.l1 or turn.switches.rag):
            return None
        begin = self._clock.monotonic()
        query.hits = await self._search(query.vector)
        turn.record.t_retrieve = self._clock.monotonic() - begin
        best = query.best
        if best is None:
            return None
        turn.record.retrieval_score = best.score
        near = best.score >= decision.theta_direct
        if not (turn.switches.l1 and near and self._may_answer(best, turn)):
            return None
        self._note_volatile(turn, [best])
        return best

    def _note_volatile(self, turn: LiveTurn, hits: Sequence[RetrievalHit]) -> None:
        """An answer ages with any knowledge it is made of."""
        for hit in hits:
            if hit.entry.volatile:
                turn.record.volatile_query, turn.record.volatile_reason = True, f'knowledge: {hit.entry.entry_id}'

    async def _search(self, vector: Vector) -> tuple[RetrievalHit, ...]:
        return tuple(await self._off_loop(self._levels.knowledge.search, vector, self._config().l1.top_k))

    def _may_answer(self, hit: RetrievalHit, turn: LiveTurn) -> bool:
        return not hit.entry.is_passage and hit.entry.answer(turn.utterance.locale) is not None

    def _return_entry(self, turn: LiveTurn, hit: RetrievalHit, path: Path = Path.L1, reason: str = '') -> None:
        turn.path_decided(path)
        turn.record.entry_ids = (hit.entry.entry_id,)
        self._deliver(turn, [hit.entry.answer(turn.utterance.locale) or ''], reason)

    def _deliver(self, turn: LiveTurn, pieces: list[str], reason: str = '') -> None:
        for number, piece in enumerate(pieces, start=1):
            turn.answer(piece, last=number == len(pieces))
        turn.end(Outcome.ANSWERED, reason)

    # -- L2 ---------------------------------------------------------------------------------------------------------

    async def _think(
        self, turn: LiveTurn, query: _Query, conversation: Conversation, filler: PendingFiller | None
    ) -> None:
        """Ask the language model and relay its answer; a filler may fill the wait for its first token."""
        turn.path_decided(Path.L2)
        report, version = Completion(), query.knowledge_version
        waiting = asyncio.create_task(self._fill_the_wait(turn, conversation, filler), name=f'wait {turn.turn_id}')
        floor = self._config().l1.passage_floor
        passages = [hit for hit in query.hits if turn.switches.rag and hit.score >= floor]
        turn.record.entry_ids = tuple(hit.entry.entry_id for hit in passages)
        self._note_volatile(turn, passages)
        history = self._config().l2.history_turns
        messages = self._levels.prompts.messages(
            turn.utterance.text,
            turn.utterance.locale,
            passages=passages,
            history=conversation.history[-history:] if history else (),
            persona=turn.switches.persona,
        )
        closed_before = self._levels.llm.breaker.state == 'closed'
        try:
            async with contextlib.aclosing(self._levels.llm.stream(messages, report)) as pieces:
                async for piece in pieces:
                    waiting.cancel()
                    turn.answer(piece)
            failure = '' if turn.informative else 'the model gave no answer'
        except L2Error as error:
            failure = str(error)
        finally:
            waiting.cancel()
            self._note(turn, report)
        if failure:
            await self._fall_back(turn, query, failure)
            return
        turn.answer('', last=True)
        sound = closed_before and report.whole and version == self._knowledge_version
        turn.end(Outcome.ANSWERED)
        self._admit(turn, query, sound=sound)
        self._levels.router.observe_ttft(report.ttft)

    async def _fill_the_wait(self, turn: LiveTurn, conversation: Conversation, filler: PendingFiller | None) -> None:
        """The first of filler ready and budget spent; the first token ends the wait from outside."""
        if filler is None:
            return
        try:
            with anyio.fail_after(turn.record.filler_budget):
                text = await filler.text()
                turn.record.filler_ready = turn.elapsed()
        except TimeoutError:
            filler.cancel()
            text = filler.placeholder('budget spent')
        if turn.filler(text, filler.reason):
            conversation.last_filler = text

    def _note(self, turn: LiveTurn, report: Completion) -> None:
        record = turn.record
        record.ttft, record.l2_attempts, record.finish_reason = report.ttft, report.attempts, report.finish_reason
        record.tokens_in, record.tokens_out = report.tokens_in, report.tokens_out
        record.breaker = self._levels.llm.breaker.state

    def _admit(self, turn: LiveTurn, query: _Query, *, sound: bool) -> None:
        """Cache the answer unless it is cut, ages, or the knowledge under it has changed."""
        record, config = turn.record, self._config()
        admission = admit(volatile=record.volatile_query, policy=turn.switches.volatility, ttl=config.volatility.ttl)
        record.admission_reason = admission.reason
        if not turn.switches.l0 or query.vector is None:
            record.admission_reason = 'l0 off' if not turn.switches.l0 else 'no vector'
        elif not sound or record.breaker != 'closed':
            record.admission_reason = f'unsound: finish {record.finish_reason}, breaker {record.breaker}'
        elif admission.admitted:
            record.admitted = True
            now = self._clock.wall()
            entry = CacheEntry(
                question=turn.utterance.text,
                answer=record.answer.strip(),
                scope=scope_of(turn.utterance.locale),
                sources=record.entry_ids,
                written=now,
                expires=None if admission.ttl is None else now + admission.ttl,
            )
            self._levels.cache.admit(entry, query.vector)

    # -- without L2 -------------------------------------------------------------------------------------------------

    async def _fall_back(self, turn: LiveTurn, query: _Query, failure: str) -> None:
        """Never silence, never an invention: the best entry above the floor, else an apology."""
        reason = f'l2: {failure}'
        if turn.informative:
            turn.remark(' ' + self._levels.remarks.interrupted(turn.utterance.locale))
            turn.end(Outcome.FAILED, reason)
            return
        if query.vector is None:
            await self._off_loop(self._embed_only, turn, query)
        if query.vector is not None and not query.hits:
            query.hits = await self._search(query.vector)
        best = query.best
        if best and best.score >= self._config().fallback.floor and self._may_answer(best, turn):
            turn.record.retrieval_score = best.score
            self._return_entry(turn, best, Path.FALLBACK, reason)
        else:
            turn.remark(self._levels.remarks.apology(turn.utterance.locale))
            turn.end(Outcome.FAILED, reason)

    def _embed_only(self, turn: LiveTurn, query: _Query) -> None:
        with contextlib.suppress(DegenerateText):
            query.vector = self._levels.embedder.embed(turn.utterance.text)

    def _is_quick(self, text: str) -> bool:
        return self._quick_encoder and len(text) <= QUICK_CHARS and len(self._levels.cache) <= QUICK_ENTRIES

    async def _off_loop(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)
