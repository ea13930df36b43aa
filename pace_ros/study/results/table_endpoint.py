"""The one confirmatory endpoint, and beside it PACE-full against each baseline."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import CACHE, FULL, LIBRARY, PURE, RAG, STATIC, title
from pace_ros.study.results.estimates import comparable, entries, ratio
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import StatisticsError, against_baselines, confirmatory

TITLE = 'The confirmatory endpoint, and PACE-full against every baseline'
NOTE = (
    'Confirmatory, the only one: PTFR P95 at c = 16, PACE-full against PACE-static, confirmed if the 95 % interval of '
    'the ratio lies below 1. All else here and in the other tables is exploratory. Median difference: PACE-full minus '
    'the baseline, request by request, s; no answer counts as infinite. p: Wilcoxon, by Holm across the baselines of '
    'one c. p (t): paired t of the requests answered under both, by Holm too. ')
BASELINES = (STATIC, PURE, RAG, CACHE, LIBRARY)


def endpoint(results: Results) -> Table:
    """The confirmatory row first, then the exploratory ones in the order of offered concurrency."""
    by_cell = results.cells('campaign')
    records = _confirmatory(results)
    for arm, c in by_cell:
        if arm != FULL:
            continue
        there = [other for other in BASELINES if (other, c) in by_cell
                 and comparable(by_cell[other, c], by_cell[FULL, c])]
        if there:
            records += _family(by_cell, there, c)
    if not records:
        return words.absent('endpoint', TITLE, 'This run has no campaign with PACE-full and a baseline.')
    return words.table('endpoint', TITLE, NOTE, records, _shown)


def _confirmatory(results: Results) -> list[dict[str, object]]:
    try:
        found = confirmatory(results.part('campaign'))
    except StatisticsError:
        return []
    tests = found.tests
    return [{
        'status': found.status, 'concurrency': 16.0, 'baseline': STATIC, 'pairs': tests.n, 'ptfr_p95': found.p95.a,
        'ptfr_p95_baseline': found.p95.b, **entries('ptfr_p95_ratio', found.p95.ratio),
        **entries('median_difference', tests.median_difference), 'p': found.p95.p,
        'verdict': 'confirmed' if found.confirmed else 'not confirmed: slower' if found.p95.ratio.low > 1
        else 'not confirmed',
    }]


def _family(by_cell: Mapping[tuple[str, float], pd.DataFrame], there: list[str], c: float) -> list[dict[str, object]]:
    rows = pd.concat([by_cell[arm, c] for arm in (FULL, *there)])
    records = []
    for test in against_baselines(rows, FULL, there, c).to_dict('records'):
        found = ratio(by_cell[FULL, c], by_cell[test['baseline'], c], 'ptfr_p95')
        records.append({
            'status': test['status'], 'concurrency': c, 'baseline': test['baseline'], 'pairs': test['n'],
            'ptfr_p95': found.a, 'ptfr_p95_baseline': found.b, **entries('ptfr_p95_ratio', found.ratio),
            **{f'median_difference{end}': test[f'median_difference{end}'] for end in ('', '_low', '_high')},
            'p': test['wilcoxon_holm'], 'p_t': test['t_holm'], 'verdict': '',
        })
    return records


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, 'p_t'])))
    return {
        'endpoint': frame['status'], 'c': words.offered(frame), 'PACE-full against': map(title, frame['baseline']),
        'pairs': frame['pairs'],
        'P95 (s)': [f'{words.timed(one)} / {words.timed(other)}' for one, other in
                    zip(frame['ptfr_p95'], frame['ptfr_p95_baseline'], strict=True)],
        'P95 ratio': words.spans(frame, 'ptfr_p95_ratio', words.fine),
        'median difference': words.spans(frame, 'median_difference', words.gap), 'p': map(words.p_value, frame['p']),
        'p (t)': map(words.p_value, frame['p_t']), 'verdict': frame['verdict'],
    }
