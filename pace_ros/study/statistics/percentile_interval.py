"""Percentiles of latencies, with bootstrap intervals."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.measured import measured
from pace_ros.study.statistics.percentile import percentile, waits
from pace_ros.study.statistics.resamples import RESAMPLES, Resamples, bounds

CELL = ('part', 'dataset', 'arm', 'concurrency')


def percentile_interval(
    rows: pd.DataFrame, column: str, percent: float, *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The percentile of a column of times (s) over all rows given, no answer counting as an infinite wait.

    The 95 % interval is the percentile bootstrap's, resampled within each seed. A single row has no interval.
    """
    return percentile_intervals(rows, column, (percent,), seed=seed, resamples=resamples)[0]


def percentile_intervals(
    rows: pd.DataFrame, column: str, percents: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Interval]:
    """Several percentiles of a cell, from the same resamples."""
    sample = waits(rows[column])
    estimates = [percentile(sample, each) for each in percents]
    if sample.size < 2:
        return [Interval(each, math.nan, math.nan, sample.size) for each in estimates]
    drawn = Resamples(strata(rows), seed=seed, count=resamples).percentiles(sample, percents)
    return [bounds(one, each, sample.size) for one, each in zip(estimates, drawn, strict=True)]


def percentile_table(
    rows: pd.DataFrame, column: str, percents: tuple[float, ...] = (50, 95), *, by: tuple[str, ...] = CELL,
    seed: int = 0,
) -> pd.DataFrame:
    """One row a cell of measured rows: n, answered, and each percentile with its bounds as p95, p95_low, p95_high."""
    keys = [each for each in by if each in rows]
    found = []
    for names, group in measured(rows).groupby(keys, sort=False, observed=True):
        line = dict(zip(keys, names, strict=True))
        line |= {'n': len(group), 'answered': int(group[column].notna().sum())}
        intervals = percentile_intervals(group, column, percents, seed=seed)
        for percent, interval in zip(percents, intervals, strict=True):
            name = f'p{percent:g}'
            line |= {name: interval.estimate, f'{name}_low': interval.low, f'{name}_high': interval.high}
        found.append(line)
    return pd.DataFrame(found)


def strata(rows: pd.DataFrame) -> np.ndarray:
    """What resampling is stratified by: the seed, and where rows are of several, part, data set and concurrency.

    Repeated streams are not mixed, so that no resample lacks one.
    """
    keys = [each for each in ('part', 'dataset', 'concurrency', 'seed') if each in rows and rows[each].nunique() > 1]
    if not keys:
        return np.zeros(len(rows), dtype=int)
    return np.asarray(rows.groupby(keys, sort=True, observed=True).ngroup())
