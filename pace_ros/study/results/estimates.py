"""What the tables take from the statistics: intervals as entries of a record, comparisons that may lack an arm."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pace_ros.study.statistics import Interval, PercentileRatio, StatisticsError, mean_difference, percentile_ratio

NOTHING = Interval(math.nan, math.nan, math.nan, 0)
RATIOS = {'ptfr_p50': ('ptfr', 50), 'ptfr_p95': ('ptfr', 95), 'pl_p50': ('perceived_latency', 50),
          'pl_p95': ('perceived_latency', 95)}
"""Measures compared as ratios of percentiles: the column and the percentile."""


def entries(name: str, interval: Interval) -> dict[str, object]:
    """An interval as entries of a record."""
    return {name: interval.estimate, f'{name}_low': interval.low, f'{name}_high': interval.high}


def mean(values: pd.Series) -> float:
    """The mean of what is known; NaN of nothing."""
    known = values.dropna().to_numpy(dtype=float)
    return float(known.mean()) if known.size else math.nan


def tokens(rows: pd.DataFrame) -> pd.Series:
    """Tokens of the cloud a turn: in, out, and wasted on requests ended unheard."""
    return rows[['tokens_in', 'tokens_out', 'tokens_wasted']].sum(axis=1)


def ratio(one: pd.DataFrame, other: pd.DataFrame, measure: str) -> PercentileRatio:
    """One arm's percentile over another's on the same requests, all NaN where they have none in common."""
    column, percent = RATIOS[measure]
    try:
        return percentile_ratio(*_narrowed(one, other, column), column, percent)
    except StatisticsError:
        return PercentileRatio(math.nan, math.nan, NOTHING, math.nan)


def difference(one: pd.DataFrame, other: pd.DataFrame, column: str) -> Interval:
    """The mean difference on the same requests, all NaN where they have none in common."""
    try:
        return mean_difference(*_narrowed(one, other, column), column)
    except StatisticsError:
        return NOTHING


def _narrowed(one: pd.DataFrame, other: pd.DataFrame, column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One column, with what tells the requests of two cells apart: matching by few columns is much faster."""
    keys = ['seed', 'index']
    for name in ('part', 'dataset', 'concurrency'):
        values = {*one[name].unique(), *other[name].unique()}
        if len(values) > 1:
            keys.append(name)
    return one[[*keys, column]], other[[*keys, column]]


def comparable(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two arms have requests in common. Raises StatisticsError if one stands twice."""
    keys = ['dataset', 'seed', 'index']
    for rows in (one, other):
        if rows.duplicated([*keys, 'part', 'arm', 'concurrency']).any():
            raise StatisticsError('A request stands twice: several rows of one arm agree in part, data set, c, seed '
                                  'and index.')
    return bool(len(one[keys].merge(other[keys], on=keys)))


def middle(values: pd.Series) -> float:
    """The median of what is known; NaN of nothing."""
    known = values.dropna().to_numpy(dtype=float)
    return float(np.median(known)) if known.size else math.nan
