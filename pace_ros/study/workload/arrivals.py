"""Open-loop arrivals: when requests are sent, on a schedule that no answer can delay."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pace_ros.study.workload.request import MEASURED, WARM_UP

Times = NDArray[np.float64]
_ARRIVALS = 1
"""Keeps these draws apart from others of the same seed."""


@dataclass(frozen=True)
class Arrival:
    """A place in a schedule: intended send time (s since the run began), offered concurrency c, phase."""

    at: float
    concurrency: float
    phase: str = MEASURED


def rate(concurrency: float, completion: float) -> float:
    """Requests per s that keep ``concurrency`` of them under way when each takes ``completion`` s (Little's law).

    ``completion`` is the mean of the pure-LLM arm, for all arms. Raises ValueError.
    """
    if not (concurrency > 0 and completion > 0):
        raise ValueError(f'concurrency and completion time must be positive, not {concurrency} and {completion} s.')
    return concurrency / completion


def poisson(rates: Sequence[float] | Times, *, seed: int) -> Times:
    """Arrival times (s, ascending) of a Poisson process, one for each given rate (1/s), which holds before it.

    Of one seed, the same process in another time scale: twice the rates are half the times, and more rates only add
    arrivals at the end.
    """
    each = np.asarray(rates, dtype=np.float64)
    gaps = np.random.default_rng([seed, _ARRIVALS]).standard_exponential(each.size)
    return np.cumsum(gaps / each)


def steady(
    concurrency: float, completion: float, *, seed: int, warm_up: int = 100, measured: int = 500
) -> tuple[Arrival, ...]:
    """Poisson arrivals at one offered concurrency: ``warm_up`` requests, then ``measured`` ones. Raises ValueError."""
    times = poisson(np.full(warm_up + measured, rate(concurrency, completion)), seed=seed)
    return labelled(times, concurrency, warm_up)


def labelled(times: Times, concurrency: float, warm_up: int) -> tuple[Arrival, ...]:
    """Times as a schedule of which the first ``warm_up`` requests are warm-up."""
    return tuple(
        Arrival(at, concurrency, WARM_UP if index < warm_up else MEASURED)
        for index, at in enumerate(times.tolist())
    )
