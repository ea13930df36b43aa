"""How full the KV caches are, by the ledger."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.words import Table
from pace_ros.study.serving.arms import title
from pace_ros.study.serving.cell import RATES
from pace_ros.study.serving.rows import Results, chosen

_NOTE = ("Held and reserved tokens over a replica's capacity, mean over time and replicas of a role, and the fullest "
         'moment of any of them; conversations with a slot a replica. Sampled; by the ledger, which never overflows.')


def occupancy(results: Results) -> Table:
    """By workload, load, arm and role."""
    heading = 'KV occupancy'
    records = []
    for setting, arms in results.settings(RATES):
        for arm in arms:
            cell = {**setting, 'arm': arm}
            rows = chosen(results.occupancy, **cell)
            used = rows.assign(used=rows['held'] + rows['reserved'], role=rows['replica'].str.rpartition('-')[0])
            for role, own in used.groupby('role'):
                records.append({**cell, 'role': role, 'mean': own['used'].mean(), 'most': own['used'].max(),
                                'accounts': own['accounts'].mean(), 'waiting': own['waiting'].max()})
    if not records:
        return words.absent('serving_occupancy', heading, 'This run has no part rates.')
    return words.table('serving_occupancy', heading, _NOTE, records, _shown)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'workload': frame['workload'], 'c': [f'{each:g}' for each in frame['load']],
        'arm': [title(each) for each in frame['arm']], 'role': frame['role'],
        'mean': [words.share(each) for each in frame['mean']], 'fullest': [words.share(each) for each in frame['most']],
        'conversations': [words.counted(each) for each in frame['accounts']],
        'turns waiting, most': [f'{each:.0f}' for each in frame['waiting']],
    }
