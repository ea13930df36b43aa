"""What a worker process of a study does: it opens the laboratory once, then runs cell after cell."""
from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import statistics
import threading
import time
from pathlib import Path

import pandas as pd

from pace_ros.cache import CacheEntry
from pace_ros.files import replacing
from pace_ros.study.evaluation import snapshot
from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.evaluation.laboratory import Laboratory
from pace_ros.study.evaluation.plan import Plan, PlanError
from pace_ros.study.evaluation.streams import changing, requests_of
from pace_ros.study.evaluation.virtual_run import FIXED, REAL, Conditions, Job, perform
from pace_ros.study.virtual.loop import EPOCH
from pace_ros.study.workload.arrivals import steady
from pace_ros.study.workload.stream import stream

CELLS, SNAPSHOTS = 'cells', 'snapshots'
PILOT_REQUESTS, PILOT_SPACING = 200, 0.02  # their number, and their offered concurrency: each is alone
GUESS = 3.0  # s a completion, for the pilot's own rate
_open: list[_Bench] = []


@dataclasses.dataclass(frozen=True)
class _Bench:
    plan: Plan
    folder: Path
    laboratory: Laboratory
    conditions: Conditions


def open_laboratory(plan: Plan, folder: Path, data: Path | None) -> None:
    """Begin a process; an interrupt is the parent's to handle, and without a parent it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, name='parent', daemon=True).start()
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    laboratory = Laboratory(language=plan.language, folder=data)
    conditions = Conditions(plan.time, plan.cloud, plan.base_url)
    _open[:] = [_Bench(plan, folder, laboratory, conditions)]


def end_with_parent() -> None:
    """Wait for the parent to end, then end: one that was killed cannot say so, and its workers would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def pilot() -> float:
    """The mean completion time (s) of the pure-LLM arm, asked one question at a time."""
    bench, arm = _open[0], ARMS['pure-llm']
    data = bench.laboratory.subject(bench.plan.dataset).data
    count = PILOT_REQUESTS if bench.plan.time != REAL else 20
    schedule = steady(PILOT_SPACING if bench.plan.time != REAL else 1.0, GUESS, seed=0, warm_up=0, measured=count)
    conditions = bench.conditions
    if conditions.time != REAL:
        conditions = dataclasses.replace(conditions, time=FIXED)
    rows = perform(Job(Cell('pilot', bench.plan.dataset, arm.name, 1.0, 0), arm, stream(data, schedule, seed=0)),
                   bench.laboratory, conditions)
    times = [row['completion'] for row in rows if row['outcome'] == 'ANSWERED']
    if len(times) < len(rows) / 2:
        raise PlanError(f'Of {len(rows)} questions the cloud answered {len(times)}: no rate follows from that.')
    return statistics.fmean(times)


def fill_snapshot(dataset: str, seed: int, completion: float) -> None:
    """Make and keep the cache with which the arms begin."""
    bench = _open[0]
    entries = snapshot.fill(dataset, seed, bench.laboratory, bench.conditions, completion)
    snapshot.write(entries, snapshot_file(bench.folder, dataset, seed))


def run_cell(cell: Cell, completion: float) -> None:
    """Run a cell and keep its rows."""
    bench, arm = _open[0], _open[0].plan.arm(cell.arm)
    data = bench.laboratory.subject(cell.dataset).data
    if cell.part == 'volatility':
        requests, events = changing(cell, data, bench.plan.sizes)
        job = Job(cell, arm, requests, events)
    else:
        job = Job(cell, arm, requests_of(cell, data, bench.plan.sizes, completion, bench.plan.trace),
                  snapshot=_begin(cell, bench))
    rows = perform(job, bench.laboratory, bench.conditions)
    with replacing(cell_file(bench.folder, cell)) as file:
        pd.DataFrame(rows, columns=list(COLUMNS)).to_parquet(file, index=False)


def begins_warm(cell: Cell, plan: Plan) -> bool:
    """Whether the cell begins with a filled cache."""
    return cell.part not in ('cold', 'volatility') and plan.arm(cell.arm).recalls


def snapshot_file(folder: Path, dataset: str, seed: int) -> Path:
    """Where a snapshot is kept."""
    return folder / SNAPSHOTS / f'{Path(dataset).stem}-s{seed}.jsonl'


def cell_file(folder: Path, cell: Cell) -> Path:
    """Where a cell's rows are kept."""
    return folder / CELLS / f'{cell.name}.parquet'


def _begin(cell: Cell, bench: _Bench) -> list[CacheEntry]:
    """What the cell's cache holds at its beginning."""
    if not begins_warm(cell, bench.plan):
        return []
    written = time.time() if bench.conditions.time == REAL else EPOCH
    return snapshot.read(snapshot_file(bench.folder, cell.dataset, cell.seed), written=written)
