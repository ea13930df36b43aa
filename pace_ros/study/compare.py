"""Two runs side by side: what differs by more than chance.

study compare results/before results/after --out compared
"""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path as FilePath

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from pace_ros.study.cell_comparison import CELL, MEASURES, Figure, compare_cells
from pace_ros.study.load_log import read_rows
from pace_ros.study.sessions import SourceError
from pace_ros.study.statistics import Interval, measured, shown

NEEDED = ('part', 'dataset', 'arm', 'concurrency', 'seed', 'index', 'phase',
          *dict.fromkeys(column for each in MEASURES for column in each.columns))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument('a', metavar='A', type=FilePath, help='folder of a run, with its requests.parquet')
    parser.add_argument('b', metavar='B', type=FilePath, help='folder of another')
    parser.add_argument('--out', type=FilePath, metavar='DIR', help='write compare.csv there')
    parser.add_argument('--seed', type=int, default=0, help='of the bootstrap (default: %(default)s)')


def run(options: argparse.Namespace) -> int:
    """Compare and show; 0. Raises SourceError for what cannot be compared, OSError."""
    a, b = (read_rows(each, columns=NEEDED) for each in (options.a, options.b))
    table, only_a, only_b = compare(a, b, seed=options.seed, console=Console(stderr=True))
    if not len(table):
        raise SourceError(f'{options.a} and {options.b} have no arm at the same concurrency in common')
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.out / 'compare.csv', index=False)
    console = Console(width=None if sys.stdout.isatty() else 150)
    show(table, console)
    for name, cells in ((options.a, only_a), (options.b, only_b)):
        for each in cells:
            console.print(f'only in {escape(str(name))}: {escape(_cell_name(each))}')
    if options.out:
        sys.stdout.write(f'{options.out / "compare.csv"}\n')
    return 0


def compare(
    a: pd.DataFrame, b: pd.DataFrame, *, seed: int = 0, console: Console | None = None
) -> tuple[pd.DataFrame, list[tuple[object, ...]], list[tuple[object, ...]]]:
    """One row a cell and measure; and the cells that only A, only B has.

    Columns: the cell, measure, a, b (values), kind (ratio or difference, B against A), change, low, high (95 %
    interval), differs (the interval excludes no change), paired (the same requests), n_a, n_b. Warm-ups are left out.
    """
    groups = [dict(iter(measured(each).groupby(list(CELL), sort=False, observed=True))) for each in (a, b)]
    common = [each for each in groups[0] if each in groups[1]]
    is_shown = console is not None and console.is_terminal
    rows: list[dict[str, object]] = []
    for cell in track(common, 'comparing', console=console, transient=True, disable=not is_shown):
        figures = compare_cells(groups[0][cell], groups[1][cell], seed=seed)
        rows += [{**dict(zip(CELL, cell, strict=True)), **_row(each)} for each in figures]
    only_a, only_b = ([each for each in groups[one] if each not in groups[1 - one]] for one in (0, 1))
    return pd.DataFrame(rows), only_a, only_b


def _row(figure: Figure) -> dict[str, object]:
    change = figure.change
    return {'measure': figure.name, 'a': figure.a, 'b': figure.b, 'kind': figure.kind, 'change': change.estimate,
            'low': change.low, 'high': change.high, 'differs': figure.differs, 'paired': figure.paired,
            'n_a': figure.n_a, 'n_b': figure.n_b}


def show(table: pd.DataFrame, console: Console) -> None:
    """One table a cell would be long: one row a cell and measure, in bold what differs."""
    grid = Table(title='B against A', title_justify='left', header_style='bold')
    for heading in ('cell', 'measure', 'A', 'B', 'B / A or B − A [95 %]', ''):
        grid.add_column(heading, justify='left' if heading in ('cell', 'measure', '') else 'right', no_wrap=True)
    before: object = None
    for row in table.to_dict('records'):
        cell = tuple(row[each] for each in CELL)
        change = Interval(row['change'], row['low'], row['high'], 0).shown()
        sign = '× ' if row['kind'] == 'ratio' else '+ ' if row['change'] >= 0 else ''
        grid.add_row(
            escape(_cell_name(cell)) if cell != before else '', row['measure'], shown(row['a']), shown(row['b']),
            f'[bold]{sign}{change}[/]' if row['differs'] else f'{sign}{change}',
            ('differs' if row['differs'] else '') + ('' if row['paired'] else ' (other requests)'),
            end_section=False)
        before = cell
    console.print(grid)
    differing = int(table['differs'].sum())
    console.print(f'{differing} of {len(table)} figures differ beyond their 95 % interval; of figures that are equal '
                  f'about {math.ceil(0.05 * len(table))} would.')


def _cell_name(cell: tuple[object, ...]) -> str:
    *names, concurrency = (str(each) for each in cell)
    return f'{" ".join(names)} c={float(concurrency):g}'
