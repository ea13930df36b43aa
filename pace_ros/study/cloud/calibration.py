"""A simulated cloud that behaves like a measured one."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from pace_ros.record import read_turns
from pace_ros.study.cloud.settings import CloudError, CloudSettings

FEWEST = 5       # measured values that say something of a distribution
NO_LOAD = 1e6    # a knee that no number of requests reaches: what was measured has its load in it
STEADIEST = 1e4  # shape of gaps that do not vary


@dataclass(frozen=True)
class Measured:
    """Times to the first token (s), the mean gap between tokens (s) of each answer, and how many gaps one has."""

    first_tokens: tuple[float, ...]
    gaps: tuple[float, ...]
    gaps_per_answer: float


def fit(ttfts: Sequence[float], gaps: Sequence[float] = (), *, gaps_per_answer: float = 1.0) -> CloudSettings:
    """A lone request's settings by maximum likelihood: lognormal first tokens, gamma gaps. They do not depend on load.

    ``gaps`` (s) are single ones, or means of ``gaps_per_answer``; too few of them leave the default. Raises CloudError.
    """
    times = _usable(ttfts)
    if len(times) < FEWEST:
        raise CloudError(f'A cloud is fitted to {FEWEST} times to the first token or more, not to {len(times)}.')
    logs = np.log(times)
    fitted = CloudSettings().changed(
        first_token_median=float(np.exp(logs.mean())), first_token_sigma=float(logs.std()), knee=NO_LOAD, power=1.0,
    )
    between = _usable(gaps)
    if len(between) < FEWEST:
        return fitted
    return fitted.changed(gap_mean=float(between.mean()), gap_shape=_shape(between) / gaps_per_answer)


def read_log(path: Path) -> Measured:
    """What a log of turns says of its L2. Raises CloudError."""
    first_tokens, gaps, counts = [], [], []
    try:
        for turn in read_turns(path):
            if turn.l2_attempts != 1 or not math.isfinite(turn.ttft):
                continue
            first_tokens.append(turn.ttft)
            spoken = turn.completion - turn.ptfr
            if turn.tokens_out > 1 and math.isfinite(spoken) and spoken > 0.0:
                gaps.append(spoken / (turn.tokens_out - 1))
                counts.append(turn.tokens_out - 1)
    except OSError as error:
        raise CloudError(f'{path} cannot be read: {error.strerror}.') from None
    if not first_tokens:
        raise CloudError(f'{path} has no turn that was answered by L2 at the first attempt.')
    return Measured(tuple(first_tokens), tuple(gaps), float(np.mean(counts)) if counts else 1.0)


def like(path: Path) -> CloudSettings:
    """A cloud like the one in a log of turns. Raises CloudError."""
    measured = read_log(path)
    return fit(measured.first_tokens, measured.gaps, gaps_per_answer=measured.gaps_per_answer)


def _usable(values: Sequence[float]) -> np.ndarray:
    numbers: np.ndarray = np.asarray(values, dtype=float)
    usable: np.ndarray = numbers[np.isfinite(numbers) & (numbers > 0.0)]
    return usable


def _shape(values: np.ndarray) -> float:
    """Of a gamma distribution from 0."""
    if np.ptp(values) < 1e-9 * values.mean():
        return STEADIEST
    shape, _, _ = stats.gamma.fit(values, floc=0.0)
    return min(float(shape), STEADIEST)
