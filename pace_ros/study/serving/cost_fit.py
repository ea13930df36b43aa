"""A cost model fitted to measurements of real replicas, and how well it fits."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import lsq_linear

from pace_ros.study.refusal import Refusal
from pace_ros.study.serving.probes import READ, RESTORE, SAVE, STEP

Values = npt.NDArray[np.float64]
SETTING = ['kind', 'tokens', 'depth', 'batch']


class FitError(Refusal):
    """Too few measurements for a model."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of one kind of cost, s, none below 0, and relative errors (shares of 1): of the fit, median and
    largest, and ``held_out``, the median where each setting is predicted by a fit to the others.
    """

    kind: str
    coefficients: Mapping[str, float]
    settings: int
    median_error: float
    largest_error: float
    held_out: float


def _read(rows: pd.DataFrame) -> Mapping[str, pd.Series]:
    """A token attends to all before it: ``pair`` counts depth + n/2 of them for each of n."""
    return {'call': rows['tokens'] * 0.0 + 1.0, 'token': rows['tokens'],
            'pair': rows['tokens'] * (rows['depth'] + rows['tokens'] / 2)}


def _step(rows: pd.DataFrame) -> Mapping[str, pd.Series]:
    return {'call': rows['batch'] * 0.0 + 1.0, 'stream': rows['batch'], 'context': rows['batch'] * rows['depth']}


def _moved(rows: pd.DataFrame) -> Mapping[str, pd.Series]:
    return {'call': rows['tokens'] * 0.0 + 1.0, 'token': rows['tokens']}


TERMS: Mapping[str, Callable[[pd.DataFrame], Mapping[str, pd.Series]]] = {
    READ: _read, STEP: _step, SAVE: _moved, RESTORE: _moved,
}
"""What each kind of cost is a sum of: a coefficient (s) times each of these."""


def typical(rows: pd.DataFrame) -> pd.DataFrame:
    """The median repetition of each setting: one that was disturbed counts as little as a lucky one."""
    return rows.groupby(SETTING, as_index=False, sort=True).agg(seconds=('seconds', 'median'), size=('size', 'max'))


def fit(rows: pd.DataFrame, kind: str) -> Fit:
    """Relative least squares over the settings of one kind. Raises FitError for fewer settings than coefficients."""
    own = typical(rows.loc[rows['kind'] == kind])
    terms = TERMS[kind](own)
    if len(own) < len(terms):
        raise FitError(f'{len(own)} settings of {kind!r} were measured, its model has {len(terms)} coefficients.')
    names, matrix, seconds = list(terms), _matrix(terms), own['seconds'].to_numpy(dtype=float)
    found = _solve(matrix, seconds)
    errors = np.abs(matrix @ found / seconds - 1)
    return Fit(kind, dict(zip(names, map(float, found), strict=True)), len(own), float(np.median(errors)),
               float(errors.max()), _held_out(matrix, seconds))


def predict(fitted: Fit, rows: pd.DataFrame) -> Values:
    """The seconds that a fit expects of these settings."""
    terms = TERMS[fitted.kind](rows)
    expected: Values = _matrix(terms) @ np.array([fitted.coefficients[name] for name in terms])
    return expected


def _matrix(terms: Mapping[str, pd.Series]) -> Values:
    return np.column_stack([each.to_numpy(dtype=float) for each in terms.values()])


def _solve(matrix: Values, seconds: Values) -> Values:
    """Coefficients of columns brought to one scale, so that the solver's steps suit all of them."""
    relative = matrix / seconds[:, None]
    scale = np.maximum(np.abs(relative).max(axis=0), 1e-300)
    found = lsq_linear(relative / scale, np.ones(len(seconds)), bounds=(0, math.inf), method='bvls')
    solution: Values = found.x / scale
    return solution


def _held_out(matrix: Values, seconds: Values) -> float:
    """The median relative error of each setting, predicted without it; NaN where too few remain."""
    if len(seconds) <= matrix.shape[1]:
        return math.nan
    errors = []
    for left in range(len(seconds)):
        others = np.arange(len(seconds)) != left
        errors.append(abs(float(matrix[left] @ _solve(matrix[others], seconds[others])) / seconds[left] - 1))
    return float(np.median(errors))
