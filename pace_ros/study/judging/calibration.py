"""How far a judge's scores are those of people, and what a person would have given where the judge gives k."""
from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from pace_ros.study.judging.error import JudgingError
from pace_ros.study.judging.human_scores import Pairs

FEWEST = 20  # pairs below which nothing is said
SCALE = (1, 2, 3, 4, 5)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """Agreement of a judge with people over ``count`` answers.

    ``kappa``: Cohen's, quadratically weighted; ``spearman``: rank correlation; both NaN where either side gave a single
    score. ``exact`` and ``within_one``: shares. ``bias``: mean of judge minus human. ``confusion``: answers by human
    score (rows) and judge's (columns), 1 to 5. ``expected``: the human score to expect by the judge's, 1 to 5
    (isotonic). ``error``: mean absolute difference of the scores; ``calibrated_error``: that of the isotonic map, each
    answer predicted from all others.
    """

    count: int
    kappa: float
    spearman: float
    exact: float
    within_one: float
    bias: float
    confusion: tuple[tuple[int, ...], ...]
    expected: tuple[float, ...]
    error: float
    calibrated_error: float


def calibrate(pairs: Pairs) -> Calibration:
    """Compare. Raises JudgingError below 20 pairs."""
    judge, human = pairs
    if len(judge) < FEWEST:
        raise JudgingError(f'{len(judge)} answers have a score of both people and judge; {FEWEST} are needed.')
    apart = np.abs(judge - human)
    varied = len(set(judge)) > 1 and len(set(human)) > 1
    matrix = confusion_matrix(human, judge, labels=SCALE)
    return Calibration(
        count=len(judge),
        kappa=float(cohen_kappa_score(human, judge, labels=SCALE, weights='quadratic')) if varied else math.nan,
        spearman=float(spearmanr(judge, human).statistic) if varied else math.nan,
        exact=float(np.mean(apart == 0)), within_one=float(np.mean(apart <= 1)), bias=float(np.mean(judge - human)),
        confusion=tuple(tuple(int(each) for each in row) for row in matrix),
        expected=tuple(float(each) for each in _isotonic(judge, human, np.array(SCALE))),
        error=float(np.mean(apart)), calibrated_error=_left_out_error(judge, human),
    )


def _left_out_error(judge: NDArray[np.int64], human: NDArray[np.int64]) -> float:
    everything = np.ones(len(judge), bool)
    errors = []
    for place in range(len(judge)):
        others = everything.copy()
        others[place] = False
        predicted = _isotonic(judge[others], human[others], judge[place:place + 1])
        errors.append(abs(float(predicted[0]) - human[place]))
    return float(np.mean(errors))


def _isotonic(judge: NDArray[np.int64], human: NDArray[np.int64], scores: NDArray[np.int64]) -> Floats:
    """The monotone least-squares fit at some scores; beyond the judge's range it is the nearest one's."""
    fit = IsotonicRegression(y_min=SCALE[0], y_max=SCALE[-1], out_of_bounds='clip')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)
        return np.asarray(fit.fit(judge.astype(float), human.astype(float)).predict(scores.astype(float)), float)
