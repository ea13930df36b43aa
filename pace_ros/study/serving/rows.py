"""What a study of serving left on disk, by turn and by conversation."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pace_ros.study.refusal import Refusal
from pace_ros.study.results.published import Published
from pace_ros.study.serving.arms import in_order
from pace_ros.study.serving.campaign import OCCUPANCY, PLAN, RUNS, TURNS
from pace_ros.study.serving.served import WORKLOADS

SETTING = ['part', 'workload', 'fleet', 'load', 'mean_append', 'error']
"""What cells that are compared agree in, the error but for the arm that predicts."""
CELL = [*SETTING, 'arm']


class ServingResultsError(Refusal):
    """A folder without a study of serving."""


@dataclass(frozen=True)
class Results:
    """``turns``: every simulated turn; ``occupancy``: samples of every cache; ``runs``: a row a cell; ``plan``: what
    was asked for, and on what machine.
    """

    turns: pd.DataFrame
    occupancy: pd.DataFrame
    runs: pd.DataFrame
    plan: dict[str, Any]
    published: Published

    @cached_property
    def conversations(self) -> pd.DataFrame:
        """A row a conversation: ``ttfet`` from its arrival to its first token for the user, whichever turn gave it, NaN
        where a refusal came before. Those that have nothing for the user are left out.
        """
        keys = [*CELL, 'seed', 'index']
        seen = self.turns.assign(seen=self.turns['arrival'] + self.turns['ttfet'], out=self.turns['refused'] != '')
        groups = seen.groupby(keys, sort=False, observed=True)
        whole = groups.agg(arrival=('arrival', 'min'), seen=('seen', 'min'), out=('out', 'any'), turns=('turn', 'size'))
        whole['ttfet'] = whole['seen'] - whole['arrival']
        return whole.loc[whole['ttfet'].notna() | whole['out']].reset_index()

    @cached_property
    def later(self) -> pd.DataFrame:
        """All turns but the first ones; ``index`` numbers them within a cell."""
        rows = self.turns.loc[self.turns['turn'] > 1]
        return rows.assign(index=rows['index'] * 10_000 + rows['turn'])

    def settings(self, part: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Each setting of a part but for the error, by workload and load, with the arms that ran there."""
        rows = self.runs.loc[self.runs['part'] == part]
        keys = [each for each in SETTING if each != 'error']
        found = [(dict(zip(keys, names, strict=True)), in_order(own['arm']))
                 for names, own in rows.groupby(keys, sort=True)]
        yield from sorted(found, key=lambda each: WORKLOADS.index(each[0]['workload']))


def read(folder: Path, published: Published) -> Results:
    """A folder of ``study serving run``. Raises ServingResultsError."""
    try:
        tables = {name: pd.read_parquet(folder / f'{name}.parquet') for name in (TURNS, OCCUPANCY, RUNS)}
        plan = json.loads((folder / PLAN).read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ServingResultsError(f'{folder} has no finished study of serving: {error}') from error
    turns = tables[TURNS]
    turns = turns.assign(index=turns['conversation'].str.rpartition('#')[2].astype(int))
    named = dict.fromkeys(('part', 'workload', 'fleet', 'arm'), 'category')  # compared often, in millions of rows
    return Results(turns.astype(named), tables[OCCUPANCY].astype(named), tables[RUNS], plan, published)


def chosen(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    """The rows that have these values."""
    for name, value in values.items():
        rows = rows.loc[rows[name] == value]
    return rows
