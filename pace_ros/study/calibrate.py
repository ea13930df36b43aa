"""Load anchors and thresholds from a log, with the curve they come from.

    study calibrate turns.jsonl --labels labels.csv --false-hit-rate 0.01 --out calibrated
    study calibrate results/run --arm pace-static

What is proposed is written as a parameter file with nothing else in it. Limits: anchors span the load that this log
saw. Answers below the threshold in force were not given, so nothing is known of them, unless missed candidates are
labelled as well (a column ``level`` in the labels); label them as you label hits, else the curve is of the mixture you
chose. A lower threshold also changes what the cache comes to hold, which no log shows: run the proposal before trusting
it.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import pandas as pd
from rich.console import Console
from rich.table import Table

from pace_ros.config import Config
from pace_ros.settings import value_of, with_values
from pace_ros.study import false_hits, load_anchors
from pace_ros.study.hit_labels import LEVELS, Labelled, labelled
from pace_ros.study.load_anchors import Anchors, TooLittle
from pace_ros.study.load_log import Session, add_selection, read_selected
from pace_ros.study.router_replay import gate_config, replay
from pace_ros.study.sessions import SourceError

RATE = 0.01
PARAMETERS = {'L0': ('router.theta_cache', 'router.cache_low', 'router.cache_high'),
              'L1': ('router.theta_direct', 'router.direct_low', 'router.direct_high')}


@dataclass
class Calibration:
    """``values`` by parameter name; ``anchors`` None where the log did not allow any; ``curve`` of both levels;
    ``sentences`` say what could not be proposed, and what to beware of.
    """

    tolerable: float
    anchors: Anchors | None
    labels: Labelled
    curve: pd.DataFrame
    values: dict[str, float] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_selection(parser)
    parser.add_argument('--false-hit-rate', type=float, default=RATE, metavar='RATE',
                        help='share of wrong answers among hits that can be tolerated (default: %(default)s)')
    parser.add_argument('--labels', type=FilePath, metavar='CSV',
                        help='turn_id, correct and, to judge misses too, level')
    parser.add_argument('--out', type=FilePath, default=FilePath('calibrated'), metavar='DIR',
                        help='where calibrated.yaml, curve.csv and curve.png go (default: %(default)s)')


def run(options: argparse.Namespace) -> int:
    """Propose, show and write; 0. Raises SourceError where nothing can be proposed, ConfigError, OSError."""
    if not 0.0 < options.false_hit_rate < 1.0:
        raise SourceError(f'--false-hit-rate must be between 0 and 1, not {options.false_hit_rate:g}')
    found = calibrate(read_selected(options), options.false_hit_rate, options.labels)
    if not found.values:
        raise SourceError(f'nothing can be proposed. {" ".join(found.sentences)}')
    written = write(found, options.out, str(options.log))
    show(found, Console(width=None if sys.stdout.isatty() else 120))
    for path in written:
        sys.stdout.write(f'{path}\n')
    return 0


def calibrate(sessions: Sequence[Session], tolerable: float = RATE, labels: FilePath | None = None) -> Calibration:
    """Propose what the log supports. Raises SourceError for labels that cannot be read."""
    known = labelled(sessions, labels)
    sentences: list[str] = []
    curves = {level: false_hits.curve(known, level) for level in LEVELS}
    found = Calibration(tolerable, _anchors(sessions, sentences), known,
                        pd.concat([each for each in curves.values() if len(each)] or [curves['L0']], ignore_index=True),
                        sentences=sentences)
    if found.anchors is not None:
        found.values |= found.anchors.values
    for level, (operating, low, high) in PARAMETERS.items():
        proposed = false_hits.propose(curves[level], level, tolerable)
        if isinstance(proposed, str):
            sentences.append(proposed)
        else:
            found.values |= {operating: proposed.operating, low: proposed.low, high: proposed.high}
    if known.unplaced:
        sentences.append(f'{known.unplaced} labels are of turns that neither level answered; to judge what would have '
                         'been served they need a column level (L0 or L1).')
    with_values(Config(), found.values)
    return found


def _anchors(sessions: Sequence[Session], sentences: list[str]) -> Anchors | None:
    config = gate_config()
    try:
        found = load_anchors.propose([replay(each, config) for each in sessions], config.router)
    except TooLittle as error:
        sentences.append(str(error))
        return None
    if found.steady:
        sentences.append('Load was steady all through this log: its anchors span scatter, not load. Take a log '
                         'with quiet and busy hours.')
    return found


def write(found: Calibration, folder: FilePath, source: str) -> list[FilePath]:
    """Write the parameter file, the curve, and its figure; the files written. Raises OSError."""
    from pace_ros.study.calibrate_figure import draw  # noqa: PLC0415  matplotlib takes a second

    folder.mkdir(parents=True, exist_ok=True)
    parameters, curve, figure = (folder / name for name in ('calibrated.yaml', 'curve.csv', 'curve.png'))
    parameters.write_text(render(found, source), encoding='utf-8')
    found.curve.to_csv(curve, index=False)
    draw(found, figure)
    return [parameters, curve, figure]


def render(found: Calibration, source: str) -> str:
    """The proposed values as a ROS parameter file."""
    lines = [f'# Proposed by "study calibrate" from {source}.']
    if any(name in found.values for names in PARAMETERS.values() for name in names):
        lines.append(f'# Thresholds for a false-hit rate of {found.tolerable:g}: low at most that, the operating point '
                     'at most half of it.')
    lines += ['/**:', '  ros__parameters:', '    router:']
    lines += [f'      {name.removeprefix("router.")}: {json.dumps(value)}' for name, value in found.values.items()]
    return '\n'.join([*lines, ''])


def show(found: Calibration, console: Console) -> None:
    """Print values beside the shipped ones, the range of the load index before and after, and what to beware of."""
    table = Table(title='Proposed parameters', title_justify='left', header_style='bold')
    for heading in ('parameter', 'shipped', 'proposed'):
        table.add_column(heading, justify='left' if heading == 'parameter' else 'right')
    for name, value in found.values.items():
        table.add_row(name, f'{value_of(Config(), name):g}', f'{value:g}')
    console.print(table)
    if found.anchors is not None:
        for name, words in (('before', 'with the shipped anchors'), ('after', 'with the proposed ones')):
            load = found.anchors.points[name]
            console.print(f'λ {words}: {load.min():.2f} to {load.max():.2f}, 90 % of turns in '
                          f'[{load.quantile(0.05):.2f}, {load.quantile(0.95):.2f}]')
    for level in LEVELS:
        own = found.curve.loc[found.curve['level'] == level]
        if len(own):
            first = own.iloc[0]
            console.print(f'{level}: known from {first["threshold"]:.3f} on; there {first["hits"]} hits, '
                          f'{first["false"]} wrong: {first["rate"]:.2%}, at most {first["rate_high"]:.2%}')
    for sentence in found.sentences:
        console.print(sentence)
