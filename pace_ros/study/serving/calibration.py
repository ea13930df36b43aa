"""``study serving calibrate``: what replicas cost on this machine, measured and fitted.

scripts/run study serving calibrate --out DIR
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from pace_ros.files import replacing
from pace_ros.serving.keys import KEY
from pace_ros.serving.simulator.costs import Costs
from pace_ros.study.live_serving.live_fleet import Member, live_fleet
from pace_ros.study.serving.cost_fit import Fit, fit
from pace_ros.study.serving.measurements import Settings, measured
from pace_ros.study.serving.probes import KINDS, READ, RESTORE, SAVE, STEP, ProbeError, Prober
from pace_ros.study.serving.rapl import Rapl

MEASUREMENTS, COSTS, FITS = 'measurements.csv', 'costs.json', 'fits.json'
_LINES = 10  # measurements a line, without a terminal
_WIDTH = 140  # columns where no terminal says how many it has
_NAMES = {
    READ: {'call': 'prefill_base', 'token': 'prefill_token', 'pair': 'attend'},
    STEP: {'call': 'decode_base', 'stream': 'decode_stream', 'context': 'decode_token'},
    SAVE: {'call': 'save_base', 'token': 'save_token'},
    RESTORE: {'call': 'restore_base', 'token': 'restore_token'},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument('--out', type=Path, default=Path('calibration'), metavar='DIR',
                        help='measurements, costs and fit errors go here (default: %(default)s)')
    parser.add_argument('--url', default='', metavar='URL',
                        help='measure this llama.cpp server, with a slot folder, instead of a replica of our own; its '
                        'slots are erased')
    parser.add_argument('--core', type=int, default=0, metavar='N',
                        help="the replica's, counted among those of this machine (default: %(default)s)")
    parser.add_argument('--batch', type=int, default=512,
                        help='prompt tokens the replica reads at once (default: %(default)s)')
    parser.add_argument('--repeats', type=int, default=3, metavar='N', help='of every setting (default: %(default)s)')
    parser.add_argument('--fit-only', action='store_true', help='fit the measurements that lie in DIR, measure nothing')


def run(options: argparse.Namespace) -> int:
    """Measure, fit, write and show; 0. Raises ServerAbsent, ProbeError, FitError, OSError."""
    path = options.out / MEASUREMENTS
    rapl = Rapl()
    if not options.fit_only:
        _check(options)
        rows = measured_replica(Settings(repeats=max(1, options.repeats)), core=options.core, batch=options.batch,
                                url=options.url)
        options.out.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            rows.to_csv(file, index=False)
    rows = pd.read_csv(path)
    fits = [fit(rows, kind) for kind in KINDS]
    costs_of(fits, rows).write(options.out / COSTS)
    (options.out / FITS).write_text(json.dumps([vars(each) for each in fits], indent=1) + '\n', encoding='utf-8')
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH)
    console.print(shown(fits))
    if not options.fit_only:
        console.print(rapl.told())
    return 0


def _check(options: argparse.Namespace) -> None:
    """Before minutes go by. Raises ProbeError."""
    cores = len(os.sched_getaffinity(0))
    if not options.url and not 0 <= options.core < cores:
        raise ProbeError(f'--core must be from 0 to {cores - 1} on this machine, not {options.core}.')
    out = options.out.absolute()
    there = next(each for each in (out, *out.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ProbeError(f'--out {options.out}: {there} is no folder that may be written to.')


def costs_of(fits: Sequence[Fit], rows: pd.DataFrame) -> Costs:
    """The simulator's costs. Save and restore go through one machine's files, so that nothing is left to transfer."""
    values: dict[str, float] = {}
    for each in fits:
        values |= {_NAMES[each.kind][name]: value for name, value in each.coefficients.items()}
    saved = rows.loc[(rows['kind'] == SAVE) & (rows['tokens'] > 0)]
    if len(saved):
        values['kv_bytes'] = float((saved['size'] / saved['tokens']).median())
    return Costs(**values)


def shown(fits: Sequence[Fit]) -> Table:
    """The coefficients and errors as a table."""
    table = Table(title='Costs, fitted to the median repetition of each setting', header_style='bold')
    for name in ('cost', 'settings', 'coefficients (s)', 'median error', 'largest error', 'held-out error'):
        table.add_column(name, justify='right' if 'error' in name else 'left')
    for each in fits:
        table.add_row(each.kind, str(each.settings), _listed(each.coefficients), f'{each.median_error:.1%}',
                      f'{each.largest_error:.1%}', f'{each.held_out:.1%}')
    return table


def _listed(coefficients: Mapping[str, float]) -> str:
    return ', '.join(f'{name} {value:.3g}' for name, value in coefficients.items())


def measured_replica(settings: Settings, *, core: int = 0, batch: int = 512, url: str = '') -> pd.DataFrame:
    """All settings, of a replica started for it or of the server at ``url``. Raises ServerAbsent, ProbeError."""
    with contextlib.ExitStack() as stack:
        if not url:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='pace-calibration-')))
            member = Member('measured', 'both', core, slots=settings.slots, context=settings.context, batch=batch)
            url = stack.enter_context(live_fleet(folder, [member])).urls[member.name]
        prober = stack.enter_context(Prober(url, key=os.environ.get(KEY, '')))
        return measured(prober, settings, _progress(stack, settings.count()))


def _progress(stack: contextlib.ExitStack, total: int) -> Callable[[int, int], None]:
    """A bar, or a line now and then where there is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        return lambda done, _: None if done % _LINES and done < total else console.print(f'{done} of {total} measured')
    bar = stack.enter_context(Progress(console=console))
    task = bar.add_task('measurements', total=total)
    return lambda done, _: bar.update(task, completed=done)
