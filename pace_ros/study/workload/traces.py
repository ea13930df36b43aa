"""Arrival patterns of real services as schedules: Azure's CSV and Mooncake's JSONL, read where they lie."""
from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pace_ros.study.refusal import Refusal
from pace_ros.study.workload.arrivals import Arrival, Times, labelled, rate

_EPOCH = np.datetime64(0, 's')
_SHIFT = 5
"""Keeps these draws apart from others of the same seed."""


class TraceError(Refusal):
    """A trace that cannot be used; the message names file, line and field."""


def read_trace(path: Path) -> Times:
    """Arrival times, s since the first one, ascending; the format goes by the suffix, .csv (Azure: column TIMESTAMP)
    or .jsonl (Mooncake: field timestamp, ms). Raises TraceError.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise TraceError(f'{path}: a trace must be .csv (Azure) or .jsonl (Mooncake).')
    try:
        times = np.sort(np.fromiter(reader(path), np.float64))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f'{path}: cannot be read: {error}.') from error
    if times.size < 2 or times[0] == times[-1]:
        raise TraceError(f'{path}: has no two requests at different times.')
    since: Times = times - times[0]
    return since


def scaled(times: Times, wanted: float) -> Times:
    """The same pattern at a mean rate of ``wanted`` (1/s): the last of n requests arrives at n / wanted.

    Raises ValueError for times that have no rate.
    """
    span = times[-1] - times[0] if times.size > 1 else 0.0
    if not (span > 0 and wanted > 0):
        raise ValueError(f'{times.size} arrivals within {span} s cannot be brought to {wanted} a second.')
    at: Times = (times - times[0]) * ((times.size - 1) / wanted / span) + 1 / wanted
    return at


def traced(
    path: Path, concurrency: float, completion: float, *, seed: int, warm_up: int = 100, measured: int = 500
) -> tuple[Arrival, ...]:
    """A stretch of a trace, taken from a place that the seed chooses, at the mean rate of ``concurrency``.

    Phases and ``completion`` are as for ``steady``. Raises TraceError and ValueError.
    """
    times, count = read_trace(path), warm_up + measured
    if times.size < count:
        raise TraceError(f'{path}: has {times.size} requests, {count} are needed.')
    start = int(np.random.default_rng([seed, _SHIFT]).integers(times.size - count + 1))
    return labelled(scaled(times[start : start + count], rate(concurrency, completion)), concurrency, warm_up)


def _azure(path: Path) -> Iterator[float]:
    """UTC time stamps with seven decimals, which datetime cannot read."""
    with path.open(encoding='utf-8-sig', newline='') as file:
        rows = csv.DictReader(file)
        for row in rows:
            try:
                yield _finite((np.datetime64(row['TIMESTAMP'], 'ns') - _EPOCH) / np.timedelta64(1, 's'))
            except (ValueError, KeyError, TypeError) as error:
                raise TraceError(f"{path}, line {rows.line_num}, field 'TIMESTAMP': no time: {error}.") from error


def _mooncake(path: Path) -> Iterator[float]:
    with path.open(encoding='utf-8') as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield _finite(float(json.loads(line)['timestamp']) / 1000)
            except (ValueError, KeyError, TypeError) as error:
                raise TraceError(f"{path}, line {number}, field 'timestamp': no time in ms: {error}.") from error


def _finite(time: float) -> float:
    if not math.isfinite(time):
        raise ValueError(f'{time} is not finite')
    return time


_READERS: dict[str, Callable[[Path], Iterator[float]]] = {'.csv': _azure, '.jsonl': _mooncake}
