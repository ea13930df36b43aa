"""The report on an evaluation: tables in the terminal and in files, figures, methods, and one page.

scripts/run study report DIR
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from pace_ros.study.formats import add_report_arguments
from pace_ros.study.results.headlines import headlines
from pace_ros.study.results.methods import markdown
from pace_ros.study.results.published import published
from pace_ros.study.results.rows import Results, read
from pace_ros.study.results.tables import all_tables
from pace_ros.study.results.words import Table, begins, is_numeric

FORMATS = ('terminal', 'csv', 'png', 'svg', 'html')
_WIDTH = 200  # columns where no terminal says how many it has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_report_arguments(parser, folder='folder of a run, with its requests.parquet', known=FORMATS,
                         published='published.yaml')


def run(options: argparse.Namespace) -> int:
    """Make the report; 0. Raises ResultsError, PublishedError, StatisticsError, OSError."""
    results = read(options.folder, published(options.published))
    for path in write(results, options.format, options.out or options.folder / 'report'):
        sys.stdout.write(f'{path}\n')
    return 0


def write(results: Results, formats: tuple[str, ...], folder: Path) -> list[Path]:
    """Show the report in the terminal and write its files, as asked; the files written. Raises OSError."""
    tables = all_tables(results)
    lines = headlines(results, {each.name: each.frame for each in tables})
    written: list[Path] = []
    if set(formats) - {'terminal'}:
        folder.mkdir(parents=True, exist_ok=True)
        written.append(folder / 'methods.md')
        written[-1].write_text(markdown(results), encoding='utf-8')
    if 'csv' in formats:
        written += _write_tables(tables, folder)
    if {'png', 'svg', 'html'} & set(formats):
        written += _write_drawn(results, tables, lines, formats, folder)
    if 'terminal' in formats:  # last, as its reader may leave early
        show(tables, lines, Console(width=None if sys.stdout.isatty() else _WIDTH))
    return written


def _write_tables(tables: list[Table], folder: Path) -> list[Path]:
    written = []
    for each in tables:
        if len(each.frame) and not each.is_part:
            written.append(folder / f'{each.name}.csv')
            each.frame.to_csv(written[-1], index=False)
    return written


def _write_drawn(
    results: Results, tables: list[Table], lines: list[str], formats: tuple[str, ...], folder: Path
) -> list[Path]:
    from pace_ros.study.report_figures import write_figures  # noqa: PLC0415  matplotlib takes a second
    from pace_ros.study.results.figures import all_figures  # noqa: PLC0415
    from pace_ros.study.results.page import page  # noqa: PLC0415

    drawn = all_figures(results, {each.name: each.frame for each in tables})
    written = write_figures(drawn, [each for each in ('png', 'svg') if each in formats], folder)
    if 'html' in formats:
        written.append(folder / 'report.html')
        written[-1].write_text(page(results, tables, drawn, lines), encoding='utf-8')
    return written


def show(tables: list[Table], lines: list[str], console: Console) -> None:
    """Print the report."""
    for line in lines:
        console.print(f'[bold]{escape(line)}[/]', highlight=False)
    for each in tables:
        console.print(f'\n[bold]{escape(each.title)}[/]')
        if len(each.shown):
            console.print(_grid(each))
        console.print(f'[dim]{escape(each.note)}[/]', highlight=False)


def _grid(table: Table) -> Grid:
    grid = Grid(header_style='bold')
    for name in table.shown.columns:
        grid.add_column(escape(name), justify='right' if is_numeric(table.shown[name]) else 'left', overflow='fold')
    for row, is_first in zip(table.shown.itertuples(index=False), begins(table.shown), strict=True):
        if is_first:
            grid.add_section()
        grid.add_row(*map(escape, row))
    return grid
