"""The ratio of two arms' percentiles on the same requests."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.pairs import pairs
from pace_ros.study.statistics.percentile import Values, percentile, waits
from pace_ros.study.statistics.percentile_interval import strata
from pace_ros.study.statistics.resamples import Resamples, bounds


@dataclass(frozen=True)
class PercentileRatio:
    """The percentile of ``a`` over that of ``b``, with a paired bootstrap interval.

    ``p`` is two-sided, of no difference, by the same resamples: at least 2 / (resamples + 1).
    """

    a: float
    b: float
    ratio: Interval
    p: float


def percentile_ratio(
    a: pd.DataFrame, b: pd.DataFrame, column: str, percent: float, *, seed: int = 0
) -> PercentileRatio:
    """Resample requests within each seed, both arms together.

    Infinity over a number is infinite, a number over infinity 0; infinity over itself says nothing and widens the
    interval to both sides.

    Raises StatisticsError if the arms have no request in common.
    """
    both = pairs(a, b, (column,))
    one, other = waits(both[f'{column}_a']), waits(both[f'{column}_b'])
    drawn = Resamples(strata(both), seed=seed)
    resampled = quotient(drawn.percentile(one, percent), drawn.percentile(other, percent))
    first, second = percentile(one, percent), percentile(other, percent)
    estimate = float(quotient(first, second))
    return PercentileRatio(first, second, bounds_of_ratio(estimate, resampled, one.size), _p_value(resampled))


def quotient(a: npt.ArrayLike, b: npt.ArrayLike) -> Values:
    """A over b for what is not negative; NaN for 0/0 and inf/inf."""
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.asarray(np.divide(a, b), dtype=float)


def bounds_of_ratio(estimate: float, resampled: Values, n: int) -> Interval:
    """The interval of a ratio: no less than 0, and all of it where there is no estimate."""
    if math.isnan(estimate):
        return Interval(math.nan, 0.0, math.inf, n)
    interval = bounds(estimate, resampled, n)
    return Interval(estimate, max(0.0, interval.low), interval.high, n)


def _p_value(resampled: Values) -> float:
    """Twice the smaller share of resamples on either side of 1; what says nothing lies on both sides."""
    unclear = np.isnan(resampled)
    above = np.count_nonzero((resampled >= 1.0) | unclear)
    below = np.count_nonzero((resampled <= 1.0) | unclear)
    return float(min(1.0, 2.0 * (min(above, below) + 1) / (resampled.size + 1)))
