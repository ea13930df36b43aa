"""Table VIII, transfer: other data sets with everything frozen."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.estimates import entries, ratio
from pace_ros.study.results.published import NOT_AT_HAND
from pace_ros.study.results.rows import Results
from pace_ros.study.results.table_comparison import cell
from pace_ros.study.results.words import Table

TITLE = 'Table VIII: transfer'
NOTE = (
    'Other data sets with everything frozen: thresholds, anchors, lexicons, prompts. Times in s from receipt with '
    '95 % bootstrap intervals. Over pure LLM: ratio of PTFR P95 on the same requests. Errors: wrong or stale, of the '
    'answers from L0 and L1. ')


def transfer(results: Results) -> Table:
    """Rows in the order of data sets, of offered concurrency and of arms."""
    if results.part('transfer').empty:
        return words.absent('table_viii', TITLE, 'This run has no transfer part.')
    records: list[dict[str, object]] = []
    for name in sorted(set(results.part('transfer')['dataset'])):
        rows = results.rows
        own = replace(results, rows=rows.loc[(rows['part'] == 'transfer') & (rows['dataset'] == name)])
        by_cell = own.cells('transfer')
        for (arm, c), part in by_cell.items():
            record = {'dataset': name, **cell(part, arm, c, results.published, 'VIII')}
            pure = by_cell.get(('pure-llm', c), part.iloc[:0])
            records.append(record | entries('over_pure', ratio(part, pure, 'ptfr_p95').ratio))
    return words.table('table_viii', TITLE, NOTE + NOT_AT_HAND, records, _shown)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    paper = zip(frame['published_ptfr_p50'], frame['published_ptfr_p95'], strict=True)
    return {
        'data set': frame['dataset'], 'c': words.offered(frame), 'arm': words.arms(frame), 'n': frame['requests'],
        'answered': map(words.share, frame['answered']), 'instant': map(words.share, frame['instant']),
        'PTFR P50': words.spans(frame, 'ptfr_p50'), 'PTFR P95': words.spans(frame, 'ptfr_p95'),
        'paper P50 / P95': [f'{words.timed(low)} / {words.timed(high)}' for low, high in paper],
        'over pure LLM': words.spans(frame, 'over_pure', words.plain), 'PL P95': map(words.timed, frame['pl_p95']),
        'quality': map(words.plain, frame['quality']), 'errors': map(words.share, frame['cache_error_rate']),
    }
