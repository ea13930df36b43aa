"""Two arms on the same requests: paired t, Wilcoxon's signed ranks, the median difference."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.pairs import pairs
from pace_ros.study.statistics.percentile import Values, percentile, waits
from pace_ros.study.statistics.percentile_interval import strata
from pace_ros.study.statistics.resamples import Resamples, bounds


@dataclass(frozen=True)
class PairedTests:
    """``a`` minus ``b``, request by request; two-sided p-values.

    ``n`` requests; ``n_finite`` of them were answered under both, and only these enter ``t``, ``t_p`` and
    ``mean_difference``. ``median_difference``, ``w`` and ``wilcoxon_p`` are of all.
    """

    n: int
    n_finite: int
    mean_difference: float
    t: float
    t_p: float
    w: float
    wilcoxon_p: float
    median_difference: Interval


def paired_tests(a: pd.DataFrame, b: pd.DataFrame, column: str, *, seed: int = 0) -> PairedTests:
    """Compare a column of times (s) of two arms on the requests both had.

    Raises StatisticsError if there are none.
    """
    both = pairs(a, b, (column,))
    gaps = differences(both[f'{column}_a'], both[f'{column}_b'])
    finite = gaps[np.isfinite(both[f'{column}_a']) & np.isfinite(both[f'{column}_b'])]
    mean, t, t_p = _student(finite)
    w, wilcoxon_p = _wilcoxon(gaps)
    middle = bounds(percentile(gaps, 50), Resamples(strata(both), seed=seed).percentile(gaps, 50), gaps.size)
    return PairedTests(gaps.size, finite.size, mean, t, t_p, w, wilcoxon_p, middle)


def differences(a: pd.Series, b: pd.Series) -> Values:
    """A - b with no answer as infinite: +inf or -inf where one has none, 0 where neither has."""
    one, other = waits(a), waits(b)
    unanswered = np.isinf(one) & np.isinf(other)
    return np.where(unanswered, 0.0, np.where(unanswered, 0.0, one) - np.where(unanswered, 0.0, other))


def _student(gaps: Values) -> tuple[float, float, float]:
    """Mean, t and p of the differences; NaN of fewer than two."""
    if gaps.size < 2:
        return (float(gaps.mean()) if gaps.size else math.nan), math.nan, math.nan
    mean = float(gaps.mean())
    if np.ptp(gaps) == 0.0:
        return mean, math.copysign(math.inf, mean) if mean else 0.0, 0.0 if mean else 1.0
    found = stats.ttest_1samp(gaps, 0.0)
    return mean, float(found.statistic), float(found.pvalue)


def _wilcoxon(gaps: Values) -> tuple[float, float]:
    """W and p. An infinite difference has the highest rank, shared by all of them, and its sign.

    Differences of 0 are ranked and then left out (Pratt). Ranks alone count: a number greater than every finite
    difference stands for infinity.
    """
    sizes = np.abs(gaps)
    largest = sizes[np.isfinite(sizes)].max(initial=0.0)
    ranked = np.where(np.isinf(gaps), np.sign(gaps) * (2.0 * largest + 1.0), gaps)
    if not ranked.any():
        return 0.0, 1.0
    found = stats.wilcoxon(ranked, zero_method='pratt', method='auto')
    return float(found.statistic), float(found.pvalue)
