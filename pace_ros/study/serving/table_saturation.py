"""How far every arm keeps its promise as the rate of conversations grows."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.words import Table
from pace_ros.study.serving.arms import title
from pace_ros.study.serving.cell import RATES
from pace_ros.study.serving.rows import Results, chosen

FEW = 0.01  # of turns may be late where an arm is said to keep up
_NOTE = (
    f'Kept up to: the highest load of those run at which, as at every lower one, at most {FEW:.0%} of turns were late '
    'or refused; a dash: not even at the lowest one. The highest load is there to show what lies beyond. All '
    'simulated.')


def saturation(results: Results) -> Table:
    """By workload and arm."""
    heading = 'SLO violations up to saturation'
    records: list[dict[str, object]] = []
    found: dict[tuple[str, str], dict[float, dict[str, float]]] = {}
    for setting, arms in results.settings(RATES):
        for arm in arms:
            found.setdefault((setting['workload'], arm), {})[setting['load']] = _at(results, {**setting, 'arm': arm})
    for (workload, arm), by_load in found.items():
        records.append({'workload': workload, 'arm': arm, **_kept(by_load), **_last(by_load)})
    if not records:
        return words.absent('serving_saturation', heading, 'This run has no part rates.')
    return words.table('serving_saturation', heading, _NOTE, records, _shown)


def _at(results: Results, cell: Mapping[str, Any]) -> dict[str, float]:
    turns, runs = chosen(results.turns, **cell), chosen(results.runs, **cell)
    return {'rate': float(runs['rate'].mean()), 'late': float(turns['late'].mean()),
            'refused': float((turns['refused'] != '').mean())}


def _kept(by_load: Mapping[float, Mapping[str, float]]) -> dict[str, float]:
    load = rate = math.nan
    for each in sorted(by_load):
        if by_load[each]['late'] > FEW:
            break
        load, rate = each, by_load[each]['rate']
    return {'kept_load': load, 'kept_rate': rate}


def _last(by_load: Mapping[float, Mapping[str, float]]) -> dict[str, float]:
    load = max(by_load)
    return {'last_load': load, 'last_late': by_load[load]['late'], 'last_refused': by_load[load]['refused']}


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'workload': frame['workload'], 'arm': [title(each) for each in frame['arm']],
        'kept up to c': [words.DASH if math.isnan(each) else f'{each:g}' for each in frame['kept_load']],
        'conversations/s': [words.DASH if math.isnan(each) else words.fine(each) for each in frame['kept_rate']],
        'highest c': [f'{each:g}' for each in frame['last_load']],
        'late there': [words.share(each) for each in frame['last_late']],
        'refused there': [words.share(each) for each in frame['last_refused']],
    }
