"""``study run``: parts of the evaluation, in virtual or real time."""
from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pace_ros.study.cloud import CloudSettings
from pace_ros.study.cloud.regimes import REGIMES
from pace_ros.study.evaluation.campaign import Campaign
from pace_ros.study.evaluation.cell import PARTS
from pace_ros.study.evaluation.own_arms import read_arms
from pace_ros.study.evaluation.plan import CONCURRENCIES, Plan, PlanError
from pace_ros.study.evaluation.streams import Sizes
from pace_ros.study.evaluation.virtual_run import FIXED, MEASURED, REAL

ALIASES = {'gate': 'steady'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument('parts', nargs='+', metavar='PART', choices=(*PARTS, *ALIASES, 'all'),
                        help=f'{", ".join(PARTS)}, or all; gate is another word for steady')
    parser.add_argument('--out', type=Path, default=Path('study'), metavar='DIR',
                        help='where results are kept; a study that was stopped goes on (default: %(default)s)')
    parser.add_argument('--clock', choices=('virtual', 'real'), default='virtual', help='(default: %(default)s)')
    parser.add_argument('--costs', choices=(MEASURED, FIXED), default=MEASURED,
                        help='virtual time: what computing costs; fixed is the same on every machine '
                             '(default: %(default)s)')
    parser.add_argument('--dataset', default='carqa',
                        help='or a .jsonl file of your own, or a folder of `study carqa` (default: %(default)s)')
    parser.add_argument('--transfer', nargs='*', metavar='NAME', help='data sets of the part transfer')
    parser.add_argument('--data', type=Path, metavar='DIR', help='where public data sets lie')
    parser.add_argument('--language', choices=('zh', 'en'), default='zh', help='(default: %(default)s)')
    parser.add_argument('--arms', nargs='+', default=(), metavar='ARM', help='only these')
    parser.add_argument('--own-arms', type=Path, metavar='FILE', help='further arms of your own (YAML)')
    parser.add_argument('--trace', default='', metavar='FILE',
                        help='arrivals like these (Azure CSV, Mooncake JSONL), at the same rates, instead of Poisson')
    parser.add_argument('--concurrency', nargs='+', type=float, default=CONCURRENCIES, metavar='C')
    parser.add_argument('--seeds', nargs='+', type=int, default=(1, 2, 3), metavar='N')
    parser.add_argument('--requests', type=int, metavar='N',
                        help='measured requests a cell of campaign, cold, steady (default: 500) and transfer (200)')
    parser.add_argument('--warm-up', type=int, metavar='N',
                        help='requests of warm-up of the parts campaign and transfer (default: 100)')
    parser.add_argument('--regime', choices=tuple(REGIMES), default='paper',
                        help='of the simulated cloud (default: %(default)s)')
    parser.add_argument('--cloud', type=Path, metavar='FILE', help='settings of the simulated cloud (YAML)')
    parser.add_argument('--base-url', default='', metavar='URL',
                        help='a real endpoint instead, its key in the environment as for the robot; needs --clock real')
    parser.add_argument('--workers', type=int, default=os.cpu_count() or 1, help='processes (default: %(default)s)')


def run(options: argparse.Namespace) -> int:
    """Run what is missing; 0. Raises a Refusal of what is asked for, ConfigError, OSError."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console,
    )
    tasks: dict[str, TaskID] = {}

    def progress(name: str, done: int, total: int) -> None:
        if name not in tasks and total:
            tasks[name] = bar.add_task(name, total=total)
        if total:
            bar.update(tasks[name], completed=done)

    campaign = Campaign(options.out, plan_of(options), workers=options.workers, data=options.data)
    with bar:
        table = campaign.run(progress)
    sys.stdout.write(f'{table}\n')
    return 0


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan that is asked for. Raises PlanError, ArmError, CloudError."""
    if options.base_url and options.clock != REAL:
        raise PlanError('A real endpoint (--base-url) needs --clock real.')
    cloud: CloudSettings = REGIMES[options.regime]
    sizes = Sizes()
    if options.requests is not None:
        sizes = dataclasses.replace(sizes, measured=options.requests, transfer_measured=options.requests)
    if options.warm_up is not None:
        sizes = dataclasses.replace(sizes, warm_up=options.warm_up)
    own = read_arms(options.own_arms) if options.own_arms else {}
    transfer = {} if options.transfer is None else {'transfer': tuple(options.transfer)}
    parts = PARTS if 'all' in options.parts else sorted({ALIASES.get(each, each) for each in options.parts})
    return Plan(
        parts=tuple(parts),
        time=REAL if options.clock == REAL else options.costs, dataset=options.dataset, language=options.language,
        arms=tuple(options.arms), concurrencies=tuple(options.concurrency), seeds=tuple(options.seeds), sizes=sizes,
        cloud=cloud.read(options.cloud) if options.cloud else cloud, base_url=options.base_url, trace=options.trace,
        own=tuple(own.items()), **transfer,
    )
