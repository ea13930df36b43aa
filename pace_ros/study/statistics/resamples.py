"""Bootstrap resamples, drawn once for all cells of the same shape.

``scipy.stats.bootstrap`` neither stratifies nor lets infinite values through, and it would draw anew for every figure.
Here a resample is how often each row was drawn. Sorted by value, the running sum of these counts gives any percentile
without sorting a resample, whatever is infinite; and two arms, or two figures, share the very same draws.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pace_ros.study.statistics.interval import LEVEL, Interval
from pace_ros.study.statistics.percentile import Values, between, percentile, places

RESAMPLES = 2_000
_WORK = 20_000_000  # draws in all; more than 10,000 rows take fewer resamples, 200 at least
_BATCH = 200_000  # draws made at once: they stay in the processor's cache


class Resamples:
    """Draws of ``len(strata)`` rows with replacement, within each stratum as many as it has.

    The same strata and seed give the same draws.
    """

    def __init__(self, strata: Sequence[object] | npt.ArrayLike, *, seed: int = 0, count: int = RESAMPLES) -> None:
        _, stratum, sizes = np.unique(np.asarray(strata), return_inverse=True, return_counts=True)
        self.n = len(stratum)
        self._order = np.argsort(stratum, kind='stable')
        self._counts = _drawn(tuple(int(each) for each in sizes), seed, count)

    def percentile(self, values: npt.ArrayLike, percent: float) -> Values:
        """The percentile of each resample; ``values`` has shape (n,), may be infinite, not NaN."""
        return self.percentiles(values, (percent,))[0]

    def percentiles(self, values: npt.ArrayLike, percents: Sequence[float]) -> list[Values]:
        """Several percentiles of the same resamples, for little more than the price of one."""
        sample = np.asarray(values, dtype=float)[self._order]
        if not self.n:
            return [np.full(len(self._counts), np.nan) for _ in percents]
        order = np.argsort(sample, kind='stable')
        drawn = np.cumsum(np.take(self._counts, order, axis=1), axis=1, dtype=np.int32)
        return [self._at(sample[order], drawn, *places(self.n, percent)) for percent in percents]

    @staticmethod
    def _at(ordered: Values, drawn: npt.NDArray[np.int32], lower: int, share: float) -> Values:
        """The order statistic ``lower`` (from 0), and ``share`` of the way to the next; ``drawn`` counts as it sums."""
        first: Values = ordered[np.count_nonzero(drawn <= lower, axis=1)]
        if share == 0.0:
            return first
        return between(first, ordered[np.count_nonzero(drawn <= lower + 1, axis=1)], share)

    def mean(self, values: npt.ArrayLike) -> Values:
        """The mean of each resample over the values that are no NaN; NaN where it drew none."""
        sample = np.asarray(values, dtype=float)[self._order]
        known = ~np.isnan(sample)
        counts = self._counts.astype(float)
        total = counts @ np.where(known, sample, 0.0)
        number = counts @ known.astype(float)
        mean: Values = np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
        return mean


@lru_cache(maxsize=8)
def _drawn(sizes: tuple[int, ...], seed: int, count: int) -> npt.NDArray[np.uint16]:
    """How often each row is drawn, shape (resamples, rows), rows in the order of their strata."""
    chance, total = np.random.default_rng(seed), sum(sizes)
    count = max(200, min(count, _WORK // max(1, total)))
    blocks = [_block(chance, size, count) for size in sizes]
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((count, 0), dtype=np.uint16)


def _block(chance: np.random.Generator, size: int, count: int) -> npt.NDArray[np.uint16]:
    block = np.empty((count, size), dtype=np.uint16)
    step = max(1, _BATCH // size)
    for begin in range(0, count, step):
        rows = min(step, count - begin)
        drawn = chance.integers(0, size, size=(rows, size), dtype=np.int32)
        drawn += (np.arange(rows, dtype=np.int32) * size)[:, None]
        block[begin:begin + rows] = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)
    return block


def bounds(estimate: float, resampled: Values, n: int, *, level: float = LEVEL) -> Interval:
    """The percentile interval. A resample of which nothing can be said (NaN) counts as lowest and as highest.

    The estimate lies in it: where the resamples all lie on one side, as of few values, the bound is the estimate.
    """
    tail = 100 * (1 - level) / 2
    low = percentile(np.where(np.isnan(resampled), -np.inf, resampled), tail)
    high = percentile(np.where(np.isnan(resampled), np.inf, resampled), 100 - tail)
    return Interval(estimate, min(low, estimate), max(high, estimate), n)
