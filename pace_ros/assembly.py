"""Puts the parts together from one configuration, and takes them apart again in the right order."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import timeit
from collections.abc import Callable
from pathlib import Path

from pace_ros import packaged
from pace_ros.cache import CacheFileError, CacheSaver, ChangeRates, Guards, SemanticCache
from pace_ros.cascade import Cascade
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control import ControllerState, CostLedger, Router, TtftKeeper
from pace_ros.dialogue import Dialogue
from pace_ros.embedding import open_embedder
from pace_ros.embodiment import Speaker, Voice
from pace_ros.filler import (
    ConflictJudge,
    ConflictMeter,
    FillerDesk,
    FillerFailed,
    FillerGenerator,
    LlamaFillers,
    PhraseBook,
    budget,
    plan,
)
from pace_ros.freshness import Freshness
from pace_ros.hits import read_ahead
from pace_ros.levels import Levels
from pace_ros.live_turn import Outlet
from pace_ros.llm import ChatClient, HedgedChat, PromptBook, SignalProbe, endpoint_of, hedge_endpoint_of
from pace_ros.llm.tools.opening import open_tools
from pace_ros.llm.tools.rounds import ToolRounds
from pace_ros.llm.traffic import Exchanged
from pace_ros.places import data_file, or_packaged
from pace_ros.record import RecordWriter
from pace_ros.remarks import Remarks
from pace_ros.retrieval import KnowledgeBase
from pace_ros.substitutes import NOTHING, Substitutes
from pace_ros.understanding import Understanding
from pace_ros.wire import open_transport

log = logging.getLogger(__name__)


class Assembly:
    """Every part of the running robot. Made on a worker thread (models load for seconds), closed on the event loop."""

    def __init__(
        self, config: Callable[[], Config], clock: Clock, *, outlet: Outlet, speaker: Speaker,
        on_traffic: Callable[[Exchanged], None] = lambda _exchanged: None, instead: Substitutes = NOTHING,
    ) -> None:
        """Load everything but what is there ``instead``; ``on_traffic`` is told every exchange with the language
        model, with ``record.l2``.

        Raises the parts' own errors, each a sentence that names the file or parameter at fault.
        """
        self._config = config
        self._clock = clock
        self._instead = instead
        self._on_traffic = on_traffic
        now = config()
        with contextlib.ExitStack() as begun:  # what has a thread is closed again if a later part cannot be opened
            self._open_recall(now, begun)
            self._open_control(now)
            self._open_files(now, begun)
            self._open_voice(now, speaker, begun)
            levels = self._levels(now)
            if instead.knowledge is None or instead.understanding is None:
                read_ahead(levels, self.knowledge.entries.values())
            self.cascade = Cascade(levels, config, clock, embed_seconds=self._embed_seconds())
            rates = ChangeRates(clock, self.cache.file and self.cache.file.with_name('change_rates.json'))
            self.freshness = Freshness(
                self.cache, self.knowledge, self._understanding.lexicon, rates, self.cascade.knowledge_changed
            )
            self.dialogue = Dialogue(
                self.cascade, levels, config, clock=clock, outlet=outlet, voice=self.voice, writer=self.writer
            )
            self.probe = SignalProbe(
                self.llm.first, levels.prompts, self.router, self.ledger, config=config, clock=clock
            )
            self.dialogue.on_visitor = self.probe.cancel
            begun.pop_all()

    def _open_recall(self, now: Config, begun: contextlib.ExitStack) -> None:
        """The encoder and what is searched by it."""
        instead = self._instead
        self.embedder = instead.embedder or open_embedder(now.embedding)
        self._understanding = instead.understanding or Understanding.read(now, self.embedder.fingerprint)
        paths = [Path(path).expanduser() for path in now.l1.knowledge] or [packaged.config_dir() / 'knowledge']
        self.knowledge = instead.knowledge or KnowledgeBase(paths, self.embedder, self._clock)
        self.cache = self._open_cache(now)
        begun.callback(self.cache.close)
        self.saver = CacheSaver(self.cache, lambda: self._config().l0.save_period)
        begun.callback(self.saver.close)

    def _open_cache(self, now: Config) -> SemanticCache:
        """The cache on its file; where another process has that, in memory only."""
        file = data_file(now, now.l0.file, 'l0.sqlite')
        open_on = functools.partial(
            self._instead.cache, dimension=self.embedder.dimension,
            capacity=now.l0.capacity, half_life=now.l0.half_life,
            clock=self._clock, fingerprint=self.embedder.fingerprint,
        )
        self.cache_error = ''
        try:
            return open_on(file=file)
        except CacheFileError as error:
            self.cache_error = str(error)
            log.error('the cache is kept in memory only: %s', error)
            return open_on()

    def _open_control(self, now: Config) -> None:
        """The language model, the router with its memory of it, and what both may cost."""
        self.endpoint = endpoint_of(now.l2, os.environ)
        self.ledger = CostLedger(lambda: self._config().cost)
        self.llm = self._open_llm(now)
        self.tools = self._open_tools(now)
        self.router = Router(self._config, self._clock)
        self.keeper = TtftKeeper(
            self.router, data_file(now, now.router.file, 'router.json'), clock=self._clock,
            endpoint=f'{self.endpoint.base_url} {self.endpoint.model}', longest=now.router.restore_age,
        )

    def _open_files(self, now: Config, begun: contextlib.ExitStack) -> None:
        """The log of turns, with its writer."""
        record_file = data_file(now, now.record.file, 'turns.jsonl')
        self.writer = RecordWriter(record_file) if record_file else None
        if self.writer is not None:
            begun.callback(self.writer.close)

    def _open_voice(self, now: Config, speaker: Speaker, begun: contextlib.ExitStack) -> None:
        """What is said while the model thinks, and the mouth."""
        self.generator_error = ''
        self.fillers = self._open_fillers(now)
        begun.callback(self.fillers.close)
        self.voice = Voice(speaker)

    def _levels(self, now: Config) -> Levels:
        """The parts a turn passes through."""
        by = self._understanding
        self.conflicts = ConflictMeter(by.facts)
        return Levels(
            embedder=self.embedder,
            cache=self.cache,
            knowledge=self.knowledge,
            volatility=by.volatility,
            scopes=by.scopes,
            guards=Guards(by.facts),
            personal=by.personal,
            unknowing=by.unknowing,
            router=self.router,
            ledger=self.ledger,
            fillers=self.fillers,
            facts=by.facts,
            conflicts=self.conflicts,
            judge=ConflictJudge(self.llm.first, lambda: self._config().filler, self.ledger),
            llm=self.llm,
            prompts=PromptBook.read(or_packaged(now.l2.persona_file, 'persona.yaml')),
            remarks=Remarks.read(packaged.config_dir() / 'remarks.yaml'),
            tools=self.tools,
        )

    def save_cache(self) -> int:
        """Write the cache now; returns the number of entries. Raises OSError, or RuntimeError if it has no file."""
        if self.cache.file is None:
            raise RuntimeError(self.cache_error or 'the cache is kept in memory only (l0.file is none)')
        return self.saver.save()

    async def warm_up(self) -> None:
        """Let the speaker prepare a sentence, so that the first one does not wait for the engine to start."""
        if self._config().speech.enabled:
            try:
                await self.voice.speaker.prepare('Hello.', self._config().locale)
            except Exception as error:  # a robot without a voice still answers in text
                self.voice.error = str(error)
                log.error('the robot cannot speak, it goes on in text: %s', error)

    def every_second(self, *, active: bool) -> None:
        """What is due by time alone: forget the silent, probe a starved signal (an inactive node does not), keep the
        router's memory.
        """
        self.dialogue.forget_idle()
        self.probe.consider(idle=active and self.dialogue.running == 0)
        asyncio.get_running_loop().run_in_executor(None, self.keeper.save_if_changed)

    def controller_state(self) -> ControllerState:
        """What the controllers would do for a turn that began now, and how they came to it."""
        config, router, conflicts = self._config(), self.router.state(), self.conflicts
        decided = plan(config.filler.mode, config.filler, p_instant=router.decision.p_instant)
        tokens, fillers = self.ledger.per_turn()
        return ControllerState(
            mode=config.router.mode,
            router=router,
            filler_launch=decided.launch,
            filler_decision=decided.reason,
            budget=budget(config.filler.mode, config.filler, ttft=router.decision.ttft_ewma, elapsed=0.0),
            fillers_measured=conflicts.measured,
            conflict_rate=conflicts.rate,
            judged=conflicts.judged,
            contradiction_rate=conflicts.contradictions / max(1, conflicts.judged),
            tokens_per_turn=tokens,
            fillers_per_turn=fillers,
            hedged_share=self.llm.share,
            probes=self.probe.sent,
            asked_ahead=self.cascade.asked_ahead,
            used_ahead=self.cascade.used_ahead,
        )

    async def aclose(self) -> None:
        """Stop the turns, then write cache and log, then free the models."""
        await self.dialogue.aclose()
        self.dialogue.forget_all()
        await self.probe.aclose()
        closing = [self.llm.aclose(), self.voice.aclose(), *([self.tools.aclose()] if self.tools else [])]
        await asyncio.gather(*closing, return_exceptions=True)
        await asyncio.to_thread(self._close_blocking)

    def _close_blocking(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.saver.close()
        self.cache.close()
        self.freshness.close()
        self.keeper.save_if_changed()
        self.cascade.close()
        self.fillers.close()

    def _open_llm(self, config: Config) -> HedgedChat:
        """The endpoint, and the second one for hedged requests, which may be the same."""
        other = hedge_endpoint_of(config.hedge, self.endpoint, os.environ)
        transport = open_transport(
            self._config, [self.endpoint, *filter(None, [other])], self._instead.transport, self._on_traffic,
            self._clock,
        )
        first = ChatClient(self.endpoint, lambda: self._config().l2, self._clock, transport)
        second = first
        if other is not None:
            apart = bool(config.hedge.base_url)  # else it is the same server with another model
            second = ChatClient(
                other, lambda: self._config().l2, self._clock, transport,
                sticky=(lambda: self._config().hedge.sticky) if apart else None,
            )
        return HedgedChat(first, second, lambda: self._config().hedge, self.ledger, self._clock)

    def _open_tools(self, config: Config) -> ToolRounds | None:
        """What the language model may call, None if nothing."""
        if not config.l2.tools_file:
            return None
        toolbox = open_tools(
            Path(config.l2.tools_file).expanduser(), os.environ, embedder=self.embedder, knowledge=self.knowledge,
            clock=self._clock,
        )
        return ToolRounds(self.llm, toolbox, lambda: self._config().l2, self.ledger, self._clock)

    def _embed_seconds(self) -> float:
        """What one encoding takes, once warm."""
        if self._instead.embed_seconds is not None:
            return self._instead.embed_seconds
        return min(timeit.repeat(lambda: self.embedder.embed('How far does it go on one charge?'), number=1, repeat=5))

    def _open_fillers(self, config: Config) -> FillerDesk:
        book = PhraseBook.read(or_packaged(config.filler.phrases_file, 'fillers.yaml'), config.filler.max_chars)
        return FillerDesk(self._open_generator(config, book), book, lambda: self._config().filler)

    def _open_generator(self, config: Config, book: PhraseBook) -> FillerGenerator | None:
        """A robot whose filler model is missing still has its placeholders."""
        if not config.filler.generator:
            return None
        if self._instead.generator is not None:
            return self._instead.generator
        try:
            model = Path(config.filler.model).expanduser() if config.filler.model else packaged.small_chat_model()
            return LlamaFillers(model, config.filler, book)
        except (FillerFailed, ImportError, packaged.MissingPackage) as error:
            self.generator_error = str(error)
            log.warning('fillers are placeholders only: %s', error)
            return None
