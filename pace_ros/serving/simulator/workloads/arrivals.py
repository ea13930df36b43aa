"""When conversations begin."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from pace_ros.serving.simulator.script import Script, Workload, WorkloadError


def poisson(name: str, scripts: Sequence[Script], rate: float, count: int, *, seed: int) -> Workload:
    """``count`` conversations at ``rate`` a second, each drawn from the scripts with replacement, where there are fewer
    of them, without it otherwise. Raises WorkloadError.
    """
    if not scripts or not rate > 0.0 or count < 1:
        raise WorkloadError(f'{name}: {count} conversations of {len(scripts)} scripts cannot come at {rate} a second.')
    chance = np.random.default_rng(seed)
    chosen = chance.choice(len(scripts), count, replace=count > len(scripts))
    times = np.cumsum(chance.exponential(1.0 / rate, count))
    return Workload(name, tuple(
        (float(at), dataclasses.replace(scripts[which], key=f'{scripts[which].key}#{number}'))
        for number, (at, which) in enumerate(zip(times, chosen, strict=True), start=1)
    ))


def at_times(name: str, times: Iterable[float], scripts: Iterable[Script]) -> Workload:
    """One conversation at each time, s. Raises WorkloadError."""
    return Workload(name, tuple(sorted(zip(times, scripts, strict=True), key=lambda each: each[0])))
