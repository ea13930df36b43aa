"""``study serving report``: tables, figures, methods and one page of a run.

scripts/run study serving report DIR
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from pace_ros.packaged import config_dir
from pace_ros.study.formats import add_report_arguments
from pace_ros.study.results.published import published
from pace_ros.study.results.tool import FORMATS, show
from pace_ros.study.results.words import Table
from pace_ros.study.serving.headlines import headlines
from pace_ros.study.serving.methods import markdown
from pace_ros.study.serving.rows import Results, read
from pace_ros.study.serving.table_claims import claims
from pace_ros.study.serving.table_occupancy import occupancy
from pace_ros.study.serving.table_prediction import prediction
from pace_ros.study.serving.table_rates import appends, rates, ratios
from pace_ros.study.serving.table_saturation import saturation
from pace_ros.study.serving.table_workloads import workloads

PUBLISHED = 'published_serving.yaml'
_WIDTH = 220  # columns where no terminal says how many it has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_report_arguments(parser, folder='folder of `study serving run`', known=FORMATS, published=PUBLISHED)


def run(options: argparse.Namespace) -> int:
    """Make the report; 0. Raises ServingResultsError, PublishedError, OSError."""
    results = read(options.folder, published(options.published or config_dir() / PUBLISHED))
    for path in write(results, options.format, options.out or options.folder / 'report'):
        sys.stdout.write(f'{path}\n')
    return 0


def all_tables(results: Results) -> list[Table]:
    """Every table, in order."""
    return [claims(results), workloads(results), saturation(results), rates(results), ratios(results),
            appends(results), prediction(results), occupancy(results)]


def write(results: Results, formats: tuple[str, ...], folder: Path) -> list[Path]:
    """Show the report in the terminal and write its files, as asked; the files written. Raises OSError."""
    tables = all_tables(results)
    frames = {each.name: each.frame for each in tables}
    lines = headlines(frames)
    written: list[Path] = []
    if set(formats) - {'terminal'}:
        folder.mkdir(parents=True, exist_ok=True)
        written.append(folder / 'methods.md')
        written[-1].write_text(markdown(results), encoding='utf-8')
    if 'csv' in formats:
        for each in tables:
            if len(each.frame):
                written.append(folder / f'{each.name}.csv')
                each.frame.to_csv(written[-1], index=False)
    if {'png', 'svg', 'html'} & set(formats):
        from pace_ros.study.report_figures import write_figures  # noqa: PLC0415  matplotlib takes a second
        from pace_ros.study.serving.figures import all_figures  # noqa: PLC0415
        from pace_ros.study.serving.page import page  # noqa: PLC0415

        drawn = all_figures(frames)
        written += write_figures(drawn, [each for each in ('png', 'svg') if each in formats], folder)
        if 'html' in formats:
            written.append(folder / 'report.html')
            written[-1].write_text(page(results, tables, drawn, lines), encoding='utf-8')
    if 'terminal' in formats:  # last, as its reader may leave early
        show(tables, lines, Console(width=None if sys.stdout.isatty() else _WIDTH))
    return written
