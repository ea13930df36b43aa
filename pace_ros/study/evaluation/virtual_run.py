"""A cell in virtual time, or in real time on the same parts."""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import Clock, SystemClock
from pace_ros.config import Config
from pace_ros.embedding import Embedder, Vector
from pace_ros.filler import PhraseBook
from pace_ros.places import or_packaged
from pace_ros.retrieval import KnowledgeBase
from pace_ros.settings import with_values
from pace_ros.study.cloud import Answers, CloudSettings, SimulatedCloud
from pace_ros.study.datasets.question import Change
from pace_ros.study.datasets.world import World
from pace_ros.study.evaluation.arms import LIBRARY, Arm
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.engines import Engine, LibraryEngine, Parts, RobotEngine
from pace_ros.study.evaluation.laboratory import Laboratory, Subject
from pace_ros.study.evaluation.trial import Row, Trial
from pace_ros.study.virtual.costs import ChargedEmbedder, FixedCosts, HeldKnowledge, charged_cache
from pace_ros.study.virtual.fillers import SampledFillers
from pace_ros.study.virtual.loop import LoopClock, VirtualLoop, run
from pace_ros.study.workload.request import Request

MEASURED, FIXED, REAL = 'measured', 'fixed', 'real'
FREE_OF_CHARGE = FixedCosts(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Conditions:
    """``time``: virtual with computing as measured or at fixed cost, or real. ``cloud`` stands in
    for L2, unless ``base_url`` names a real one.
    """

    time: str = MEASURED
    cloud: CloudSettings = field(default_factory=CloudSettings)
    base_url: str = ''
    costs: FixedCosts = field(default_factory=FixedCosts)


@dataclass(frozen=True)
class Job:
    """A cell with all that is put to it; ``snapshot`` is what its cache holds at the beginning."""

    cell: Cell
    arm: Arm
    requests: Sequence[Request]
    events: Sequence[tuple[float, Change]] = ()
    snapshot: Sequence[CacheEntry] = ()


def perform(
    job: Job, laboratory: Laboratory, conditions: Conditions, *,
    on_admit: Callable[[CacheEntry], None] | None = None,
) -> list[Row]:
    """Run a cell to its end; ``on_admit`` is told every answer that is cached. Raises Overdue, ConfigError."""
    if conditions.time == REAL:
        loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        stage = _Stage(loop, SystemClock(), contextlib.nullcontext, lambda _seconds: None)
    else:
        loop = virtual = VirtualLoop(measured=conditions.time == MEASURED)
        stage = _Stage(virtual, LoopClock(virtual), virtual.free, virtual.charge)
    return run(loop, _Performance(job, laboratory, conditions, stage, on_admit).rows())


@dataclass(frozen=True)
class _Stage:
    loop: asyncio.AbstractEventLoop
    clock: Clock
    free: Callable[[], AbstractContextManager[None]]
    charge: Callable[[float], None]


class _Performance:
    """Builds the parts of a cell, runs it, takes them down."""

    def __init__(
        self, job: Job, laboratory: Laboratory, conditions: Conditions, stage: _Stage,
        on_admit: Callable[[CacheEntry], None] | None,
    ) -> None:
        self._job = job
        self._laboratory = laboratory
        self._conditions = conditions
        self._stage = stage
        self._on_admit = on_admit

    async def rows(self) -> list[Row]:
        """Everything."""
        job, stage = self._job, self._stage
        with stage.free():
            subject = self._laboratory.subject(job.cell.dataset)
            world = World(subject.data)
            cloud = SimulatedCloud(
                Answers(subject.data, world, subject.texts), self._conditions.cloud, seed=job.cell.seed,
                free=stage.free,
            )
            base = with_values(subject.base, {'l2.base_url': self._conditions.base_url})
            engine = self._engine(subject, job.arm.config(base), cloud)
            engine.remember(job.snapshot, self._laboratory.remembering)
        trial = Trial(
            job.cell, engine, world, subject.judge, stage.clock, stage.free, cloud.announce,
            self._invalidator(engine) if job.arm.invalidates else lambda _change: None,
        )
        try:
            cloud.begin()
            return await trial.run(job.requests, job.events)
        finally:
            with stage.free():
                await engine.aclose()

    def _engine(self, subject: Subject, config: Config, cloud: SimulatedCloud) -> Engine:
        fixed = self._conditions.time == FIXED
        costs = self._conditions.costs if fixed else FREE_OF_CHARGE
        stage, encoder = self._stage, self._laboratory.embedder
        embedder: Embedder = ChargedEmbedder(encoder, costs, stage.charge) if fixed else encoder
        cache = charged_cache(costs, stage.charge) if fixed else SemanticCache
        knowledge: KnowledgeBase = HeldKnowledge(subject.index, encoder, stage.clock, costs, stage.charge)
        book = PhraseBook.read(or_packaged(config.filler.phrases_file, 'fillers.yaml'), config.filler.max_chars)
        fillers = SampledFillers(self._laboratory.latencies, book, self._job.cell.seed)
        parts = Parts(
            stage.clock, embedder, knowledge, subject.understanding,
            None if self._conditions.base_url else cloud.transport,
            None if self._conditions.time == REAL else fillers, self._observed(cache), 0.001 if fixed else None,
            functools.partial(stage.charge, costs.library),
        )
        return LibraryEngine(config, parts) if self._job.arm.engine == LIBRARY else RobotEngine(config, parts)

    def _observed(self, cache: type[SemanticCache]) -> type[SemanticCache]:
        """Such a cache, of which ``on_admit`` is told."""
        if self._on_admit is None:
            return cache
        tell: Callable[[CacheEntry], None] = self._on_admit

        class Observed(cache):  # type: ignore[misc, valid-type]  # a class chosen at run time
            def admit(self, entry: CacheEntry, vector: Vector, *, since: int | None = None) -> bool:
                admitted = bool(super().admit(entry, vector, since=since))
                if admitted:
                    tell(dataclasses.replace(entry, written=0.0))
                return admitted

        return Observed

    def _invalidator(self, engine: Engine) -> Callable[[Change], None]:
        """Tells the robot what has changed, as ``~/invalidate`` does."""
        def tell(change: Change) -> None:
            if isinstance(engine, RobotEngine):
                sources = {source for each in self._laboratory.subject(self._job.cell.dataset).data.seeds
                           if each.meaning == change.meaning for source in each.sources}
                engine.assembly.freshness.invalidate(sorted(sources), [])

        return tell
