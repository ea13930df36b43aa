"""Means over seeds, each seed giving one value."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

from pace_ros.study.statistics.interval import LEVEL, Interval
from pace_ros.study.statistics.measured import measured
from pace_ros.study.statistics.percentile import percentile, waits

Statistic = Callable[[pd.Series], float]


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of independent values with Student's t interval; without bounds for fewer than two, or infinite ones."""
    sample = np.asarray(values, dtype=float)
    sample = sample[~np.isnan(sample)]
    if not sample.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(sample.mean())
    if sample.size < 2 or not np.isfinite(sample).all():
        return Interval(mean, math.nan, math.nan, sample.size)
    if np.ptp(sample) == 0.0:
        return Interval(float(sample[0]), float(sample[0]), float(sample[0]), sample.size)
    low, high = DescrStatsW(sample).tconfint_mean(alpha=1 - LEVEL)
    return Interval(mean, float(low), float(high), sample.size)


def seed_mean(rows: pd.DataFrame, column: str, statistic: Statistic | float | None = None) -> Interval:
    """A figure's mean over seeds with its 95 % t interval; n is the number of seeds.

    Of each seed's measured rows ``statistic`` makes one value: the mean of what is known if it is None, a percentile of
    waits, no answer counting as infinite, if it is a number, else what it returns for the column.
    """
    values = [_value(group[column], statistic) for _, group in measured(rows).groupby('seed', sort=True)]
    return mean_interval(values)


def _value(column: pd.Series, statistic: Statistic | float | None) -> float:
    if callable(statistic):
        return float(statistic(column))
    numbers = pd.to_numeric(column, errors='coerce').astype(float)
    return float(numbers.mean()) if statistic is None else percentile(waits(numbers), statistic)
