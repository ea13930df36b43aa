"""A scripted day in virtual time: the real router, filler policy and their laws, under a simulated floor and cloud.

    scripts/run python3 -m pace_ros.study.day docs/figures/scripted_day.png

Visitors arrive at random at each phase's rate; each question draws how near the cache and the knowledge base come to
it, the router's thresholds decide its path, and the simulated cloud draws a first-token time. Nothing waits.
"""
from __future__ import annotations

import heapq
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path as FilePath

from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.control import Router, RouterState
from pace_ros.filler import budget, plan
from pace_ros.turn import Path

SCATTER = 0.5  # sigma of the logarithm of a first-token time
MINUTE, HOUR = 60.0, 3600.0


@dataclass(frozen=True)
class Phase:
    """A part of the day: turns an hour, and the cloud's median time to first token (s; infinite: it is out)."""

    name: str
    hours: float
    turns_per_hour: float
    ttft: float


DAY = (
    Phase('quiet', 1.5, 30.0, 1.8),
    Phase('opening rush', 1.5, 600.0, 3.4),
    Phase('lunch', 1.5, 40.0, 1.6),
    Phase('afternoon', 1.0, 120.0, 1.8),
    Phase('cloud outage', 0.5, 120.0, math.inf),
    Phase('recovered', 1.0, 120.0, 1.8),
    Phase('closing', 1.0, 6.0, 1.5),
)


@dataclass(frozen=True)
class DayTurn:
    """One turn's decision; ``at`` is s since the day began, ``ttft`` NaN where there was no first token."""

    at: float
    phase: str
    path: Path
    law: str
    theta_cache: float
    theta_direct: float
    load: float
    p_instant: float
    ttft_ewma: float
    filler: bool
    budget: float
    ttft: float


@dataclass(frozen=True)
class DaySample:
    """The router's state once a minute."""

    at: float
    phase: str
    state: RouterState


@dataclass
class DayLog:
    """All that happened."""

    turns: list[DayTurn]
    samples: list[DaySample]


class _Floor:
    """Draws what visitors ask: one in three repeats something, the rest is known to the knowledge base or is not."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def scores(self) -> tuple[float, float]:
        """The similarities of the nearest cached question and of the nearest knowledge entry."""
        repeated = self._chance.random() < 0.33
        cache = 1.0 - abs(self._chance.gauss(0.0, 0.04)) if repeated else self._chance.uniform(0.3, 0.92)
        return cache, min(1.0, max(0.0, self._chance.gauss(0.74, 0.12)))


class Simulation:
    """Plays phases through one router."""

    def __init__(self, config: Config, phases: tuple[Phase, ...] = DAY, *, seed: int = 1) -> None:
        self._config = config
        self._phases = phases
        self._clock = VirtualClock()
        self._chance = random.Random(seed)  # noqa: S311  visitors, no secrets
        self._floor = _Floor(random.Random(seed + 1))  # noqa: S311
        self._router = Router(lambda: config, self._clock)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._log = DayLog([], [])

    def run(self) -> DayLog:
        """Play the whole day."""
        begin = 0.0
        for phase in self._phases:
            end = begin + phase.hours * HOUR
            for at in self._arrivals(begin, end, phase.turns_per_hour / HOUR):
                self._at(at, partial(self._turn, phase))
            for minute in range(round(begin / MINUTE), round(end / MINUTE)):
                self._at(minute * MINUTE, partial(self._sample, phase))
            begin = end
        while self._events:
            at, _, event = heapq.heappop(self._events)
            self._clock.advance(at - self._clock.monotonic())
            event()
        return self._log

    def _arrivals(self, begin: float, end: float, rate: float) -> Iterator[float]:
        at = begin + self._chance.expovariate(rate)
        while at < end:
            yield at
            at += self._chance.expovariate(rate)

    def _at(self, at: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), event))

    def _turn(self, phase: Phase) -> None:
        router, settings = self._router, self._config
        router.observe_arrival()
        decision = router.decide(settings.router.mode)
        launch = plan(settings.filler.mode, settings.filler, p_instant=decision.p_instant).launch
        cache, knowledge = self._floor.scores()
        path, ttft = Path.L2, math.nan
        if cache >= decision.theta_cache:
            path = Path.L0
        elif knowledge >= decision.theta_direct:
            path = Path.L1
        elif math.isfinite(phase.ttft):
            ttft = self._chance.lognormvariate(math.log(phase.ttft), SCATTER)
            self._at(self._clock.monotonic() + ttft, lambda: router.observe_ttft(ttft))
        else:
            path = Path.FALLBACK  # decided for L2, which does not answer
        router.observe_path(instant=path in (Path.L0, Path.L1))
        self._log.turns.append(DayTurn(
            at=self._clock.monotonic(), phase=phase.name, path=path, law=decision.law,
            theta_cache=decision.theta_cache, theta_direct=decision.theta_direct, load=decision.load_index,
            p_instant=decision.p_instant, ttft_ewma=decision.ttft_ewma, filler=launch,
            budget=budget(settings.filler.mode, settings.filler, ttft=decision.ttft_ewma, elapsed=0.01), ttft=ttft,
        ))

    def _sample(self, phase: Phase) -> None:
        self._log.samples.append(DaySample(self._clock.monotonic(), phase.name, self._router.state()))


def main() -> None:
    """Play the day and draw it."""
    from pace_ros.study.day_figure import draw  # noqa: PLC0415  drawing needs matplotlib, playing does not

    target = FilePath(sys.argv[1]) if len(sys.argv) > 1 else FilePath('scripted_day.png')
    log = Simulation(Config()).run()
    draw(log, DAY, target)
    for phase in DAY:
        samples = [each for each in log.samples if each.phase == phase.name]
        turns = [each for each in log.turns if each.phase == phase.name]
        static = sum(each.state.gate.static for each in samples) / len(samples)
        instant = sum(each.path in (Path.L0, Path.L1) for each in turns) / max(1, len(turns))
        fillers = sum(each.filler for each in turns) / max(1, len(turns))
        sys.stdout.write(f'{phase.name:14} {len(turns):5} turns, gate STATIC {static:4.0%}, instant {instant:4.0%}, '
                         f'fillers launched {fillers:4.0%}\n')
    sys.stdout.write(f'drawn in {target}\n')


if __name__ == '__main__':
    main()
