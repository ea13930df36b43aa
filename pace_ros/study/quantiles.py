"""P50, P95 and P99 of a sample with bootstrap intervals, and how many values an interval takes."""
from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

PERCENTS = (50, 95, 99)
NEEDED = {50: 5, 95: 59, 99: 299}
"""Values below which a quantile gets no interval: the greatest of fewer lies below it in more than 5 % of samples."""
LEVEL = 0.95
_WORK = 2_000_000  # values drawn for one interval; 10,000 turns take 200 resamples
_RESAMPLES = 2_000


@dataclass(frozen=True)
class Quantiles:
    """Quantiles (linear between order statistics) and 95 % percentile-bootstrap intervals, by percent; NaN: none."""

    n: int
    value: dict[int, float] = field(default_factory=dict)
    low: dict[int, float] = field(default_factory=dict)
    high: dict[int, float] = field(default_factory=dict)


def quantiles(values: npt.ArrayLike, *, seed: int = 0) -> Quantiles:
    """Quantiles of the values that are no NaN. The same values and seed give the same intervals."""
    sample = np.asarray(values, dtype=float)
    sample = np.sort(sample[~np.isnan(sample)])
    nothing = dict.fromkeys(PERCENTS, math.nan)
    if not sample.size:
        return Quantiles(0, nothing, nothing, nothing)
    value = {each: float(np.percentile(sample, each)) for each in PERCENTS}
    wanted = [each for each in PERCENTS if sample.size >= NEEDED[each]]
    low, high = dict(nothing), dict(nothing)
    if wanted:
        interval = bootstrap(
            (sample,), lambda drawn, axis: np.percentile(drawn, wanted, axis=axis), method='percentile',
            confidence_level=LEVEL, n_resamples=max(200, min(_RESAMPLES, _WORK // sample.size)), batch=100,
            rng=np.random.default_rng(seed),
        ).confidence_interval
        low.update(zip(wanted, map(float, np.atleast_1d(interval.low)), strict=True))
        high.update(zip(wanted, map(float, np.atleast_1d(interval.high)), strict=True))
    return Quantiles(int(sample.size), value, low, high)
