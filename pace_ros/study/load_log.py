"""What a router saw, from any log: when utterances came in, and L2's first-token times."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd

from pace_ros.study.sessions import SourceError
from pace_ros.study.workload.request import WARM_UP

REQUESTS = 'requests.parquet'
GAP = 4 * 3600.0  # s without a turn after which the node is taken to have been started anew
CELL = ('part', 'dataset', 'arm', 'concurrency', 'seed')
NEEDED = ('at', 'ttft', 'ptfr', 'path')


@dataclass(frozen=True)
class Session:
    """The turns of one router from its start on, in order of receipt.

    Columns are those of the log, and ``at`` (s since the first turn), ``sample`` (s, a first-token time, NaN where
    there was none), ``sampled_at`` (s, when it was seen) and ``counted`` (not of the warm-up). ``cell`` says which
    run, empty for logs of a robot.
    """

    name: str
    turns: pd.DataFrame
    cell: dict[str, Any] = field(default_factory=dict)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Declare LOG, and which cells of a run to take."""
    parser.add_argument('log', metavar='LOG', type=FilePath,
                        help='log (turns.jsonl), bag, requests.parquet of a run, or the folder of a run')
    kinds: dict[str, Callable[[str], Any]] = {'part': str, 'dataset': str, 'arm': str, 'concurrency': float,
                                              'seed': int}
    for name, kind in kinds.items():
        parser.add_argument(f'--{name}', type=kind, help=f'of a run: only this {name}')


def read_selected(options: argparse.Namespace) -> list[Session]:
    """The sessions that the command line asks for. Raises SourceError, also if there is none."""
    wanted = {name: getattr(options, name) for name in CELL if getattr(options, name) is not None}
    sessions = [each for each in read_load(options.log, wanted) if len(each.turns)]
    if not sessions:
        raise SourceError(f'{options.log}: there is no turn in it')
    return sessions


def read_load(path: FilePath, wanted: dict[str, Any] | None = None) -> list[Session]:
    """All sessions of a log or bag of a robot, or of a run's requests, one a cell and seed.

    ``wanted`` are values of CELL; a robot's log has but the arm. It is cut where no turn came for four hours.
    Raises SourceError naming what cannot be read or is not there.
    """
    requests = path / REQUESTS if (path / REQUESTS).is_file() else path
    if requests.suffix == '.parquet':
        return _cells(_read_requests(requests), wanted or {}, str(requests))
    from pace_ros.study.frames import load_turns  # noqa: PLC0415  a run is read without it

    turns = load_turns(path)
    unknown = sorted(set(wanted or {}) - {'arm'})
    if unknown:
        raise SourceError(f'{path}: only a run has a {unknown[0]} to choose by')
    if wanted:
        turns = turns.loc[turns['arm'] == wanted['arm']]
    return _robot_sessions(turns.loc[turns['received_wall'].notna()], str(path))


def read_rows(path: FilePath, *, columns: Iterable[str] = NEEDED) -> pd.DataFrame:
    """The rows of a run: DIR/requests.parquet, or that file. Raises SourceError, also for a column that lacks."""
    requests = path / REQUESTS if path.is_dir() else path
    return _read_requests(requests, columns)


def _read_requests(path: FilePath, columns: Iterable[str] = NEEDED) -> pd.DataFrame:
    if not path.is_file():
        raise SourceError(f'{path}: no such file; "study run" writes it')
    try:
        rows = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        raise SourceError(f'{path}: cannot be read as Parquet') from error
    lacking = [name for name in columns if name not in rows]
    if lacking:
        raise SourceError(f'{path}: no requests of a run, there is no column {", ".join(lacking)}')
    return rows


def _cells(rows: pd.DataFrame, wanted: dict[str, Any], source: str) -> list[Session]:
    """One session a cell and seed; a ramp's stream goes through several concurrencies."""
    for name, value in wanted.items():
        chosen = rows.loc[rows[name] == value] if name in rows else rows.iloc[:0]
        if not len(chosen):
            known = ', '.join(map(str, sorted(rows[name].unique()))) if name in rows else 'none'
            raise SourceError(f'{source}: there is no {name} {value}; there is {known}')
        rows = chosen
    stream = rows['concurrency'].where(rows['part'] != 'ramp', -1.0) if {'part', 'concurrency'} <= {*rows} else None
    keys = [each for each in CELL if each in rows and each != 'concurrency']
    by = [*(rows[each] for each in keys), *([] if stream is None else [stream.rename('concurrency')])]
    if not by:
        return [_session(source, rows, {})]
    sessions = []
    for _, group in rows.groupby(by, sort=False, observed=True):
        cell = {each: group[each].iloc[0] for each in CELL if each in group and group[each].nunique() == 1}
        name = ' '.join(f'c={value:g}' if key == 'concurrency' else str(value) for key, value in cell.items())
        sessions.append(_session(name, group, cell))
    return sessions


def _session(name: str, rows: pd.DataFrame, cell: dict[str, Any]) -> Session:
    lag = rows['lag'].fillna(0.0) if 'lag' in rows else 0.0
    return Session(name, _prepared(rows, rows['at'] + lag), cell)


def _robot_sessions(turns: pd.DataFrame, source: str) -> list[Session]:
    """The days of each robot, each by itself."""
    sessions = []
    for robot, own in turns.groupby('robot', sort=True):
        own = own.sort_values('received_wall', kind='stable')  # noqa: PLW2901
        number = (own['received_wall'].diff() > GAP).cumsum()
        for _, part in own.groupby(number):
            name = ' '.join(filter(None, (str(robot), str(part['day'].iloc[0])))) or source
            sessions.append(_session_of_turns(name, part))
    return sessions


def _session_of_turns(name: str, turns: pd.DataFrame) -> Session:
    return Session(name, _prepared(turns, turns['received_wall']))


def _prepared(rows: pd.DataFrame, received: Any) -> pd.DataFrame:
    """A first token was seen when the answer began; where none did, after what came before L2, and its TTFT."""
    turns = rows.assign(at=np.asarray(received, dtype=float)).sort_values('at', kind='stable', ignore_index=True)
    turns['at'] -= turns['at'].iloc[0] if len(turns) else 0.0
    ttft, ptfr = turns['ttft'].astype(float), turns['ptfr'].astype(float)
    turns['sample'] = ttft.where(np.isfinite(ttft))
    seen = ptfr.where(np.isfinite(ptfr) & (ptfr >= ttft), ttft)
    turns['sampled_at'] = turns['at'] + seen.where(turns['sample'].notna())
    turns['counted'] = turns['phase'] != WARM_UP if 'phase' in turns else True
    return turns
