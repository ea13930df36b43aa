"""The simulator against real replicas: the same closed-loop conversations through both.

    scripts/campaign.sh serving_validation

One prefiller and one decoder, each with a core of its own. A replica is calibrated on the same machine just before and
just after, and the costs are fitted to both, as the machine's speed drifts. Conversations go through the real gateway
under each policy, far apart and closely one after the other, so that they queue; then, with the token counts that were
seen, through the simulator. The error is that of the simulated figure relative to the real one. What else runs on the
machine falls on the real side alone: how much is said by the share of time in which the real processes wanted a core
and had none.
"""
from __future__ import annotations

import dataclasses
import itertools
import sys
import tempfile
from pathlib import Path

import anyio
import pandas as pd
from rich.console import Console
from rich.table import Table

from pace_ros.serving.simulator.costs import Costs
from pace_ros.study.live_serving.live_fleet import LiveFleet, Member, live_fleet
from pace_ros.study.live_serving.visitor import ANSWERED
from pace_ros.study.refusal import refusing
from pace_ros.study.serving.calibration import costs_of, measured_replica, shown
from pace_ros.study.serving.core_waits import children_time
from pace_ros.study.serving.cost_fit import fit
from pace_ros.study.serving.measurements import Settings
from pace_ros.study.serving.probes import KINDS, STEP
from pace_ros.study.serving.rapl import Rapl
from pace_ros.study.serving.validation import Visits, errors, simulated, visit_all, workload_of

POLICIES = ('pinned', 'predicted', 'collocated', 'disaggregated')
LOADS = {'a visit every 12 s': Visits(), 'a visit every 3 s': Visits(count=16, every=3.0)}
SMALL = Settings(reads=(30, 100, 250), appends=(10, 50), depths=(250,), batches=(1, 2, 4), contexts=(64, 256),
                 moved=(64, 128, 256), repeats=5)
BATCH = 512
PATIENT = {'admission': {'utilisation': 10.0, 'wait': 120.0},
           'deadlines': {'prefill': 120.0, 'first_token': 120.0, 'hand_over': 60.0}}


@dataclasses.dataclass(frozen=True)
class Run:
    """What was seen of real turns under a policy; ``disturbed``: share of the time that the processes wanted a core and
    had none.
    """

    policy: str
    load: str
    visits: Visits
    real: pd.DataFrame
    disturbed: float
    energy: str


def table_of(run: Run, found: pd.DataFrame) -> Table:
    """A run's errors."""
    answered = int((run.real['outcome'] == ANSWERED).sum())
    table = Table('metric', 'real', 'simulated', 'error', title=(
        f'{run.policy}, {run.load}: {answered} of {len(run.real)} turns answered; no core for {run.disturbed:.0%} of '
        'the time it was wanted'))
    for row in found.itertuples():
        table.add_row(str(row.metric), f'{row.real:.3f}', f'{row.simulated:.3f}', f'{row.error:+.0%}')
    return table


def calibrated(before: pd.DataFrame, after: pd.DataFrame, console: Console) -> Costs:
    """What a replica of this machine has cost in the meantime."""
    rows = pd.concat([before, after], ignore_index=True)
    fits = [fit(rows, kind) for kind in KINDS]
    console.print(shown(fits))
    console.print(f'Steps take {step_of(after) / step_of(before) - 1:+.0%} after the runs against before.')
    return costs_of(fits, rows)


def step_of(rows: pd.DataFrame) -> float:
    """The median step of one stream, s."""
    return float(rows.loc[(rows['kind'] == STEP) & (rows['batch'] == 1), 'seconds'].median())


def visited(fleet: LiveFleet) -> list[Run]:
    """Every policy at every load, real."""
    runs = []
    for series, (policy, load) in enumerate(itertools.product(POLICIES, LOADS)):
        with fleet.gateway(policy, **PATIENT) as gateway:
            before, rapl, visits = children_time(), Rapl(), dataclasses.replace(LOADS[load], series=series)
            real = anyio.run(visit_all, gateway.url, visits)
            runs.append(Run(policy, load, visits, real, children_time().since(before),
                            rapl.told(int(real['answer'].sum()))))
        sys.stderr.write(f'{policy}, {load}: done\n')
    return runs


def main() -> int:
    """All of it; 0."""
    members = [Member('prefill-1', 'prefill', 0, slots=8, context=1024, batch=BATCH),
               Member('decode-1', 'decode', 1, slots=8, context=1024, batch=BATCH)]
    console = Console(width=140)
    before = measured_replica(SMALL, core=1, batch=BATCH)
    with tempfile.TemporaryDirectory(prefix='pace-validation-') as folder, live_fleet(Path(folder), members) as fleet:
        runs = visited(fleet)
    costs = calibrated(before, measured_replica(SMALL, core=1, batch=BATCH), console)
    for each in runs:
        turns = simulated(fleet.described(each.policy, PATIENT), costs, workload_of(each.real, each.visits),
                          chunk=BATCH)
        console.print(table_of(each, errors(each.real, turns)))
        console.print(each.energy)
    return 0


if __name__ == '__main__':
    sys.exit(refusing('serving_validation', main))
