"""Percentiles, shares and ratios of simulated turns, with intervals by the study's statistics."""
from __future__ import annotations

import math

import pandas as pd

from pace_ros.study.results.estimates import NOTHING, entries
from pace_ros.study.statistics import PercentileRatio, StatisticsError, percentile_ratio, proportion
from pace_ros.study.statistics.percentile_interval import percentile_intervals

PERCENTS = (50, 95, 99)
_RESAMPLES = 500


def percentiles(rows: pd.DataFrame, column: str, name: str) -> dict[str, object]:
    """As NAME_p50, NAME_p50_low ...; refused ones count as infinite."""
    intervals = percentile_intervals(rows[['seed', column]], column, PERCENTS, resamples=_RESAMPLES)
    record: dict[str, object] = {}
    for percent, each in zip(PERCENTS, intervals, strict=True):
        record |= entries(f'{name}_p{percent}', each)
    return record


def share_late(rows: pd.DataFrame) -> dict[str, object]:
    """The share of turns whose first token came late or never, with its interval."""
    return entries('late', proportion(int(rows['late'].sum()), len(rows)))


def ratio(one: pd.DataFrame, other: pd.DataFrame, column: str, percent: float = 95) -> PercentileRatio:
    """One arm's percentile over another's on the same conversations or turns, NaN where they have none in common."""
    keys = ['seed', 'index', column]
    try:
        return percentile_ratio(one[keys], other[keys], column, percent)
    except StatisticsError:
        return PercentileRatio(math.nan, math.nan, NOTHING, math.nan)


def efficiency(runs: pd.DataFrame) -> float:
    """Tokens of answers a joule over all seeds; NaN where nothing draws any, or nobody was answered."""
    energy = float(runs['energy'].sum())
    tokens = float((runs['tokens_per_joule'] * runs['energy']).sum())
    return tokens / energy if energy > 0 and tokens > 0 else math.nan
