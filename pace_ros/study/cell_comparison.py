"""The same cell of two runs: each figure of both, and the change with its interval."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.pairs import MATCH
from pace_ros.study.statistics.percentile import Values, percentile, waits
from pace_ros.study.statistics.percentile_interval import strata
from pace_ros.study.statistics.percentile_ratio import bounds_of_ratio, quotient
from pace_ros.study.statistics.resamples import Resamples, bounds

CELL = ('part', 'dataset', 'arm', 'concurrency')


@dataclass(frozen=True)
class Measure:
    """A figure of a cell: a percentile of waits (``percent``), or the mean of what is known. ``values`` makes it one
    number a row, from ``columns``. A ``ratio`` or a difference tells the change.
    """

    name: str
    columns: tuple[str, ...]
    values: Callable[[pd.DataFrame], Values]
    percent: float = math.nan
    ratio: bool = False


@dataclass(frozen=True)
class Figure:
    """A measure in both runs. ``change`` is B over A, or B minus A; ``differs``: its interval excludes no change."""

    name: str
    kind: str
    a: float
    b: float
    change: Interval
    paired: bool
    n_a: int
    n_b: int

    @property
    def differs(self) -> bool:
        """Whether the change is more than chance, at 95 %, without correction for how many are looked at."""
        return self.change.excludes(1.0 if self.kind == 'ratio' else 0.0)


def _numbers(column: str) -> Callable[[pd.DataFrame], Values]:
    return lambda rows: pd.to_numeric(rows[column], errors='coerce').to_numpy(float, na_value=math.nan)


def _waits(column: str) -> Callable[[pd.DataFrame], Values]:
    return lambda rows: waits(rows[column])


def _conflicts(rows: pd.DataFrame) -> Values:
    """1 where filler and answer disagree, 0 where not, NaN where no filler was shown."""
    words = rows['filler_conflict'].fillna('').astype(str)
    return np.where(rows['filler_shown'].fillna(False).astype(bool), (words != '').astype(float), np.nan)


def _tokens(rows: pd.DataFrame) -> Values:
    """Tokens of the cloud a turn, those of requests ended unheard included."""
    return np.asarray(rows[['tokens_in', 'tokens_out', 'tokens_wasted']].astype(float).sum(axis=1))


MEASURES = (
    *(Measure(f'{name} P{percent} (s)', (column,), _waits(column), percent, ratio=True)
      for name, column in (('PTFR', 'ptfr'), ('PL', 'perceived_latency')) for percent in (50, 95)),
    Measure('quality (1 to 5)', ('quality',), _numbers('quality')),
    Measure('stale share', ('stale',), _numbers('stale')),
    Measure('conflict share', ('filler_conflict', 'filler_shown'), _conflicts),
    Measure('tokens a turn, wasted ones included', ('tokens_in', 'tokens_out', 'tokens_wasted'), _tokens, ratio=True),
    Measure('tokens wasted a turn', ('tokens_wasted',), _numbers('tokens_wasted')),
)


def compare_cells(a: pd.DataFrame, b: pd.DataFrame, *, seed: int = 0) -> list[Figure]:
    """All measures of one cell in two runs. Paired where both runs made the same requests, else resampled apart."""
    paired = same_requests(a, b)
    if paired:
        a, b = (each.sort_values([*_keys(a, b)], kind='stable', ignore_index=True) for each in (a, b))
    draws = [Resamples(strata(a), seed=seed), Resamples(strata(b), seed=seed if paired else seed + 1)]
    return [_figure(each, (a, b), draws, paired) for each in MEASURES]


def same_requests(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Whether both have the same keys, and ask the same question at each."""
    keys = _keys(a, b)
    asked = [each for each in ('question_id', 'text') if each in a and each in b]
    sides = [each[[*keys, *asked]].sort_values(keys, ignore_index=True) for each in (a, b)]
    unique = not any(each.duplicated(keys).any() for each in sides)
    return unique and len(a) == len(b) and bool((sides[0].to_numpy() == sides[1].to_numpy()).all())


def _keys(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    return [each for each in MATCH if each in a and each in b]


def _figure(
    measure: Measure, sides: tuple[pd.DataFrame, pd.DataFrame], draws: list[Resamples], paired: bool
) -> Figure:
    samples = [measure.values(each) for each in sides]
    if math.isnan(measure.percent):
        a, b = (_mean(each) for each in samples)
        drawn = [draw.mean(each) for draw, each in zip(draws, samples, strict=True)]
    else:
        a, b = (percentile(each, measure.percent) for each in samples)
        drawn = [draw.percentile(each, measure.percent) for draw, each in zip(draws, samples, strict=True)]
    n = min(len(each) for each in samples)
    if measure.ratio:
        change = bounds_of_ratio(float(quotient(b, a)), quotient(drawn[1], drawn[0]), n)
    elif math.isnan(a) or math.isnan(b):
        change = Interval(math.nan, math.nan, math.nan, n)
    else:
        change = bounds(b - a, drawn[1] - drawn[0], n)
    return Figure(measure.name, 'ratio' if measure.ratio else 'difference', a, b, change, paired, len(samples[0]),
                  len(samples[1]))


def _mean(values: Values) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan
