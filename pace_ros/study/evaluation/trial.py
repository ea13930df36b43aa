"""A run: every request is sent at its instant, answered by an engine, judged, and becomes a row."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from pace_ros.clock import Clock
from pace_ros.study.datasets.question import Change
from pace_ros.study.datasets.world import World
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.columns import COLUMNS, from_record
from pace_ros.study.evaluation.engines import Engine
from pace_ros.study.judging.reference import ReferenceJudge
from pace_ros.study.refusal import Refusal
from pace_ros.study.workload.request import Request
from pace_ros.turn import TurnRecord, Utterance

Row = dict[str, Any]
PATIENCE = 120.0  # s after the last request in which every turn must have ended


class Overdue(Refusal):
    """A turn that has not ended long after its deadlines."""


@dataclass
class Trial:
    """``free`` wraps what costs the robot nothing: the study's own work. ``announce`` is told every question before
    anything is asked for it, ``changed`` every change of the world.
    """

    cell: Cell
    engine: Engine
    world: World
    judge: ReferenceJudge
    clock: Clock
    free: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    announce: Callable[[str], None] = lambda _question: None
    changed: Callable[[Change], None] = lambda _change: None
    _rows: list[Row] = field(default_factory=list)
    _changed_at: dict[str, float] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _errors: list[BaseException] = field(default_factory=list)

    async def run(self, requests: Sequence[Request], events: Sequence[tuple[float, Change]] = ()) -> list[Row]:
        """Send every request on schedule, whether or not earlier ones are answered (open loop); rows in that order.

        ``events`` are changes of the world with their instants (s since the run began). Raises Overdue, and what went
        wrong in a turn.
        """
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for request in requests:
            loop.call_at(begin + request.at, functools.partial(self._send, request, begin))
            for number, (before, words) in enumerate(request.hypotheses):
                loop.call_at(
                    begin + request.at - before, functools.partial(self._hypothesis, request, words, first=not number)
                )
        for at, change in events:
            loop.call_at(begin + at, functools.partial(self._change, change, begin))
        await asyncio.sleep(max((each.at for each in requests), default=0.0))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._all_ended(len(requests)), PATIENCE)
        if self._errors:
            raise self._errors[0]
        if len(self._rows) < len(requests):
            raise Overdue(f'{self.cell.name}: {len(requests) - len(self._rows)} of {len(requests)} turns do not end')
        return sorted(self._rows, key=lambda row: int(row['index']))

    async def _all_ended(self, count: int) -> None:
        while len(self._rows) < count and self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)

    def _utterance(self, request: Request, text: str, *, partial: bool = False) -> Utterance:
        name = str(request.index)
        return Utterance(
            text, self.clock.monotonic(), utterance_id=name, conversation_id=f'visitor {name}',
            locale=request.question.locale, partial=partial,
        )

    def _hypothesis(self, request: Request, words: str, *, first: bool) -> None:
        if first:  # the cloud may be asked from here on
            self._announce(request)
        self.engine.hear(self._utterance(request, words, partial=True))

    def _change(self, change: Change, begin: float) -> None:
        self.world.apply(change)
        self._changed_at[change.meaning] = asyncio.get_running_loop().time() - begin
        self.changed(change)

    def _send(self, request: Request, begin: float) -> None:
        loop = asyncio.get_running_loop()
        utterance = self._utterance(request, request.question.text)
        if not request.hypotheses:
            self._announce(request)
        sent = loop.time() - begin
        age = sent - self._changed_at.get(request.question.meaning, math.nan)
        task = loop.create_task(self._conclude(request, utterance, sent, age))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _announce(self, request: Request) -> None:
        with self.free():
            self.announce(request.question.text)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)

    async def _conclude(self, request: Request, utterance: Utterance, sent: float, age: float) -> None:
        editions = tuple(self.world.editions(request.question))
        record = await self.engine.ask(utterance)
        with self.free():
            self._rows.append(self._row(request, record, editions, sent, age))

    def _row(self, request: Request, record: TurnRecord, editions: Sequence[str], sent: float, age: float) -> Row:
        cell, question = self.cell, request.question
        verdict = self.judge.verdict(record.answer.strip(), question, editions)
        taken = from_record(record)
        instant = taken['path'] in ('L0', 'L1')
        row = {
            'part': cell.part, 'dataset': cell.dataset, 'arm': cell.arm, 'seed': cell.seed,
            'concurrency': request.concurrency, 'index': request.index, 'phase': request.phase, 'at': request.at,
            'lag': sent - request.at, 'question_id': question.question_id, 'meaning': question.meaning,
            'locale': question.locale, 'kind': question.kind, 'text': question.text,
            'reference': editions[-1], 'volatile': question.volatile, 'seen': request.seen, **taken,
            'correct': verdict.correct, 'quality': verdict.quality, 'stale': verdict.stale,
            'cache_error': instant and not verdict.correct, 'after_change': len(editions) > 1, 'event_age': age,
        }
        return {name: row[name] for name in COLUMNS}
