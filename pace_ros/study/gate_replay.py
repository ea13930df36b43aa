"""The steady-state gate replayed on any log: windows, triggers, and how long turns were pinned.

study gate turns.jsonl
study gate results/run --arm pace-full --concurrency 16 --seed 1 --requests 50
study gate results/run --part ramp --requests 50 --out gate
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path as FilePath

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from pace_ros.study.gate_summary import summary
from pace_ros.study.load_log import add_selection, read_selected
from pace_ros.study.router_replay import MODES, TRIGGERS, Replay, gate_config, replay
from pace_ros.study.statistics.interval import shown

WIDTH = 150  # columns where no terminal says how many it has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_selection(parser)
    windows = parser.add_mutually_exclusive_group()
    windows.add_argument('--requests', type=int, default=0, metavar='N',
                         help='windows of N requests, as for the campaign: 50')
    windows.add_argument('--seconds', type=float, default=60.0, metavar='S', help='windows of S seconds (default: 60)')
    parser.add_argument('--literal', action='store_true',
                        help='every trigger beyond its limit counts, however probable under steady load')
    parser.add_argument('--out', type=FilePath, metavar='DIR', help='write windows.csv, turns.csv and summary.csv')


def run(options: argparse.Namespace) -> int:
    """Replay and show; 0. Raises SourceError, ConfigError, OSError."""
    config = gate_config(requests=options.requests, seconds=options.seconds, literal=options.literal)
    sessions = read_selected(options)
    terminal = Console(stderr=True)
    played = [replay(each, config) for each in
              track(sessions, 'replaying', console=terminal, transient=True, disable=not terminal.is_terminal)]
    written = write(played, options.out) if options.out else []
    show(played, Console(width=None if sys.stdout.isatty() else WIDTH))
    for path in written:
        sys.stdout.write(f'{path}\n')
    return 0


def tables(played: list[Replay]) -> dict[str, pd.DataFrame]:
    """Windows and turns of all sessions, each with its session, and the summary, one row a session."""
    def joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
        named = [frame.assign(session=each.session.name) for each, frame in zip(played, frames, strict=True)]
        return pd.concat([each for each in named if len(each)] or named[:1], ignore_index=True)

    return {'windows': joined([each.windows for each in played]), 'turns': joined([each.turns for each in played]),
            'summary': pd.DataFrame([summary(each) for each in played])}


def write(played: list[Replay], folder: FilePath) -> list[FilePath]:
    """Write the tables; the files written. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in tables(played).items():
        target = folder / f'{name}.csv'
        frame.to_csv(target, index=False)
        written.append(target)
    return written


def show(played: list[Replay], console: Console) -> None:
    """The windows of a single session, and the summary of all."""
    if len(played) == 1:
        console.print(window_table(played[0]))
    console.print(summary_table(played))
    console.print(threshold_table(played))
    unreached = sum(len(each.windows) <= each.quiet_windows for each in played)
    if unreached:
        console.print(f'{unreached} of {len(played)} sessions have too few windows for the gate to close: it takes '
                      f'{played[0].quiet_windows + 1}. Shorter windows show more: --requests, --seconds.')


def window_table(played: Replay) -> Table:
    """One row a window: its triggers as value (p), in bold where they fired."""
    table = Table(title=f'Windows of {escape(played.session.name)}', title_justify='left', header_style='bold')
    for heading in ('window', 'until (s)', 'turns', 'turns/s', 'λ'):
        table.add_column(heading, justify='right')
    for heading in (*TRIGGERS, 'gate', 'quiet'):
        table.add_column(heading)
    for row in played.windows.to_dict('records'):
        cells = []
        for name, column in TRIGGERS.items():
            text = f'{shown(row[column])} (p {row[f"{column}_p"]:.2g})' if row[column] == row[column] else '–'
            cells.append(f'[bold red]{text}[/]' if name in row['fired'].split(', ') else text)
        table.add_row(str(row['window']), f'{row["at"]:.1f}', str(row['count']), shown(row['rate']), shown(row['load']),
                      *cells, row['gate'], str(row['quiet_windows']))
    return table


def summary_table(played: list[Replay]) -> Table:
    """One row a session."""
    table = Table(title='The gate', title_justify='left', header_style='bold')
    table.add_column('session', no_wrap=True)
    for heading in ('turns', 'STATIC', 'ADAPTIVE', 'windows', 'closed after', 'opened', 'changes', 'exposure',
                    'longest', 'λ', '|Δλ|'):
        table.add_column(heading, justify='right')
    for each in played:
        row = summary(each)
        table.add_row(
            escape(str(row['session'])), str(row['turns']), f'{row["static"]:.1%}', f'{row["adaptive"]:.1%}',
            str(row['windows']), _count(row['windows_to_closure']), str(row['openings']), str(row['changes']),
            _count(row['exposure_single']), _count(row['exposure_longest']),
            f'{row["load_low"]:.2f} to {row["load_high"]:.2f}', shown(float(str(row['recorded_load']))))
    table.caption = ('Closed after, exposure, longest: windows. Exposure: the longest time the gate stayed open after '
                     f'a single change of load, at most H + 1 = {played[0].quiet_windows + 1}; longest: after any. '
                     '|Δλ|: median gap between the load index recorded and the one replayed.')
    table.caption_justify = 'left'
    return table


def threshold_table(played: list[Replay]) -> Table:
    """The mean thresholds that turns would have had under each mode."""
    table = Table(title='Thresholds, mean over turns', title_justify='left', header_style='bold')
    table.add_column('session', no_wrap=True)
    names = [(theta, mode) for theta in ('cache', 'direct') for mode in MODES]
    for theta, mode in names:
        table.add_column(f'θ {theta} {mode}', justify='right')
    for each in played:
        row = summary(each)
        table.add_row(escape(str(row['session'])),
                      *(shown(float(str(row[f'theta_{theta}_{mode}']))) for theta, mode in names))
    return table


def _count(value: object) -> str:
    return shown(float(str(value)), 0)
