"""The difference of two arms' means on the same requests."""
from __future__ import annotations

import numpy as np
import pandas as pd

from pace_ros.study.statistics.error import StatisticsError
from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.pairs import pairs
from pace_ros.study.statistics.percentile_interval import strata
from pace_ros.study.statistics.resamples import Resamples, bounds


def mean_difference(a: pd.DataFrame, b: pd.DataFrame, column: str, *, seed: int = 0) -> Interval:
    """Mean of ``a`` minus that of ``b`` over the requests known under both, with a paired bootstrap interval.

    Raises StatisticsError if there are none.
    """
    both = pairs(a, b, (column,))
    gaps = both[f'{column}_a'].astype(float) - both[f'{column}_b'].astype(float)
    known = np.asarray(gaps.notna())
    if not known.any():
        raise StatisticsError(f'No request has a {column} under both arms.')
    both, sample = both.loc[known], np.asarray(gaps[known], dtype=float)
    resampled = Resamples(strata(both), seed=seed).mean(sample)
    return bounds(float(sample.mean()), resampled, sample.size)
