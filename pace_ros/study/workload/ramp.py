"""The load ramp: offered concurrency up and down again, as a crowd comes and goes."""
from __future__ import annotations

from collections.abc import Mapping

from pace_ros.study.workload.arrivals import Arrival, poisson, rate
from pace_ros.study.workload.request import WARM_UP

PHASES: Mapping[str, float] = {'1 up': 1, '8 up': 8, '32': 32, '8 down': 8, '1 down': 1}
"""Offered concurrency by phase, in order."""


def ramp(
    completion: float, *, seed: int, warm_up: int = 200, each: int = 150, phases: Mapping[str, float] = PHASES
) -> tuple[Arrival, ...]:
    """Poisson arrivals through all phases, ``each`` in each, after a warm-up at the first one's concurrency.

    ``completion`` is the mean completion time (s) of the pure-LLM arm. Raises ValueError.
    """
    first = next(iter(phases.values()))
    places = [(WARM_UP, first)] * warm_up + [phase for phase in phases.items() for _ in range(each)]
    times = poisson([rate(concurrency, completion) for _, concurrency in places], seed=seed)
    return tuple(
        Arrival(at, concurrency, phase) for at, (phase, concurrency) in zip(times.tolist(), places, strict=True)
    )
