"""The gate in steady load: whether PACE-gated holds up to PACE-static, and how often it leaves the fixed point."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import GATED, STATIC
from pace_ros.study.results.estimates import comparable, entries, mean
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import not_inferior, proportion

TITLE = 'The gate in steady load: PACE-gated against PACE-static'
NOTE = (
    'On the same requests, at a steady offered c. Not inferior: the upper 95 % bound of the PTFR P95 ratio lies below '
    'the margin, and the lower bound of the quality difference above its margin; "not shown" does not mean inferior. '
    'Exposure: share of requests decided by the adaptive law; the others by the static operating point. ')


def gate(results: Results) -> Table:
    """One row an offered concurrency; of the part steady where there is one, else of the campaign."""
    part = 'steady' if not results.part('steady').empty else 'campaign'
    by_cell = results.cells(part)
    records = [_at(by_cell, c) for arm, c in by_cell if arm == GATED and (STATIC, c) in by_cell
               and comparable(by_cell[GATED, c], by_cell[STATIC, c])]
    if not records:
        return words.absent('gate', TITLE, 'This run has not both PACE-gated and PACE-static in steady load.')
    return words.table('gate', TITLE, NOTE, records, _shown)


def _at(by_cell: Mapping[tuple[str, float], pd.DataFrame], concurrency: float) -> dict[str, object]:
    own, static = by_cell[GATED, concurrency], by_cell[STATIC, concurrency]
    record: dict[str, object] = {'concurrency': concurrency, 'requests': len(own)}
    exposed = own.loc[own['gate'] != '', 'gate'] == 'adaptive'
    record |= entries('exposure', proportion(int(exposed.sum()), len(exposed)))
    if not (own['quality'].notna().any() and static['quality'].notna().any()):
        return record | {'verdict': 'not judged'}
    found = not_inferior(pd.concat([own, static]), concurrency)
    return record | entries('ptfr_p95_ratio', found.ratio) | entries('quality_difference', found.quality) | {
        'margin': 1 + found.margin, 'quality_margin': -found.quality_margin, 'load_index': mean(own['load_index']),
        'verdict': 'not inferior' if found.holds else 'not shown',
    }


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *_COMPARED])))
    return {
        'c': words.offered(frame), 'n': frame['requests'], 'mean λ': map(words.plain, frame['load_index']),
        'exposure': words.spans(frame, 'exposure', words.share),
        'PTFR P95 ratio': words.spans(frame, 'ptfr_p95_ratio', words.plain),
        'margin': map(words.plain, frame['margin']),
        'quality difference': words.spans(frame, 'quality_difference', words.signed),
        'quality margin': map(words.signed, frame['quality_margin']), 'PACE-gated is': frame['verdict'],
    }


_COMPARED = [f'{name}{end}' for name in ('ptfr_p95_ratio', 'quality_difference') for end in ('', '_low', '_high')] + [
    'margin', 'quality_margin', 'load_index']
