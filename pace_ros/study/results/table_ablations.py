"""Table V, ablations: PACE-full with one switch turned, against PACE-full on the same requests."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import ABLATIONS, FULL, title
from pace_ros.study.results.estimates import comparable, difference, entries, ratio
from pace_ros.study.results.notes import GATE_NOTE
from pace_ros.study.results.published import NOT_AT_HAND
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import against_baselines

TITLE = 'Table V: ablations'
NOTE = (
    'PACE-full against itself with one switch turned, on the same requests; exploratory. Ratio: the ablation over '
    'PACE-full, above 1 where the switch makes it faster. Median difference: PACE-full minus the ablation, request by '
    'request, s. Quality: ablation minus PACE-full. In brackets: 95 % interval of the paired bootstrap. p: Wilcoxon, '
    'by Holm over the ablations of one c. ')


def ablations(results: Results) -> Table:
    """Rows in the order of offered concurrency and of ablations."""
    by_cell = results.cells('campaign')
    records: list[dict[str, object]] = []
    for concurrency in sorted({c for arm, c in by_cell if arm == FULL}):
        full = by_cell[FULL, concurrency]
        there = [arm for arm in ABLATIONS if (arm, concurrency) in by_cell
                 and comparable(by_cell[arm, concurrency], full)]
        if there:
            records += _at(results, by_cell, there, concurrency)
    if not records:
        return words.absent('table_v', TITLE, 'This run has no campaign with PACE-full and an ablation.')
    return words.table('table_v', TITLE, NOTE + GATE_NOTE + NOT_AT_HAND, records, _shown)


def _at(
    results: Results, by_cell: Mapping[tuple[str, float], pd.DataFrame], there: list[str], concurrency: float
) -> list[dict[str, object]]:
    full = by_cell[FULL, concurrency]
    rows = pd.concat([full, *(by_cell[arm, concurrency] for arm in there)])
    tests = against_baselines(rows, FULL, there, concurrency).set_index('baseline')
    records = []
    for arm in there:
        own, test = by_cell[arm, concurrency], tests.loc[arm]
        record: dict[str, object] = {'concurrency': concurrency, 'arm': arm, 'pairs': int(test['n'])}
        for measure in ('ptfr_p50', 'ptfr_p95', 'pl_p95'):
            record |= entries(f'{measure}_ratio', ratio(own, full, measure).ratio)
        record['published_ptfr_p95_ratio'] = results.published.value('V', arm, 'ptfr_p95_ratio', concurrency)
        record |= {f'median_difference{end}': float(test[f'median_difference{end}']) for end in ('', '_low', '_high')}
        record |= entries('quality_difference', difference(own, full, 'quality'))
        records.append(record | {
            'mean_difference': float(test['mean_difference']), 'p_wilcoxon': float(test['wilcoxon_p']),
            'p_holm': float(test['wilcoxon_holm']), 'p_t_holm': float(test['t_holm'])})
    return records


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'c': words.offered(frame), 'ablation': [title(each) for each in frame['arm']], 'pairs': frame['pairs'],
        'PTFR P50 ratio': words.spans(frame, 'ptfr_p50_ratio', words.plain),
        'PTFR P95 ratio': words.spans(frame, 'ptfr_p95_ratio', words.plain),
        'paper': map(words.plain, frame['published_ptfr_p95_ratio']),
        'PL P95 ratio': words.spans(frame, 'pl_p95_ratio', words.plain),
        'median difference': words.spans(frame, 'median_difference', words.gap),
        'quality': words.spans(frame, 'quality_difference', words.signed), 'p': map(words.p_value, frame['p_holm']),
    }
