"""A cell through the simulator: every turn, and what they come to."""
from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from pace_ros.files import replacing
from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.outcome import Outcome
from pace_ros.serving.simulator.simulation import simulate
from pace_ros.serving.simulator.workloads.arrivals import poisson
from pace_ros.study.serving.cell import Cell
from pace_ros.study.serving.nominal import nominal
from pace_ros.study.serving.plan import Plan
from pace_ros.study.serving.rig import costs_of, fleet_of, hardware_of
from pace_ros.study.serving.served import scripts

CELLS = 'cells'
SHORTEST = 0.5  # s: a first token that comes sooner is never late
SAMPLE = 1.0  # s between two looks at the KV caches at least
MOMENTS = 300  # looks while conversations arrive, at most


@dataclass(frozen=True)
class Ran:
    """What a cell came to, with the conversations a second that it was offered."""

    turns: pd.DataFrame
    occupancy: pd.DataFrame
    summary: dict[str, Any]


def summary_file(folder: Path, cell: Cell) -> Path:
    """Written last: a cell that has it has been run."""
    return folder / CELLS / f'{cell.name}.json'


def run_cell(folder: Path, plan: Plan, cell: Cell, traces: Path | None) -> None:
    """Run and keep it. Raises ServedError, ConfigError, OSError."""
    ran = ran_cell(plan, cell, traces)
    for name in ('turns', 'occupancy'):
        with replacing(folder / CELLS / f'{cell.name}.{name}.parquet') as file:
            getattr(ran, name).to_parquet(file, index=False)
    with replacing(summary_file(folder, cell)) as file:
        file.write(json.dumps(ran.summary, indent=1).encode())


def ran_cell(plan: Plan, cell: Cell, traces: Path | None) -> Ran:
    """Arms of one seed, load and workload get the same conversations at the same instants."""
    longest = min(plan.context, plan.cache) - 2
    made = scripts(cell.workload, traces, seed=cell.seed, longest=longest, append=cell.mean_append)
    costs = costs_of(plan)
    most = nominal(made, costs, prefillers=plan.prefillers, decoders=plan.decoders, kv=plan.cache,
                   slots=plan.slots)
    rate = cell.load * most.capacity
    count = max(plan.conversations, round(rate * plan.span))
    workload = poisson(cell.workload, made, rate, count, seed=cell.seed)
    fleet = fleet_of(plan, cell, round(median(each.turns[0].prompt for each in made)))
    outcome = simulate(fleet, hardware_of(plan, cell, fleet), workload, seed=cell.seed,
                       sample=max(SAMPLE, count / rate / MOMENTS))
    keys = dataclasses.asdict(cell)
    slo = _slo(outcome.turns, costs, plan.slo)
    turns = outcome.turns.assign(**keys, slo=slo, late=~(outcome.turns['ttft'] <= slo))
    offered = {'rate': rate, 'binding': most.binding}
    return Ran(turns, outcome.occupancy.assign(**keys), {**keys, **offered, **_totals(outcome)})


def _slo(turns: pd.DataFrame, costs: Costs, scale: float) -> pd.Series:
    """How long (s) each turn's first token may take: so many times what reading takes what no cache could hold."""
    alone = [costs.prefill(new, prompt - new) for prompt, new in zip(turns['prompt'], turns['append'], strict=True)]
    return pd.Series(alone, index=turns.index).mul(scale).clip(lower=SHORTEST)


def _totals(outcome: Outcome) -> dict[str, Any]:
    turns = outcome.turns
    replicas: Any = outcome.replicas.to_dict(orient='records')
    return {
        'turns': len(turns), 'refused': int((turns['refused'] != '').sum()), 'duration': outcome.duration,
        'energy': outcome.energy,
        'tokens_per_joule': outcome.tokens_per_joule if math.isfinite(outcome.tokens_per_joule) else None,
        'replicas': replicas,
    }

