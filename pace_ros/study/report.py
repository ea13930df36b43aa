"""The report on sessions, from logs and bags: tables in the terminal and in files, figures, and one page.

scripts/run bag report session1 turns.jsonl --by robot --out report
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from pace_ros.study.formats import formats_of
from pace_ros.study.frames import ORIGIN, load
from pace_ros.study.latency import grouped, latencies, latency_summary
from pace_ros.study.report_tables import Table, all_tables, is_numeric, seconds, timeline_table
from pace_ros.study.sessions import SourceError
from pace_ros.study.timeline import Timeline, chosen, timeline

FORMATS = ('terminal', 'csv', 'parquet', 'png', 'svg', 'html')
_WIDTH = 150  # columns where no terminal says how many it has


@dataclass(frozen=True)
class Report:
    """All of a report.

    ``turns`` with their group, ``onsets``, ``times`` of each turn (``latencies``) and their ``summary``; tables; single
    turns.
    """

    sources: tuple[str, ...]
    by: str | None
    turns: pd.DataFrame
    onsets: pd.DataFrame
    times: pd.DataFrame
    summary: pd.DataFrame
    tables: tuple[Table, ...]
    timelines: tuple[Timeline, ...]

    def facts(self) -> dict[str, str]:
        """What it is about, in a few numbers."""
        ptfr, pl = self.turns['ptfr'], self.turns['perceived_latency']
        days = sorted(set(self.turns['day']) - {''})
        observed = self.onsets['source'] == 'OBSERVED'
        orphans = ~self.onsets['turn_id'].isin(self.turns['turn_id'])
        facts = {
            'turns': str(len(self.turns)), 'conversations': str(self.turns['conversation_id'].nunique()),
            'days': ' to '.join(dict.fromkeys([days[0], days[-1]])) if days else 'unknown',
            'commanded onsets': str(int((~observed).sum())),
            'observed onsets': str(int((observed & self.onsets['elapsed'].notna()).sum())),
            'PTFR P50': f'{seconds(ptfr.median())} s', 'PL P50': f'{seconds(pl.median())} s',
            'without an answer': str(int(ptfr.isna().sum())),
        }
        return facts | ({'onsets of turns without a record': str(int(orphans.sum()))} if orphans.any() else {})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument('paths', nargs='+', metavar='PATH', help='bag (folder, .mcap, .db3) or log (turns.jsonl)')
    parser.add_argument('--by', choices=ORIGIN, help='compare side by side')
    parser.add_argument('--out', metavar='DIR', type=FilePath, default=FilePath('report'),
                        help='folder for files (default: %(default)s)')
    parser.add_argument('--format', default='terminal', type=formats_of(FORMATS), metavar='LIST',
                        help=f'any of {",".join(FORMATS)}, or all (default: terminal)')
    parser.add_argument('--turn', action='append', default=[], metavar='ID',
                        help='show the timeline of this turn, by its id or the beginning of it; may be repeated '
                             '(default: the median turn of each path, and the slowest)')
    parser.add_argument('--seed', type=int, default=0, help='of the bootstrap (default: %(default)s)')


def run(options: argparse.Namespace) -> int:
    """Make the report. 0, or 2 after one sentence on what cannot be read or written."""
    try:
        report = build(options.paths, by=options.by, turn_ids=options.turn, seed=options.seed)
        written = write(report, options.format, options.out)
    except SourceError as error:
        sys.stderr.write(f'bag report: {error}\n')
        return 2
    except OSError as error:
        sys.stderr.write(f'bag report: {error.filename or options.out}: {error.strerror or error}\n')
        return 2
    for path in written:
        sys.stdout.write(f'{path}\n')
    return 0


def build(paths: list[str], *, by: str | None = None, turn_ids: list[str] | None = None, seed: int = 0) -> Report:
    """Read and count. Raises SourceError for a source that cannot be read or a turn that is not there."""
    turns, onsets = load(paths)
    turns = grouped(turns, by)
    times = latencies(turns, onsets)
    try:
        lines = [timeline(turns, onsets, each) for each in turn_ids] if turn_ids else chosen(turns, onsets)
    except ValueError as error:
        raise SourceError(str(error)) from error
    summary = latency_summary(turns, times, seed=seed)
    tables = all_tables(turns, onsets, summary, by=by, seed=seed)
    return Report(tuple(map(str, paths)), by, turns, onsets, times, summary, tuple(tables), tuple(lines))


def write(report: Report, formats: tuple[str, ...], folder: FilePath) -> list[FilePath]:
    """Show the report in the terminal and write its files, as asked; the files written. Raises OSError."""
    written: list[FilePath] = []
    if set(formats) - {'terminal'}:
        folder.mkdir(parents=True, exist_ok=True)
    for name in ('csv', 'parquet'):
        if name in formats:
            written += _write_tables(report, name, folder)
    if {'png', 'svg', 'html'} & set(formats):
        written += _write_drawn(report, formats, folder)
    if 'terminal' in formats:  # last, as its reader may leave early
        show(report, Console(width=None if sys.stdout.isatty() else _WIDTH))
    return written


def _write_drawn(report: Report, formats: tuple[str, ...], folder: FilePath) -> list[FilePath]:
    from pace_ros.study.report_figures import drawings, write_figures  # noqa: PLC0415  matplotlib takes a second
    from pace_ros.study.report_page import page  # noqa: PLC0415

    drawn = drawings(report)
    written = write_figures(drawn, [each for each in ('png', 'svg') if each in formats], folder)
    if 'html' in formats:
        target = folder / 'report.html'
        target.write_text(page(report, drawn), encoding='utf-8')
        written.append(target)
    return written


def _write_tables(report: Report, suffix: str, folder: FilePath) -> list[FilePath]:
    frames = {'turns': report.turns.drop(columns='group'), 'onsets': report.onsets,
              'latencies': report.times, 'summary': report.summary,
              **{each.name: each.frame for each in report.tables if not each.is_part}}
    written = []
    for name, frame in frames.items():
        target = folder / f'{name}.{suffix}'
        save: Callable[..., None] = frame.to_csv if suffix == 'csv' else frame.to_parquet
        save(target, index=False)
        written.append(target)
    return written


def show(report: Report, console: Console) -> None:
    """Print the report."""
    console.print(', '.join(f'[bold]{escape(value)}[/] {name}' if name in ('turns', 'conversations')
                            else f'{name} [bold]{escape(value)}[/]' for name, value in report.facts().items()))
    for each in (*report.tables, *map(timeline_table, report.timelines)):
        grid = Grid(header_style='bold')
        for name in each.shown.columns:
            grid.add_column(escape(name), justify='right' if is_numeric(each.shown[name]) else 'left',
                            overflow='fold')
        for row in each.shown.itertuples(index=False):
            grid.add_row(*map(escape, row))
        console.print(f'\n[bold]{escape(each.title)}[/]')
        console.print(grid)
        if each.note:
            console.print(f'[dim]{escape(each.note)}[/]')
