"""A study on disk: cells are run by worker processes, kept one by one, and resumed where it was stopped."""
from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from pace_ros.files import replacing
from pace_ros.study.datasets.registry import load
from pace_ros.study.evaluation import worker
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.evaluation.plan import Plan, PlanError
from pace_ros.study.evaluation.virtual_run import REAL
from pace_ros.study.made_by import made_by, source_digest

Progress = Callable[[str, int, int], None]
PLAN, REQUESTS, TIMES = 'plan.json', 'requests', 'times.txt'
_LIBRARIES = ('pace_ros', 'numpy', 'scipy', 'pandas', 'faiss-cpu', 'onnxruntime', 'httpx', 'anyio', 'gptcache')


class Campaign:
    """One folder. ``workers`` processes share the cells; in real time there is one, so that nothing competes."""

    def __init__(self, folder: Path, plan: Plan, *, workers: int, data: Path | None = None) -> None:
        self._folder = folder
        if workers < 1:
            raise PlanError(f'A study needs a worker at least, not {workers}.')
        self._plan = plan
        self._workers = 1 if plan.time == REAL else workers
        self._data = data

    def run(self, progress: Progress) -> Path:
        """Run what is missing; returns the table of all requests. Raises PlanError, DataSetError, OSError, and what a
        cell raises.
        """
        cells = self._plan.cells()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._keep_plan()
        missing = [cell for cell in cells if not worker.cell_file(self._folder, cell).exists()]
        began = time.monotonic()
        with self._pool() as pool:
            try:
                completion = self._completion(pool, progress)
                self._fill_snapshots(pool, cells, completion, progress)
                runs = [pool.submit(worker.run_cell, cell, completion) for cell in missing]
                _collect('cells', runs, progress, len(cells) - len(missing))
            except BaseException:
                for process in multiprocessing.active_children():  # what they have begun is not kept
                    process.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        table = merge(self._folder)
        with (self._folder / TIMES).open('a', encoding='utf-8') as file:  # not in the plan: like runs have like plans
            file.write(f'{len(missing)} of {len(cells)} runs, {self._workers} workers, code {source_digest()}: '
                       f'{time.monotonic() - began:.0f} s\n')
        return table

    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._workers, mp_context=get_context('spawn'), initializer=worker.open_laboratory,
            initargs=(self._plan, self._folder, self._data),
        )

    def _keep_plan(self) -> None:
        """Write the plan, or compare it with the one that is there."""
        path, fields = self._folder / PLAN, json.loads(json.dumps(self.settings()))
        if path.exists():
            before = json.loads(path.read_text(encoding='utf-8'))
            differing = [*_differing(before['plan'], fields['plan'], 'parts'),
                         *_differing(before['arms'], fields['arms']), *_differing(before['data'], fields['data'])]
            if differing:
                raise PlanError(f'{self._folder} holds a study with other settings: {", ".join(differing)}. '
                                'Choose another folder, or the same settings.')
            fields['plan']['parts'] = sorted({*before['plan']['parts'], *fields['plan']['parts']})
            for name in ('arms', 'data'):
                fields[name] = {**before[name], **fields[name]}
            self._write_plan({**before, **fields})
        else:
            self._write_plan({**fields, **made_by(_LIBRARIES, self._workers)})

    def settings(self) -> dict[str, Any]:
        """What decides the result. Raises DataSetError, or OSError for a trace that cannot be read."""
        data = {name: load(name, self._data).version for name in {cell.dataset for cell in self._plan.cells()}}
        if self._plan.trace:
            data['trace'] = hashlib.sha256(Path(self._plan.trace).read_bytes()).hexdigest()[:12]
        return {'plan': self._plan.as_fields(), 'arms': self._plan.resolved(), 'data': data}

    def _write_plan(self, fields: dict[str, Any]) -> None:
        with replacing(self._folder / PLAN) as file:
            file.write(json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False).encode() + b'\n')

    def _completion(self, pool: ProcessPoolExecutor, progress: Progress) -> float:
        """The pure-LLM arm's mean completion time (s) without load, from which all rates follow."""
        fields = json.loads((self._folder / PLAN).read_text(encoding='utf-8'))
        if 'completion' not in fields:
            progress('pilot', 0, 1)
            fields['completion'] = pool.submit(worker.pilot).result()
            self._write_plan(fields)
            progress('pilot', 1, 1)
        return float(fields['completion'])

    def _fill_snapshots(
        self, pool: ProcessPoolExecutor, cells: Sequence[Cell], completion: float, progress: Progress
    ) -> None:
        wanted = sorted({(cell.dataset, cell.seed) for cell in cells if worker.begins_warm(cell, self._plan)})
        missing = [each for each in wanted if not worker.snapshot_file(self._folder, *each).exists()]
        jobs = [pool.submit(worker.fill_snapshot, dataset, seed, completion) for dataset, seed in missing]
        _collect('snapshots', jobs, progress)


def merge(folder: Path) -> Path:
    """All cells of all parts that are there, as one table, in Parquet and CSV. Raises OSError."""
    files = sorted((folder / worker.CELLS).glob('*.parquet'))
    table = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)[list(COLUMNS)]
    target = folder / f'{REQUESTS}.parquet'
    with replacing(target) as file:
        table.to_parquet(file, index=False)
    with replacing(folder / f'{REQUESTS}.csv.gz') as file, \
            gzip.GzipFile('', 'wb', fileobj=file, mtime=0) as packed:  # no name, no time: the same bytes each time
        table.to_csv(packed, index=False)
    return target


def _differing(before: Mapping[str, Any], now: Mapping[str, Any], *but: str) -> list[str]:
    """What both name, but otherwise."""
    return sorted(key for key in before.keys() & now.keys() if before[key] != now[key] and key not in but)


def _collect(name: str, jobs: Sequence[Future[None]], progress: Progress, done: int = 0) -> None:
    """Wait for all; the first error is raised."""
    total = done + len(jobs)
    progress(name, done, total)
    for job in as_completed(jobs):
        job.result()
        done += 1
        progress(name, done, total)
