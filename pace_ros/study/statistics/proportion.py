"""Shares of rows, with Wilson's interval."""
from __future__ import annotations

import math

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from pace_ros.study.statistics.interval import LEVEL, Interval


def proportion(hits: int, n: int) -> Interval:
    """The share of ``hits`` in ``n``; of nothing there is none."""
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    low, high = proportion_confint(hits, n, alpha=1 - LEVEL, method='wilson')
    share = hits / n
    return Interval(share, min(float(low), share), max(float(high), share), n)


def share_true(column: pd.Series) -> Interval:
    """The share of true values among those known."""
    known = column.dropna()
    return proportion(int(known.astype(bool).sum()), len(known))
