"""Replays of one session at several rates, the language model played back from its bag.

    scripts/campaign.sh replay [TURNS] [SEED]

Visitors talk to the robot once, with the L2 traffic recorded. Then a fresh node hears the same utterances at half, once
and four times the recorded pace, and as fast as possible, twice each. Paths, answers, frames and decisions must be the
same every time; the table says by how much the durations in the records differ from the recorded session's. Exit code 1
unless all are the same and no duration's median difference is above 50 ms; those of fillers are told only, since they
are generated on board and take what the machine's load lets them take.
"""
from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '77')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import subprocess

import numpy as np
from rich.console import Console
from rich.table import Table

from pace_ros.record import read_turns
from pace_ros.ros.processes import START_DEADLINE, executable, exit_on_sigterm, robot, wait_for_line
from pace_ros.ros.session import EMBODIED, embodied_robot, recorded, script, visit
from pace_ros.ros.visitors import Visitors

RATES = ('0.5', '1', '4', 'fast')
BY_LOAD = ('filler_elapsed', 'perceived_latency')
DURATIONS = ('ptfr', 'completion', 'ttft', 't_embed', 't_route', *BY_LOAD)
SAME = 0.05  # s
DEADLINE = 1800.0  # s for one replay


@dataclass
class Run:
    """One replay: what `bag replay --compare` says differs, and by how much durations do (s, by name, turn by turn)."""

    rate: str
    turns: int
    differences: list[dict[str, object]]
    durations: dict[str, list[float]] = field(default_factory=dict)

    @property
    def decisive(self) -> list[dict[str, object]]:
        """What differs but for durations."""
        return [each for each in self.differences if each['what'] != 'ptfr']


def session(folder: FilePath, turns: int, seed: int, environment: dict[str, str], *parameters: str) -> FilePath:
    """Let visitors talk to the robot, uninterrupted; returns the bag. The log of turns is in ``folder``."""
    asks = [replace(each, interruption=None) for each in script(turns, seed)]
    with (
        embodied_robot(folder, environment, *parameters), recorded(folder, environment, 'mcap') as bag,
        Visitors() as visitors,
    ):
        visitors.wait_for_robot(START_DEADLINE)
        visit(visitors, asks, Console(stderr=True))
    return bag


def replayed(folder: FilePath, bag: FilePath, rate: str, environment: dict[str, str], *parameters: str) -> Run:
    """Replay into a fresh node of the same configuration; what differs from the session in the bag's folder."""
    folder.mkdir()
    pace = ['--fast'] if rate == 'fast' else ['--rate', rate]
    with robot(folder, 'http://127.0.0.1:9/v1', environment, *EMBODIED, *parameters, f'l2.replay:={bag}',
               'record.l2:=false') as node:
        wait_for_line(node, folder / 'dialogue.log', 'listening')
        result = subprocess.run(
            [*executable('bag'), 'replay', str(bag), *pace, '--compare', '--json'], env=environment,
            capture_output=True, text=True, timeout=DEADLINE, check=False,
        )
    if not result.stdout.strip():
        raise RuntimeError(result.stderr)
    differences = json.loads(result.stdout.splitlines()[-1])['differences']
    before = {each.utterance_id: each for each in read_turns(bag.parent / 'turns.jsonl')}
    run = Run(rate, 0, differences, {name: [] for name in DURATIONS})
    for record in read_turns(folder / 'turns.jsonl'):
        run.turns += 1
        for name in DURATIONS:
            difference = getattr(record, name) - getattr(before[record.utterance_id], name)
            if not math.isnan(difference):
                run.durations[name].append(difference)
    return run


def campaign(
    folder: FilePath, turns: int, seed: int, rates: Sequence[str], environment: dict[str, str], *parameters: str
) -> list[Run]:
    """A session and its replays."""
    bag = session(folder, turns, seed, environment, *parameters)
    return [
        replayed(folder / f'{number}-{rate}', bag, rate, environment, *parameters) for number, rate in enumerate(rates)
    ]


def main() -> int:
    """Run and print."""
    exit_on_sigterm()
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rates = [rate for rate in RATES for _ in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        runs = campaign(FilePath(folder), turns, seed, rates, dict(os.environ))
    table = Table('rate', 'turns', 'not the same', *DURATIONS)
    for run in runs:
        cells = [
            f'{np.median(np.abs(values)) * 1e3:.1f} / {np.max(np.abs(values)) * 1e3:.0f}' if values else '-'
            for values in run.durations.values()
        ]
        table.add_row(run.rate, str(run.turns), str(len(run.decisive)), *cells)
    Console(width=140).print(table)
    print('durations: median / largest difference from the recorded session, ms')
    for run in runs:
        for each in run.decisive:
            print('  ', run.rate, each)
    same = all(run.turns == turns and not run.decisive for run in runs)
    close = all(
        np.median(np.abs(values)) <= SAME
        for run in runs for name, values in run.durations.items() if values and name not in BY_LOAD
    )
    return int(not (same and close))


if __name__ == '__main__':
    sys.exit(main())
