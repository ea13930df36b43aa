"""A replica at work: one step at a time, and whoever comes during a step waits for its end."""
from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import simpy

from pace_ros.serving.simulator.bell import ring
from pace_ros.serving.simulator.decode_run import DecodeRun
from pace_ros.serving.simulator.hardware import Hardware
from pace_ros.serving.simulator.job import Job, Move
from pace_ros.serving.simulator.meter import Meter
from pace_ros.serving.simulator.slots import Slots, runs

Steps = Generator[simpy.Event, Any, None]


class Engine:
    """Saves and restores go first; then a step takes up to a chunk of the waiting prompts, in the order they came, and
    one token for every stream. Steps that only answer are reckoned in one go until something comes: the result is that
    of step by step. ``one_at_a_time``: the gateway sends prompts that are to be handed over one after the other, each
    when the cache before it has arrived.

    Its slots share one cache, and what a step does for all of them goes through the model together; or each has its
    ``own_caches``, and llama.cpp takes slots together only as far as their numbers are consecutive, and a prompt alone.
    """

    def __init__(self, env: simpy.Environment, hardware: Hardware, *, own_caches: bool = False) -> None:
        self._env = env
        self._own_caches = own_caches
        self.hardware = hardware
        self.meter = Meter(hardware.power)
        self.slots = Slots(paged=hardware.prefix_cache)
        self.one_at_a_time = simpy.Resource(env)
        self._moves: deque[Move] = deque()
        self._prompts: deque[Job] = deque()
        self._streams: list[Job] = []
        self._woken: simpy.Event | None = None
        env.process(self._work())

    def read(self, job: Job) -> None:
        """Read its prompt, then give its answer."""
        self._prompts.append(job)
        self._wake()

    def move(self, seconds: float, job: Job) -> simpy.Event:
        """Save or restore a cache; happens when that is done."""
        move = Move(seconds, job, self._env.event())
        self._moves.append(move)
        self._wake()
        return move.ended

    def _wake(self) -> None:
        if self._woken is not None:
            ring(self._woken)

    def _work(self) -> Steps:
        while True:
            if self._moves:
                yield from self._move()
            elif self._prompts:
                yield from self._read()
            elif self._streams:
                yield from self._answer()
            else:
                self._woken = self._env.event()
                yield self._woken

    def _move(self) -> Steps:
        move = self._moves.popleft()
        yield self._env.timeout(move.seconds)
        self.meter.moves(move.seconds, move.job)
        move.ended.succeed()

    def _read(self) -> Steps:
        """A step that reads, and answers whoever is being answered."""
        costs, streams = self.hardware.costs, self._streams
        room, parts = self.hardware.chunk, []
        for job in self._prompts:
            if room <= 0:
                break
            tokens = min(room, job.left)
            parts.append((job, tokens, costs.reading(tokens, job.done)))
            room -= tokens
        base, more = self._bases(len(parts))
        reading = base + sum(own for *_, own in parts)
        answering = more + costs.answering(len(streams), sum(each.context for each in streams)) if streams else 0.0
        yield self._env.timeout(reading + answering)
        self.meter.reads(reading, parts, base)
        if streams:
            self.meter.answers(answering, streams, 1)
        for job in streams:
            job.give(self._env.now)
        for job, tokens, own in parts:
            job.done += tokens
            job.reading += own + base / len(parts)
            if not job.left:
                self._prompts.popleft()
                job.give(self._env.now)
                self.meter.answered += 1
                job.begun.succeed()
                self._streams.append(job)
        self._finish()

    def _bases(self, prompts: int) -> tuple[float, float]:
        """What a step that reads so many prompts takes beside its tokens, s: for them, and for the streams."""
        costs = self.hardware.costs
        if self._own_caches:
            return prompts * costs.prefill_base, self._passes() * costs.decode_base
        return max(costs.prefill_base, costs.decode_base if self._streams else 0.0), 0.0

    def _passes(self) -> int:
        """How often a step goes through the model for its streams."""
        return runs(each.slot for each in self._streams) if self._own_caches else 1

    def _answer(self) -> Steps:
        """Steps that only answer, until the first stream ends or something comes."""
        costs, streams, start = self.hardware.costs, self._streams, self._env.now
        together = costs.answering(len(streams), sum(each.context for each in streams))
        first = self._passes() * costs.decode_base + together
        run = DecodeRun(first, costs.decode_token * len(streams), min(each.answer - each.given for each in streams))
        steps = yield from self._until_woken(run)
        if not steps:
            return
        self.meter.answers(run.length(steps), streams, steps)
        done = DecodeRun(run.first, run.growth, steps)
        for job in streams:
            _follow(job, done, start, self._env.now)
        self._finish()

    def _until_woken(self, run: DecodeRun) -> Generator[simpy.Event, Any, int]:
        """How many steps were done."""
        start = self._env.now
        woken = self._woken = self._env.event()
        timer = self._env.timeout(run.length(run.steps))
        timer.callbacks.append(lambda _: ring(woken))
        yield woken
        if timer.processed:
            return run.steps
        steps = run.begun(self._env.now - start)
        yield self._env.timeout(max(0.0, start + run.length(steps) - self._env.now))
        return steps

    def _finish(self) -> None:
        for job in self._streams:
            if job.given >= job.answer:
                job.ended.succeed()
        self._streams = [each for each in self._streams if each.given < each.answer]


def _follow(job: Job, run: DecodeRun, start: float, end: float) -> None:
    """What a stream sees of a run that has ended."""
    job.gap(start + run.first - job.last)
    if run.steps > 1:
        job.gaps += run.length(run.steps) - run.first
        job.longest = max(job.longest, run.step(run.steps))
        job.stalls += run.longer(job.stall, 2)
    if job.given <= job.hidden < job.given + run.steps:
        job.visible = start + run.length(job.hidden - job.given + 1)
    job.given += run.steps
    job.last = end
