"""``study serving run``: fleets in simulated time."""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pace_ros.study.serving.arms import ARMS
from pace_ros.study.serving.campaign import Campaign
from pace_ros.study.serving.cell import PARTS
from pace_ros.study.serving.plan import LOADS, Plan
from pace_ros.study.serving.served import WORKLOADS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    default = Plan()
    parser.add_argument('--out', type=Path, default=Path('serving'), metavar='DIR',
                        help='where results are kept; a study that was stopped goes on (default: %(default)s)')
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=PARTS, metavar='PART', help=', '.join(PARTS))
    parser.add_argument('--workloads', nargs='+', choices=WORKLOADS, default=WORKLOADS, metavar='NAME',
                        help=f'{", ".join(WORKLOADS)}; those whose data is not at hand are left out')
    parser.add_argument('--traces', type=Path, metavar='DIR', help='where the public traces lie')
    parser.add_argument('--arms', nargs='+', choices=tuple(ARMS), default=tuple(ARMS), metavar='ARM',
                        help=', '.join(ARMS))
    parser.add_argument('--loads', nargs='+', type=float, default=LOADS, metavar='C',
                        help='conversations offered over the nominal capacity')
    parser.add_argument('--seeds', nargs='+', type=int, default=default.seeds, metavar='N')
    for name, meaning in (('conversations', f'a cell at least, and as many as come within {default.span:g} s'),
                          ('prefillers', ''), ('decoders', ''),
                          ('slots', 'conversations a replica holds'), ('context', 'tokens a conversation may have'),
                          ('kv', 'tokens of KV cache that all slots of a replica share; 0: each has its own')):
        parser.add_argument(f'--{name}', type=int, default=getattr(default, name), metavar='N',
                            help=f'{meaning} (default: %(default)s)'.strip())
    parser.add_argument('--slo', type=float, default=default.slo, metavar='X',
                        help='how long a first token may take, over reading the new part of its prompt alone '
                             '(default: %(default)s)')
    parser.add_argument('--costs', default='', metavar='FILE',
                        help="costs.json of `study serving calibrate` (default: a data sheet's)")
    parser.add_argument('--workers', type=int, default=os.cpu_count() or 1, help='processes (default: %(default)s)')


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan that is asked for. Raises ServingPlanError."""
    return Plan(
        parts=tuple(options.parts), workloads=tuple(options.workloads), arms=tuple(options.arms),
        loads=tuple(options.loads), seeds=tuple(options.seeds), conversations=options.conversations, slo=options.slo,
        prefillers=options.prefillers, decoders=options.decoders, slots=options.slots, context=options.context,
        kv=options.kv, costs=options.costs,
    )


def run(options: argparse.Namespace) -> int:
    """Run what is missing; 0. Raises a Refusal of what is asked for, ConfigError, OSError."""
    campaign = Campaign(options.out, plan_of(options), workers=options.workers, traces=options.traces)
    for why in campaign.left_out.values():
        sys.stderr.write(f'left out: {why}\n')
    with Progress(TextColumn('cells'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                  console=Console(stderr=True)) as bar:
        task = bar.add_task('cells', total=None)
        table = campaign.run(lambda done, total: bar.update(task, completed=done, total=total))
    sys.stdout.write(f'{table}\n')
    return 0
