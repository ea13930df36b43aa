"""What answers the requests of a run: our robot as it is assembled, or the GPTCache library beside it."""
from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import httpx

from pace_ros.assembly import Assembly
from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.embedding import Embedder
from pace_ros.filler import FillerGenerator
from pace_ros.llm import ChatClient, Endpoint, PromptBook, endpoint_of
from pace_ros.places import or_packaged
from pace_ros.retrieval import KnowledgeBase
from pace_ros.study.quiet import Mute, Silence
from pace_ros.substitutes import Substitutes
from pace_ros.turn import TurnRecord, Utterance
from pace_ros.understanding import Understanding

SIMULATED = Endpoint('http://simulated.cloud/v1', 'simulated')


@dataclass(frozen=True)
class Parts:
    """What an engine is made of. ``transport`` None: a real network to the endpoint of the configuration.

    ``library_look`` is called at every look into the GPTCache library, which knows no charges of its own.
    """

    clock: Clock
    embedder: Embedder
    knowledge: KnowledgeBase
    understanding: Understanding
    transport: httpx.AsyncBaseTransport | None
    generator: FillerGenerator | None
    cache: Callable[..., SemanticCache] = SemanticCache
    embed_seconds: float | None = None
    library_look: Callable[[], None] = lambda: None


class Engine(Protocol):
    """Answers utterances."""

    async def ask(self, utterance: Utterance) -> TurnRecord:
        """Take a final utterance to its end; the record is complete."""
        ...

    def hear(self, hypothesis: Utterance) -> None:
        """Take an unfinished hypothesis."""
        ...

    def remember(self, entries: Sequence[CacheEntry], embedder: Embedder) -> None:
        """Begin with these cached answers."""
        ...

    async def aclose(self) -> None:
        """Stop."""
        ...


class RobotEngine:
    """The assembly of the robot with the study's parts in it."""

    def __init__(self, config: Config, parts: Parts) -> None:
        self.assembly = Assembly(
            lambda: config, parts.clock, outlet=Silence(), speaker=Mute(),
            instead=Substitutes(
                transport=parts.transport, embedder=parts.embedder, knowledge=parts.knowledge,
                understanding=parts.understanding, generator=parts.generator, cache=parts.cache,
                embed_seconds=parts.embed_seconds,
            ),
        )

    async def ask(self, utterance: Utterance) -> TurnRecord:
        """Take a final utterance to its end, admission to the cache included; its conversation is forgotten."""
        turn = self.assembly.dialogue.submit(utterance)
        await turn.ended.wait()
        if turn.task is not None:
            await asyncio.wait([turn.task])
        self.assembly.dialogue.end_conversation(utterance.conversation_id)
        return turn.record

    def hear(self, hypothesis: Utterance) -> None:
        """Take an unfinished hypothesis."""
        self.assembly.dialogue.hear_partial(hypothesis)

    def remember(self, entries: Sequence[CacheEntry], embedder: Embedder) -> None:
        """Begin with these cached answers."""
        for each in entries:
            self.assembly.cache.admit(each, embedder.embed(each.question))

    async def aclose(self) -> None:
        """Stop."""
        await self.assembly.aclose()


class LibraryEngine:
    """GPTCache with our encoder and L2."""

    def __init__(self, config: Config, parts: Parts) -> None:
        from pace_ros.study.gptcache import GptCacheArm  # noqa: PLC0415  the library is heavy

        endpoint = SIMULATED if parts.transport else endpoint_of(config.l2, os.environ)
        self._llm = ChatClient(endpoint, lambda: config.l2, parts.clock, parts.transport)
        self._look = parts.library_look
        prompts = PromptBook.read(or_packaged(config.l2.persona_file, 'persona.yaml'))
        self._arm = GptCacheArm(
            parts.embedder, parts.knowledge, prompts, self._llm, clock=parts.clock, config=lambda: config
        )

    async def ask(self, utterance: Utterance) -> TurnRecord:
        """Take a final utterance to its end."""
        self._look()
        return await self._arm.ask(utterance)

    def hear(self, hypothesis: Utterance) -> None:
        """Nothing is made of hypotheses."""

    def remember(self, entries: Sequence[CacheEntry], embedder: Embedder) -> None:
        """Begin with these cached answers."""
        self._arm.store.fill([(each.question, each.answer, embedder.embed(each.question)) for each in entries])

    async def aclose(self) -> None:
        """Stop."""
        await self._llm.aclose()
        self._arm.close()
