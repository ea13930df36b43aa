"""What the verdicts of a run come to: quality, right answers, cache errors, conflicts, stale answers."""
from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from pace_ros.study.workload.request import WARM_UP

CACHED = ('L0', 'L1')


@dataclass(frozen=True)
class Rate:
    """``hits`` of ``count``; the share is NaN of none."""

    hits: int
    count: int

    @property
    def share(self) -> float:
        """Hits over count."""
        return self.hits / self.count if self.count else math.nan


@dataclass(frozen=True)
class Rates:
    """The figures of some rows, warm-up left out.

    ``quality``: mean over ``judged`` rows, 1 to 5, unanswered ones included. ``correct``: right answers among all rows.
    ``cache_errors``: wrong or stale ones among the answers of L0 and L1. ``conflicts``: turns whose filler disagrees
    with the answer on a fact, among those that showed a filler and were answered. ``stale``: stale answers among those
    given after the right answer had changed.
    """

    quality: float
    judged: int
    correct: Rate
    cache_errors: Rate
    conflicts: Rate
    stale: Rate


def rates(rows: pd.DataFrame) -> Rates:
    """The rates of rows with the columns of an evaluation."""
    rows = rows[rows['phase'] != WARM_UP]
    answered = rows['outcome'] == 'ANSWERED'
    spoke = _true(rows, 'filler_shown') & answered
    quality = rows['quality'].astype(float)
    return Rates(
        float(quality.mean()), int(quality.notna().sum()),
        _rate(_true(rows, 'correct'), pd.Series(True, index=rows.index)),
        _rate(_true(rows, 'cache_error'), answered & rows['path'].isin(CACHED)),
        _rate(rows['filler_conflict'].fillna('').astype(str) != '', spoke),
        _rate(_true(rows, 'stale'), _true(rows, 'after_change') & answered),
    )


def _rate(hit: pd.Series, among: pd.Series) -> Rate:
    return Rate(int((hit & among).sum()), int(among.sum()))


def _true(rows: pd.DataFrame, column: str) -> pd.Series:
    """A column as booleans; what is missing is false."""
    return rows[column].map(lambda value: bool(value) and not pd.isna(value)).astype(bool)
