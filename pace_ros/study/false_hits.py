"""The false-hit rate over the threshold, and the thresholds that keep it tolerable."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from pace_ros.study.hit_labels import Labelled
from pace_ros.study.statistics.interval import LEVEL

STEP = 0.005
Z_SQUARED = 1.959964**2


@dataclass(frozen=True)
class Thresholds:
    """Proposed for one level: at ``low`` the rate is at most the tolerable one, at ``operating`` at most half of it,
    each by the upper bound; from ``high`` on no hit was wrong (else it is the highest threshold with a hit). Where half
    the rate cannot be shown, operating is high.
    """

    level: str
    low: float
    operating: float
    high: float


def curve(labels: Labelled, level: str) -> pd.DataFrame:
    """One row a threshold, from where the log is complete: threshold, hits, false, rate, rate_low, rate_high (Wilson).

    A hit is a judged candidate of at least the threshold's cosine. Candidates below the threshold in force were not
    served; they are known only if some that were missed are labelled too, and then from the least of these on.
    """
    own = labels.candidates.loc[labels.candidates['level'] == level]
    begin = complete_from(labels, level)
    if not len(own) or math.isnan(begin):
        return pd.DataFrame(columns=['level', 'threshold', 'hits', 'false', 'rate', 'rate_low', 'rate_high'])
    first, last = math.ceil(begin / STEP - 1e-9), math.floor(float(own['score'].max()) / STEP + 1e-9)
    grid = np.arange(first, last + 1) * STEP
    hits = _at_least(own['score'], grid)
    false = _at_least(own.loc[~own['correct'], 'score'], grid)
    grid, hits, false = (each[hits > 0] for each in (grid, hits, false))
    low, high = proportion_confint(false, hits, alpha=1 - LEVEL, method='wilson')
    return pd.DataFrame({'level': level, 'threshold': np.round(grid, 3), 'hits': hits, 'false': false,
                         'rate': false / hits, 'rate_low': np.maximum(low, 0.0), 'rate_high': high})


def complete_from(labels: Labelled, level: str) -> float:
    """The threshold from which on every hit is known; NaN without any candidate."""
    own = labels.candidates.loc[labels.candidates['level'] == level]
    missed = own.loc[~own['served'], 'score']
    if len(missed):
        return float(own['score'].min())
    in_force = labels.in_force.get(level, math.nan)
    return float(own['score'].min()) if math.isnan(in_force) else in_force


def propose(curve_: pd.DataFrame, level: str, tolerable: float) -> Thresholds | str:
    """The thresholds that the curve supports, or a sentence saying why there are none."""
    if not len(curve_):
        return f'{level}: no labelled hit; thresholds need labels (--labels).'
    low = _lowest(curve_, tolerable)
    if low is None:
        return (f'{level}: no threshold can be shown to keep the false-hit rate at or below {tolerable:.2%}: of '
                f'{curve_["hits"].iloc[0]} labelled hits {curve_["false"].iloc[0]} are wrong, and even without an '
                f'error it takes {hits_needed(tolerable)}.')
    wrong = curve_.loc[curve_['false'] > 0, 'threshold']
    after = curve_['threshold'] if not len(wrong) else curve_.loc[curve_['threshold'] > wrong.max(), 'threshold']
    high = max(low, float(after.min() if len(after) else curve_['threshold'].max()))
    half = _lowest(curve_, tolerable / 2)
    return Thresholds(level, low, min(high, high if half is None else half), high)


def hits_needed(tolerable: float) -> int:
    """How many hits without an error show a rate: Wilson's upper bound of 0 in n is z^2 / (n + z^2)."""
    return math.ceil(Z_SQUARED * (1 - tolerable) / tolerable)


def _lowest(curve_: pd.DataFrame, rate: float) -> float | None:
    shown = curve_.loc[curve_['rate_high'] <= rate, 'threshold']
    return float(shown.min()) if len(shown) else None


def _at_least(scores: pd.Series, grid: np.ndarray) -> np.ndarray:
    ordered = np.sort(scores.to_numpy(float))
    return ordered.size - np.searchsorted(ordered, grid - 1e-9)
