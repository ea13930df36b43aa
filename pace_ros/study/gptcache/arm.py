"""The arm *gptcache-library*: what the visitor perceives with GPTCache in place of our levels."""
from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath

from pace_ros.arms import switches
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.conversation import Conversation, Conversations
from pace_ros.embedding import Embedder, Vector
from pace_ros.language import chunks
from pace_ros.live_turn import LiveTurn, Outlet
from pace_ros.llm import ChatModel, Completion, L2Error, Message, PromptBook
from pace_ros.retrieval import KnowledgeStore, RetrievalHit
from pace_ros.study.gptcache.store import GptCacheStore
from pace_ros.study.quiet import Silence
from pace_ros.turn import Arm, Outcome, Path, TurnRecord, Utterance

NAME = 'gptcache-library'
SWITCHES = Arm(NAME, router='static', filler='off', volatility='off', l0='on', l1='off', rag='on', persona='on')


class GptCacheArm:
    """Looks a question up in GPTCache and else asks our L2, with the same passages, persona and history as ours.

    No router, filler, guard, scope or fallback: the library has none. Its work is done on the event loop, as it blocks.
    The threshold is ``router.theta_cache``, the capacity ``l0.capacity``; ``folder`` as GptCacheStore's. Turns are
    timed as ours are (design section 6).
    """

    def __init__(
        self, embedder: Embedder, knowledge: KnowledgeStore, prompts: PromptBook, llm: ChatModel, clock: Clock,
        config: Callable[[], Config], *, outlet: Outlet | None = None, folder: FilePath | None = None,
    ) -> None:
        """Open the store. Raises GptCacheUnusable where the library is missing."""
        now = config()
        self._knowledge = knowledge
        self._prompts = prompts
        self._llm = llm
        self._clock = clock
        self._config = config
        self._outlet = outlet or Silence()
        self._numbers = itertools.count(1)
        self._conversations = Conversations(lambda: config().conversation, clock)
        self.threshold = now.router.theta_cache
        self.store = GptCacheStore(embedder, threshold=self.threshold, capacity=now.l0.capacity, folder=folder)

    async def ask(self, utterance: Utterance) -> TurnRecord:
        """Answer one question to the end and return its record; an answer that fails is FAILED with the reason."""
        turn = LiveTurn(
            utterance, f'gptcache-{next(self._numbers)}', switches(self._config(), SWITCHES), clock=self._clock,
            outlet=self._outlet, voice=None,
        )
        turn.record.theta_cache, turn.record.gate, turn.record.switches = self.threshold, 'static', SWITCHES
        conversation = self._conversations.of(utterance.conversation_id)
        try:
            await self._answer(turn, conversation)
        except asyncio.CancelledError:
            turn.end(Outcome.CANCELLED, 'cancelled')
            raise
        if turn.record.outcome is Outcome.ANSWERED:
            conversation.remember(utterance.text, turn.record.answer)
        return turn.record

    def end_conversation(self, conversation_id: str) -> None:
        """Forget what was said in a conversation."""
        self._conversations.end(conversation_id)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    async def _answer(self, turn: LiveTurn, conversation: Conversation) -> None:
        text, record = turn.utterance.text, turn.record
        found = self.store.get(text, lambda: turn.embedded(self._clock.monotonic()))
        record.cache_score = found.score
        if found.answer is not None:
            turn.path_decided(Path.L0)
            record.cached_question = found.question
            for piece in chunks(found.answer, self._config().l0.chunk_chars):
                turn.answer(piece)
            self._finish(turn)
            return
        passages = self._passages(turn, found.vector)
        turn.path_decided(Path.L2)
        failure = await self._relay(turn, self._messages(turn, passages, conversation))
        if failure:
            record.path = record.path if turn.informative else Path.FALLBACK
            turn.end(Outcome.FAILED, f'l2: {failure}')
            return
        self._finish(turn)
        record.admitted = self.store.put(text, record.answer.strip(), found.vector)

    def _finish(self, turn: LiveTurn) -> None:
        turn.answer('', last=True)
        turn.end(Outcome.ANSWERED)

    def _passages(self, turn: LiveTurn, vector: Vector | None) -> list[RetrievalHit]:
        """The knowledge near enough to inform the model."""
        settings, record = self._config().l1, turn.record
        if vector is None:
            return []
        begin = self._clock.monotonic()
        hits = self._knowledge.search(vector, settings.top_k)
        record.t_retrieve = self._clock.monotonic() - begin
        record.retrieval_score = hits[0].score if hits else math.nan
        near = [hit for hit in hits if hit.score >= settings.passage_floor and self._knowledge.serves(hit.entry)]
        record.entry_ids = tuple(hit.entry.entry_id for hit in near)
        return near

    def _messages(
        self, turn: LiveTurn, passages: Sequence[RetrievalHit], conversation: Conversation
    ) -> list[Message]:
        """The prompt, as ours."""
        turns, utterance = self._config().l2.history_turns, turn.utterance
        history = conversation.history[-turns:] if turns else ()
        return self._prompts.messages(
            utterance.text, utterance.locale, passages=passages, history=history, persona=turn.switches.persona
        )

    async def _relay(self, turn: LiveTurn, messages: Sequence[Message]) -> str:
        """Utter every piece as it comes; returns why the answer is not whole, empty if it is."""
        report = Completion()
        try:
            async with contextlib.aclosing(self._llm.stream(messages, report)) as stream:
                async for piece in stream:
                    turn.answer(piece)
        except L2Error as error:
            return str(error)
        finally:
            self._note(turn.record, report)
        return '' if turn.informative else 'the model gave no answer'

    def _note(self, record: TurnRecord, report: Completion) -> None:
        """What the request was, in the record."""
        record.ttft, record.l2_attempts, record.finish_reason = report.ttft, report.attempts, report.finish_reason
        record.tokens_in, record.tokens_out = report.tokens_in, report.tokens_out
        record.hedge, record.tokens_wasted = report.hedge, report.tokens_wasted
        record.breaker = report.breaker_after or self._llm.breaker.state
