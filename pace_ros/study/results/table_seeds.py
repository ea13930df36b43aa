"""Means over seeds with Student's t intervals: what a further seed would likely show."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.estimates import entries
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import seed_mean

TITLE = 'Means over seeds'
NOTE = (
    "Each seed gives one value; in brackets the 95 % interval of their mean by Student's t, none where a seed's value "
    'is infinite. PTFR mean: of answered requests, s. ')


def seeds(results: Results) -> Table:
    """One row an arm and offered concurrency of the campaign."""
    records = []
    for (arm, c), part in results.cells('campaign').items():
        record: dict[str, object] = {'concurrency': c, 'arm': arm, 'seeds': part['seed'].nunique()}
        record |= entries('ptfr_mean', seed_mean(part, 'ptfr')) | entries('quality', seed_mean(part, 'quality'))
        for percent in (50, 95):
            record |= entries(f'ptfr_p{percent}', seed_mean(part, 'ptfr', percent))
        records.append(record)
    if not records:
        return words.absent('seeds', TITLE, 'This run has no campaign.')
    return words.table('seeds', TITLE, NOTE, records, _shown)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'c': words.offered(frame), 'arm': words.arms(frame), 'seeds': frame['seeds'],
        'PTFR mean': words.spans(frame, 'ptfr_mean'), 'PTFR P50': words.spans(frame, 'ptfr_p50'),
        'PTFR P95': words.spans(frame, 'ptfr_p95'), 'quality': words.spans(frame, 'quality', words.plain),
    }
