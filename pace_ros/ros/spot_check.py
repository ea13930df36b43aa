"""`spot_check`: whether virtual time tells the truth. Some cells of a study once more, in real time: the real node in
its own process over DDS, the simulated cloud in another over HTTP, compared with virtual time on the same streams.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pace_ros.cache.cache_file import CacheFileError
from pace_ros.files import replacing
from pace_ros.retrieval import KnowledgeError
from pace_ros.ros.processes import ProcessError, exit_on_sigterm
from pace_ros.ros.spot_job import real_run
from pace_ros.ros.spot_rows import EXTRA, judged
from pace_ros.ros.spot_run import in_real_time
from pace_ros.ros.visitors import RobotAbsent
from pace_ros.settings import ConfigError
from pace_ros.study.cloud import CloudSettings
from pace_ros.study.evaluation import snapshot, worker
from pace_ros.study.evaluation.arms import ARMS, ROBOT
from pace_ros.study.evaluation.campaign import merge
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.evaluation.laboratory import Laboratory
from pace_ros.study.evaluation.streams import Sizes, requests_of
from pace_ros.study.evaluation.virtual_run import MEASURED, Conditions, Job, perform
from pace_ros.study.refusal import Refusal
from pace_ros.study.spot import AGREEMENT, SpotError, compared, spot_frame, spot_table
from pace_ros.study.virtual.loop import EPOCH

REFUSALS = (Refusal, ProcessError, RobotAbsent, ConfigError, KnowledgeError, CacheFileError, OSError)


@dataclass(frozen=True)
class Study:
    """What a spot check takes over from the study in ``folder``; ``completion`` (s) is what all rates follow from."""

    folder: Path
    dataset: str
    language: str
    warm_up: int
    seeds: tuple[int, ...]
    cloud: CloudSettings
    completion: float

    @classmethod
    def read(cls, folder: Path) -> Study:
        """Read the plan of a study that has been run. Raises SpotError, CloudError."""
        path = folder / 'plan.json'
        try:
            fields = json.loads(path.read_text(encoding='utf-8'))
            plan = fields['plan']
            return cls(
                folder, plan['dataset'], plan['language'], plan['sizes']['warm_up'], tuple(plan['seeds']),
                CloudSettings().changed(**plan['cloud']), float(fields['completion']),
            )
        except OSError as error:
            raise SpotError(f'{path} cannot be read: run `study run campaign --out {folder}` first.') from error
        except (ValueError, KeyError, TypeError) as error:
            raise SpotError(f'{path} is not the plan of a study that has been run: {error!r}.') from error

    def job(self, cell: Cell, laboratory: Laboratory, requests: int, *, written: float) -> Job:
        """A cell's stream and cache, which was ``written`` (wall time, s) when the run begins. Raises SpotError."""
        sizes = Sizes(warm_up=self.warm_up, measured=requests)
        stream = requests_of(cell, laboratory.subject(cell.dataset).data, sizes, self.completion)
        file = worker.snapshot_file(self.folder, cell.dataset, cell.seed)
        if not ARMS[cell.arm].recalls:
            return Job(cell, ARMS[cell.arm], stream)
        if not file.is_file():
            raise SpotError(f'{file}: not there; `study run campaign --seeds {cell.seed}` writes it.')
        return Job(cell, ARMS[cell.arm], stream, snapshot=snapshot.read(file, written=written))


class SpotCheck:
    """Runs cells by both clocks and keeps their rows: in real time in DIR/cells, in virtual time in DIR/spot."""

    def __init__(self, study: Study, laboratory: Laboratory, *, data: Path | None, progress: Progress) -> None:
        self._study = study
        self._laboratory = laboratory
        self._data = data
        self._progress = progress

    def run(self, cells: Sequence[Cell], requests: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows of all cells in real time and in virtual time. What is there already is not run again."""
        pairs = [(self._real(cell, requests), self._virtual(cell, requests)) for cell in cells]
        real, virtual = (pd.concat(each, ignore_index=True) for each in zip(*pairs, strict=True))
        return real, virtual

    def _virtual(self, cell: Cell, requests: int) -> pd.DataFrame:
        job = self._study.job(cell, self._laboratory, requests, written=EPOCH)
        rows = perform(job, self._laboratory, Conditions(MEASURED, self._study.cloud))
        return kept(rows, self._study.folder / 'spot' / cell.name / 'virtual.parquet')

    def _real(self, cell: Cell, requests: int) -> pd.DataFrame:
        job = self._study.job(cell, self._laboratory, requests, written=time.time())
        task = self._progress.add_task(f'{cell.arm}, c = {cell.concurrency:g}', total=len(job.requests))
        file = worker.cell_file(self._study.folder, cell)
        if file.is_file() and len(found := pd.read_parquet(file)) == len(job.requests):
            self._progress.update(task, completed=len(found))
            return found
        folder = self._study.folder / 'spot' / cell.name
        run = real_run(job, self._laboratory, self._study.cloud, folder.resolve(), self._data)
        rows = in_real_time(
            run, folder.resolve(), on_progress=lambda _sent, ended: self._progress.update(task, completed=ended),
        )
        judge = self._laboratory.subject(cell.dataset).judge
        return kept(judged(rows, job.requests, judge), file)


def kept(rows: Sequence[dict[str, Any]], file: Path) -> pd.DataFrame:
    """The rows as a table, written to ``file`` as Parquet. Raises OSError."""
    table = pd.DataFrame(rows)[[name for name in (*COLUMNS, *EXTRA) if name in rows[0]]]
    with replacing(file) as target:
        table.to_parquet(target, index=False)
    return table


def cells_of(options: argparse.Namespace, study: Study) -> Iterator[Cell]:
    """The cells that are asked for. Raises SpotError."""
    seed = study.seeds[0] if options.seed is None else options.seed
    for name in options.arms:
        if name not in ARMS:
            raise SpotError(f'There is no arm {name!r}; there are {", ".join(ARMS)}.')
        if ARMS[name].engine != ROBOT:
            raise SpotError(f'The arm {name!r} is no node: it cannot be run over DDS.')
    if options.requests < 1 or min(options.concurrency) <= 0:
        raise SpotError('A spot check needs requests, and concurrencies above 0.')
    for concurrency in options.concurrency:
        for name in options.arms:
            yield Cell('spot', study.dataset, name, concurrency, seed)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument('study', type=Path, metavar='DIR', help='of `study run campaign`: its plan and snapshots')
    parser.add_argument('--arms', nargs='+', default=['pace-static', 'pace-full'], metavar='ARM')
    parser.add_argument('--concurrency', nargs='+', type=float, default=[4.0, 16.0], metavar='C')
    parser.add_argument('--requests', type=int, default=200, metavar='N',
                        help='measured ones, after the warm-up of the study (default: %(default)s)')
    parser.add_argument('--seed', type=int, help="(default: the study's first)")
    parser.add_argument('--data', type=Path, metavar='DIR', help='where public data sets lie')


def run(options: argparse.Namespace) -> int:
    """Run the spot check and print where real and virtual time agree. 2 after one sentence on what is wrong."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    console = Console(highlight=False)
    columns = (TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        study = Study.read(options.study)
        cells = list(cells_of(options, study))
        laboratory = Laboratory(language=study.language, folder=options.data)
        with Progress(*columns, console=Console(stderr=True)) as progress:
            real, virtual = SpotCheck(study, laboratory, data=options.data, progress=progress).run(
                cells, options.requests)
        agreements = compared(real, virtual)
        spot_frame(agreements).to_csv(options.study / AGREEMENT, index=False)
        merge(options.study)  # the report shows them, too
    except REFUSALS as error:
        sys.stderr.write(f'spot_check: {error}\n')
        return 2
    console.print(spot_table(agreements))
    return 0


def main() -> None:
    """Check and exit; Ctrl-C ends every process that was started."""
    parser = argparse.ArgumentParser(prog='spot_check', description=__doc__)
    add_arguments(parser)
    exit_on_sigterm()
    try:
        code = run(parser.parse_args())
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


if __name__ == '__main__':
    main()
