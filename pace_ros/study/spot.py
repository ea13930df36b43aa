"""Whether a run in real time agrees with the run in virtual time on the same stream: the spot check."""
from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pace_ros.study.refusal import Refusal
from pace_ros.study.report_tables import DASH, seconds, share
from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.measured import measured
from pace_ros.study.statistics.pairs import MATCH
from pace_ros.study.statistics.percentile_ratio import PercentileRatio, percentile_ratio

CELL = ('dataset', 'arm', 'concurrency', 'seed')
"""What is compared apart: one stream through one arm."""
TIMES = {'PTFR': 'ptfr', 'PL': 'perceived_latency'}
PERCENTS = (50, 95)
PATHS = ('L0', 'L1', 'L2', 'FALLBACK')
AGREES = {True: 'yes', False: '[red]no[/]', None: ''}
_NONE = Interval(math.nan, math.nan, math.nan, 0)
REAL, VIRTUAL, AGREEMENT = 'cells/spot-*.parquet', 'spot/*/virtual.parquet', 'spot/agreement.csv'
"""Where `spot_check` keeps the rows of both runs, and what came out."""


class SpotError(Refusal):
    """Two runs that cannot be compared; the message says why."""


@dataclass(frozen=True)
class Figure:
    """One figure of both runs, and of a time the paired ratio real / virtual with its 95 % bootstrap interval.

    Times are in s, infinite where no answer came; shares are of all requests and have no ratio.
    """

    name: str
    real: float
    virtual: float
    ratio: Interval | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the interval of the ratio contains 1; None of a share."""
        return None if self.ratio is None else not self.ratio.excludes(1.0)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of requests, not a time."""
        return self.ratio is None


@dataclass(frozen=True)
class Rerouted:
    """A request whose path differs; UNKNOWN: no answer."""

    index: int
    virtual: str
    real: str


@dataclass(frozen=True)
class SpotAgreement:
    """One stream through one arm: ``count`` requests measured in both runs.

    ``lag`` and ``transit`` are P95 in s of what real time adds: sent late, and on the way to the node. ``shift`` is the
    median of real minus virtual PTFR (s) over requests that took the same path in both.
    """

    dataset: str
    arm: str
    concurrency: float
    seed: int
    count: int
    figures: tuple[Figure, ...]
    rerouted: tuple[Rerouted, ...]
    lag: float
    transit: float
    shift: float

    @property
    def outside(self) -> tuple[Figure, ...]:
        """The figures that do not agree."""
        return tuple(each for each in self.figures if each.agrees is False)


def compared(real: pd.DataFrame, virtual: pd.DataFrame, *, resampling: int = 0) -> list[SpotAgreement]:
    """Compare two runs, cell by cell of the real-time one, over the requests measured in both.

    Both have the columns of evaluation/columns.py; ``resampling`` is the seed of the bootstrap. Raises SpotError where
    the virtual run lacks a cell, has it twice, or has another stream.
    """
    found = []
    for key, mine in real.groupby(list(CELL), sort=True):
        cell = dict(zip(CELL, key, strict=True))
        theirs = virtual.loc[np.logical_and.reduce([virtual[name] == value for name, value in cell.items()])]
        both = _paired(mine, theirs, ', '.join(f'{name} {value}' for name, value in cell.items()))
        found.append(SpotAgreement(
            **cell, count=len(both), figures=_figures(both, resampling), rerouted=_rerouted(both),
            lag=_p95(both['lag_real']), transit=_p95(both['transit_real']) if 'transit_real' in both else math.nan,
            shift=_shift(both),
        ))
    return found


def _paired(real: pd.DataFrame, virtual: pd.DataFrame, cell: str) -> pd.DataFrame:
    """The requests measured in both runs, in order, the columns with the suffixes _real and _virtual."""
    runs = []
    for rows, name in ((real, 'real-time'), (virtual, 'virtual')):
        if rows['index'].duplicated().any():
            raise SpotError(f'{cell}: the {name} run has a request twice.')
        runs.append(measured(rows).add_suffix(f'_{name.partition("-")[0]}'))
    both = runs[0].merge(runs[1], left_on='index_real', right_on='index_virtual').sort_values('index_real')
    if both.empty:
        raise SpotError(f'{cell}: the virtual run has no request of it.')
    other = both.loc[both['text_real'] != both['text_virtual']]
    if len(other):
        first = other.iloc[0]
        raise SpotError(f"{cell}: not the same stream, request {first['index_real']} is {first['text_real']!r} in real "
                        f"time and {first['text_virtual']!r} in virtual time.")
    return both.reset_index(drop=True)


def _figures(both: pd.DataFrame, resampling: int) -> tuple[Figure, ...]:
    times = []
    for name, column in TIMES.items():
        real_side, virtual_side = (pd.DataFrame({'index': both['index_real'], column: both[f'{column}_{run}']})
                                   for run in ('real', 'virtual'))
        for percent in PERCENTS:
            found = paired_ratio(real_side, virtual_side, column, percent, seed=resampling)
            times.append(Figure(f'{name} P{percent}', found.a, found.b, found.ratio))
    shares = [
        Figure(name, int(real.sum()) / len(both), int(virtual.sum()) / len(both))
        for name, (real, virtual) in {
            **{path: (both['path_real'] == path, both['path_virtual'] == path) for path in PATHS},
            'no answer': (both['ptfr_real'].isna(), both['ptfr_virtual'].isna()),
        }.items()
    ]
    return (*times, *shares)


def paired_ratio(
    real: pd.DataFrame, virtual: pd.DataFrame, column: str, percent: float, *, seed: int = 0
) -> PercentileRatio:
    """The percentile of a column in real time over that in virtual time, paired by data set, c, seed and index: both
    agree if the interval of the ratio contains 1. Raises StatisticsError without a request in common.
    """
    keys = [each for each in MATCH if each != 'part' and each in real and each in virtual]
    return percentile_ratio(real[[*keys, column]], virtual[[*keys, column]], column, percent, seed=seed)


def _rerouted(both: pd.DataFrame) -> tuple[Rerouted, ...]:
    different = both.loc[both['path_real'] != both['path_virtual']]
    return tuple(
        Rerouted(int(index), str(virtual), str(real))
        for index, virtual, real in zip(
            different['index_real'], different['path_virtual'], different['path_real'], strict=True)
    )


def _shift(both: pd.DataFrame) -> float:
    alike = both.loc[both['path_real'] == both['path_virtual']]
    differences = (alike['ptfr_real'] - alike['ptfr_virtual']).dropna()
    return float(differences.median()) if len(differences) else math.nan


def _p95(values: pd.Series) -> float:
    known = values.dropna()
    return float(np.percentile(known, 95)) if len(known) else math.nan


def spot_table(agreements: Iterable[SpotAgreement]) -> Table:
    """One row a figure, what does not agree marked; below it which requests took another path."""
    table = Table(title='Real time against virtual time', title_justify='left', caption_justify='left')
    for heading in ('arm', 'c', 'figure', 'real time', 'virtual', 'ratio [95 %]', 'agrees'):
        table.add_column(heading, justify='left' if heading in ('arm', 'figure') else 'right')
    notes = []
    for each in agreements:
        for number, figure in enumerate(each.figures):
            named = (each.arm, f'{each.concurrency:g}') if number == 0 else ('', '')
            table.add_row(*named, figure.name, *_worded(figure), AGREES[figure.agrees],
                          end_section=number == len(each.figures) - 1)
        notes.append(note(each))
    table.caption = '\n'.join(notes)
    return table


def note(agreement: SpotAgreement) -> str:
    """What real time added, and the requests that took another path."""
    paths = '; '.join(f'{each.index}: {each.virtual} to {each.real}' for each in agreement.rerouted) or 'none'
    return (
        f'{agreement.arm}, c = {agreement.concurrency:g}, {agreement.count} requests: lag P95 {_time(agreement.lag)}, '
        f'transit P95 {_time(agreement.transit)}, PTFR on the same path {_signed(agreement.shift)}. '
        f'Other paths (virtual to real): {paths}.'
    )


def spot_frame(agreements: Sequence[SpotAgreement]) -> pd.DataFrame:
    """One row a figure: dataset, arm, concurrency, seed, figure, real, virtual; of times ratio, low, high, agrees."""
    return pd.DataFrame([
        {**{name: getattr(each, name) for name in CELL}, 'figure': figure.name, 'real': figure.real,
         'virtual': figure.virtual, 'ratio': ratio.estimate, 'low': ratio.low, 'high': ratio.high,
         'agrees': figure.agrees}
        for each in agreements for figure in each.figures for ratio in [figure.ratio or _NONE]
    ])


def _worded(figure: Figure) -> tuple[str, str, str]:
    form = share if figure.is_share else _time
    return form(figure.real), form(figure.virtual), '' if figure.ratio is None else escape(figure.ratio.shown())


def _time(value: float) -> str:
    return '∞' if math.isinf(value) else seconds(value)


def _signed(value: float) -> str:
    return DASH if math.isnan(value) else f'{value * 1000:+.1f} ms'


def read_runs(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows in real time and in virtual time that `spot_check` has kept in a study. Raises SpotError."""
    runs = []
    for pattern in (REAL, VIRTUAL):
        files = sorted(folder.glob(pattern))
        if not files:
            raise SpotError(f'{folder / pattern}: not there; `spot_check {folder}` writes it.')
        try:
            runs.append(pd.concat(map(pd.read_parquet, files), ignore_index=True))
        except (OSError, ValueError) as error:
            raise SpotError(f'{folder / pattern} cannot be read: {error}') from error
    return runs[0], runs[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument('study', type=Path, metavar='DIR', help='a study in which spot_check has run')


def run(options: argparse.Namespace) -> int:
    """Print where both runs agree and where not, and keep it as spot/agreement.csv; 0. Raises SpotError, OSError."""
    agreements = compared(*read_runs(options.study))
    spot_frame(agreements).to_csv(options.study / AGREEMENT, index=False)
    Console(highlight=False).print(spot_table(agreements))
    return 0
