"""Puts the parts together from one configuration, and takes them apart again in the right order."""
from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import timeit
from collections.abc import Callable
from pathlib import Path

from pace_ros import packaged
from pace_ros.cache import CacheFileError, CacheSaver, Lexicon, SemanticCache, persistence
from pace_ros.cascade import Cascade
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control import ControllerState, CostLedger, Router, TtftKeeper
from pace_ros.dialogue import Dialogue
from pace_ros.embedding import open_embedder
from pace_ros.embodiment import Pyttsx3Synthesizer, Sink, Voice
from pace_ros.facts import FactExtractor
from pace_ros.filler import (
    ConflictJudge,
    ConflictMeter,
    FillerDesk,
    FillerFailed,
    LlamaFillers,
    PhraseBook,
    budget,
    plan,
)
from pace_ros.levels import Levels
from pace_ros.live_turn import Outlet
from pace_ros.llm import ChatClient, HedgedChat, PromptBook, SignalProbe, endpoint_of, hedge_endpoint_of
from pace_ros.record import RecordWriter
from pace_ros.remarks import Remarks
from pace_ros.retrieval import KnowledgeBase, KnowledgeChange

log = logging.getLogger(__name__)


def data_dir(config: Config) -> Path:
    """Where cache and log are kept."""
    chosen = config.data_dir or os.environ.get('PACE_DATA_DIR', '') or '~/.local/share/pace_ros'
    return Path(chosen).expanduser()


def _data_file(config: Config, setting: str, name: str) -> Path | None:
    if setting == 'none':
        return None
    return Path(setting).expanduser() if setting else data_dir(config) / name


def _or_packaged(setting: str, name: str) -> Path:
    return Path(setting).expanduser() if setting else packaged.config_dir() / name


class Assembly:
    """Every part of the running robot. Made on a worker thread (models load for seconds), closed on the event loop."""

    def __init__(self, config: Callable[[], Config], clock: Clock, *, outlet: Outlet, sink: Sink) -> None:
        """Load everything. Raises the parts' own errors, each a sentence that names the file or parameter at fault."""
        self._config = config
        self._clock = clock
        now = config()
        with contextlib.ExitStack() as begun:  # what has a thread is closed again if a later part cannot be opened
            self._open_recall(now)
            self._open_control(now)
            self._open_files(now, begun)
            self._open_voice(now, sink, begun)
            levels = self._levels(now)
            self.cascade = Cascade(levels, config, clock, embed_seconds=self._embed_seconds())
            self.dialogue = Dialogue(
                self.cascade, levels, config, clock=clock, outlet=outlet, voice=self.voice, writer=self.writer
            )
            self.probe = SignalProbe(
                self.llm.first, levels.prompts, self.router, self.ledger, config=config, clock=clock
            )
            self.dialogue.on_visitor = self.probe.cancel
            begun.pop_all()

    def _open_recall(self, now: Config) -> None:
        """The encoder and what is searched by it."""
        self.embedder = open_embedder(now.embedding)
        paths = [Path(path).expanduser() for path in now.l1.knowledge] or [packaged.config_dir() / 'knowledge']
        self.knowledge = KnowledgeBase(paths, self.embedder, self._clock)
        self.cache = SemanticCache(
            dimension=self.embedder.dimension, capacity=now.l0.capacity, half_life=now.l0.half_life, clock=self._clock
        )
        self._cache_file = _data_file(now, now.l0.file, 'l0.npz')
        self._restore_cache()

    def _open_control(self, now: Config) -> None:
        """The language model, the router with its memory of it, and what both may cost."""
        self.endpoint = endpoint_of(now.l2, os.environ)
        self.ledger = CostLedger(lambda: self._config().cost)
        self.llm = self._open_llm(now)
        self.router = Router(self._config, self._clock)
        self.keeper = TtftKeeper(
            self.router, _data_file(now, now.router.file, 'router.json'), clock=self._clock,
            endpoint=f'{self.endpoint.base_url} {self.endpoint.model}', longest=now.router.restore_age,
        )

    def _open_files(self, now: Config, begun: contextlib.ExitStack) -> None:
        """The log of turns and the cache's file, each with its writer."""
        record_file = _data_file(now, now.record.file, 'turns.jsonl')
        self.writer = RecordWriter(record_file) if record_file else None
        if self.writer is not None:
            begun.callback(self.writer.close)
        self.saver = self._open_saver()
        if self.saver is not None:
            begun.callback(self.saver.close)

    def _open_voice(self, now: Config, sink: Sink, begun: contextlib.ExitStack) -> None:
        """What is said while the model thinks, and the mouth."""
        self.generator_error = ''
        self.fillers = self._open_fillers(now)
        begun.callback(self.fillers.close)
        self.voice = Voice(Pyttsx3Synthesizer(now.speech.rate), sink)

    def _levels(self, now: Config) -> Levels:
        """The parts a turn passes through."""
        folder = packaged.config_dir()
        facts = FactExtractor.read(_or_packaged(now.names_file, 'names.yaml'), folder / 'antonyms.yaml')
        self.conflicts = ConflictMeter(facts)
        return Levels(
            embedder=self.embedder,
            cache=self.cache,
            knowledge=self.knowledge,
            volatility=Lexicon.read(folder / 'lexicon'),
            router=self.router,
            ledger=self.ledger,
            fillers=self.fillers,
            facts=facts,
            conflicts=self.conflicts,
            judge=ConflictJudge(self.llm.first, lambda: self._config().filler, self.ledger),
            llm=self.llm,
            prompts=PromptBook.read(_or_packaged(now.l2.persona_file, 'persona.yaml')),
            remarks=Remarks.read(folder / 'remarks.yaml'),
        )

    def reload_knowledge(self) -> KnowledgeChange:
        """Read the knowledge files again; answers built on a changed entry leave the cache. Raises KnowledgeError."""
        return self.knowledge.reload(self._drop_outdated)

    def invalidate(self, entry_ids: list[str], terms: list[str]) -> int:
        """Knowledge changed elsewhere: drop the answers built on it; returns how many."""
        self.cascade.knowledge_changed()
        return self.cache.invalidate(sources=entry_ids, terms=terms)

    def save_cache(self) -> int:
        """Write the cache now; returns the number of entries. Raises OSError, or RuntimeError if it has no file."""
        if self.saver is None:
            raise RuntimeError('the cache is kept in memory only (l0.file is none)')
        return self.saver.save()

    async def warm_up(self) -> None:
        """Start the speech worker, so that the first sentence does not wait for it."""
        if self._config().speech.enabled:
            try:
                await self.voice.synthesizer.synthesise('Hello.', self._config().locale)
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
        await self.probe.aclose()
        await asyncio.gather(self.llm.aclose(), self.voice.aclose(), return_exceptions=True)
        await asyncio.to_thread(self._close_blocking)

    def _close_blocking(self) -> None:
        if self.writer is not None:
            self.writer.close()
        if self.saver is not None:
            self.saver.close()
        self.keeper.save_if_changed()
        self.cascade.close()
        self.fillers.close()

    def _open_llm(self, config: Config) -> HedgedChat:
        """The endpoint, and the second one for hedged requests, which may be the same."""
        first = ChatClient(self.endpoint, lambda: self._config().l2, self._clock)
        other = hedge_endpoint_of(config.hedge, self.endpoint, os.environ)
        second = first if other is None else ChatClient(other, lambda: self._config().l2, self._clock)
        return HedgedChat(first, second, lambda: self._config().hedge, self.ledger, self._clock)

    def _embed_seconds(self) -> float:
        """What one encoding takes, once warm."""
        return min(timeit.repeat(lambda: self.embedder.embed('How far does it go on one charge?'), number=1, repeat=5))

    def _drop_outdated(self, change: KnowledgeChange) -> None:
        removed = self.invalidate([*change.changed, *change.withdrawn], [])
        if removed:
            log.info('%d cached answers built on changed knowledge are dropped', removed)

    def _restore_cache(self) -> None:
        if self._cache_file is None:
            return
        try:
            self.cache.restore(persistence.load(self._cache_file, self.embedder.fingerprint))
        except CacheFileError as error:
            log.warning('the cache starts empty: %s', error)

    def _open_saver(self) -> CacheSaver | None:
        if self._cache_file is None:
            return None
        return CacheSaver(
            self.cache, self._cache_file, self.embedder.fingerprint, lambda: self._config().l0.save_period
        )

    def _open_fillers(self, config: Config) -> FillerDesk:
        book = PhraseBook.read(_or_packaged(config.filler.phrases_file, 'fillers.yaml'), config.filler.max_chars)
        return FillerDesk(self._open_generator(config, book), book, lambda: self._config().filler)

    def _open_generator(self, config: Config, book: PhraseBook) -> LlamaFillers | None:
        """A robot whose filler model is missing still has its placeholders."""
        if not config.filler.generator:
            return None
        try:
            model = Path(config.filler.model).expanduser() if config.filler.model else packaged.small_chat_model()
            return LlamaFillers(model, config.filler, book)
        except (FillerFailed, ImportError, packaged.MissingPackage) as error:
            self.generator_error = str(error)
            log.warning('fillers are placeholders only: %s', error)
            return None
