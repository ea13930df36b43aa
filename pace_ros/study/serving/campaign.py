"""A study of serving on disk: cells are run by worker processes, kept one by one, and resumed where it was stopped."""
from __future__ import annotations

import gzip
import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from pace_ros.files import replacing
from pace_ros.study.made_by import made_by
from pace_ros.study.serving.cell import Cell
from pace_ros.study.serving.cell_run import CELLS, run_cell, summary_file
from pace_ros.study.serving.plan import Plan, ServingPlanError
from pace_ros.study.serving.rig import costs_of
from pace_ros.study.serving.served import missing

PLAN, TURNS, OCCUPANCY, RUNS = 'plan.json', 'turns', 'occupancy', 'runs'
Progress = Callable[[int, int], None]
_WIDER = ('parts', 'workloads', 'arms', 'loads', 'seeds', 'errors', 'appends')
"""What a study that goes on may have more of, since it only adds cells."""
_LIBRARIES = ('pace_ros', 'simpy', 'numpy', 'pandas', 'scipy')


class Campaign:
    """One folder, shared by ``workers`` processes; ``traces`` is where the public traces lie."""

    def __init__(self, folder: Path, plan: Plan, *, workers: int, traces: Path | None = None) -> None:
        if workers < 1:
            raise ServingPlanError(f'A study needs a worker at least, not {workers}.')
        self._folder = folder
        self._plan = plan
        self._workers = workers
        self._traces = traces
        self.left_out = {each: why for each in plan.workloads if (why := missing(each, traces))}

    def run(self, progress: Progress) -> Path:
        """Run what is missing and can be had; returns the table of all turns. Raises ServingPlanError, OSError, and
        what a cell raises.
        """
        costs_of(self._plan)  # refused before anything is written
        cells = [each for each in self._plan.cells() if each.workload not in self.left_out]
        if not cells:
            raise ServingPlanError(f'Nothing can be run: {"; ".join(self.left_out.values())}.')
        (self._folder / CELLS).mkdir(parents=True, exist_ok=True)
        self._keep_plan()
        wanted = [each for each in cells if not summary_file(self._folder, each).exists()]
        if wanted:
            self._run(wanted, len(cells) - len(wanted), len(cells), progress)
        return merge(self._folder)

    def _run(self, wanted: list[Cell], done: int, total: int, progress: Progress) -> None:
        progress(done, total)
        with ProcessPoolExecutor(self._workers, mp_context=get_context('spawn')) as pool:
            try:
                jobs = [pool.submit(run_cell, self._folder, self._plan, each, self._traces) for each in wanted]
                for job in as_completed(jobs):
                    job.result()
                    done += 1
                    progress(done, total)
            except BaseException:
                for process in multiprocessing.active_children():  # what they have begun is not kept
                    process.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _keep_plan(self) -> None:
        """Write the plan, or compare it with the one that is there."""
        path, now = self._folder / PLAN, json.loads(json.dumps(self._plan.as_fields()))
        fields: dict[str, Any] = {
            'plan': now, 'left_out': self.left_out, **made_by(_LIBRARIES, self._workers),
        }
        if path.exists():
            before = json.loads(path.read_text(encoding='utf-8'))['plan']
            differing = sorted(key for key in now if before.get(key) != now[key] and key not in _WIDER)
            if differing:
                raise ServingPlanError(f'{self._folder} holds a study with other settings: {", ".join(differing)}. '
                                       'Choose another folder, or the same settings.')
            now.update({key: [*before[key], *(each for each in now[key] if each not in before[key])]
                        for key in _WIDER})
        with replacing(path) as file:
            file.write(json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False).encode() + b'\n')


def merge(folder: Path) -> Path:
    """All cells that are there as tables: turns (Parquet and CSV), occupancy, runs. Raises OSError."""
    done = sorted((folder / CELLS).glob('*.json'))
    for name in (TURNS, OCCUPANCY):
        frames = [pd.read_parquet(each.with_name(f'{each.stem}.{name}.parquet')) for each in done]
        with replacing(folder / f'{name}.parquet') as file:
            table = pd.concat(frames, ignore_index=True)
            table.to_parquet(file, index=False)
        if name == TURNS:
            with replacing(folder / f'{name}.csv.gz') as file, \
                    gzip.GzipFile('', 'wb', fileobj=file, mtime=0) as packed:  # no name, no time: the same bytes
                table.to_csv(packed, index=False)
    summaries = [json.loads(each.read_text(encoding='utf-8')) for each in done]
    with replacing(folder / f'{RUNS}.parquet') as file:
        pd.json_normalize(summaries).to_parquet(file, index=False)
    return folder / f'{TURNS}.parquet'
