"""Percentiles of samples in which some values are infinite."""
from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def waits(values: npt.ArrayLike) -> Values:
    """Latencies (s) with no answer, NaN, counted as infinite."""
    sample = np.asarray(values, dtype=float)
    return np.where(np.isnan(sample), np.inf, sample)


def places(count: int, percent: float) -> tuple[int, float]:
    """Between which order statistics the percentile of ``count`` values lies: the lower, from 0, and how far on."""
    place = (count - 1) * percent / 100
    lower = min(math.floor(place + 1e-9), count - 1)
    return lower, max(0.0, place - lower)


def between(lower: Values, upper: Values, share: float) -> Values:
    """Linear interpolation that infinity passes through: anything short of a finite value up to +inf is +inf.

    From -inf to +inf nothing can be said (NaN).
    """
    if share == 0.0:
        return lower
    with np.errstate(invalid='ignore'):
        mixed = lower + share * (upper - lower)
    mixed = np.where(lower == upper, lower, mixed)
    return np.where(np.isneginf(lower) & np.isfinite(upper), -np.inf, mixed)


def percentile(values: npt.ArrayLike, percent: float) -> float:
    """The percentile, linear between order statistics; ``values`` may be infinite, not NaN. NaN of nothing."""
    sample = np.sort(np.asarray(values, dtype=float))
    if not sample.size:
        return math.nan
    lower, share = places(sample.size, percent)
    upper = min(lower + 1, sample.size - 1)
    return float(between(sample[lower], sample[upper], share))
