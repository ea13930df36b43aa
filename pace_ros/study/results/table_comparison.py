"""Table IV, the main comparison: every arm at every offered concurrency."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from pace_ros.study.judging.rates import rates
from pace_ros.study.results import words
from pace_ros.study.results.estimates import entries, mean, tokens
from pace_ros.study.results.notes import GATE_NOTE
from pace_ros.study.results.published import NOT_AT_HAND, Published
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import percentile
from pace_ros.study.statistics.percentile_interval import percentile_intervals

MEASURES = {'ptfr': ('ptfr', 'sent_first'), 'pl': ('perceived_latency', 'sent_perceived')}
"""Measures by name, with the columns that hold them from receipt and from the intended send time."""
TITLE = 'Table IV: main comparison'
NOTE = (
    'Times in s from receipt, in brackets with their 95 % bootstrap interval. Sent: P50 / P95 from the intended send '
    'time, schedule lag included. A request without an answer counts as infinite (∞). ')
PTFR_NOTE = NOTE + 'Instant: answered by L0 or L1. Lag: P95 of sent − intended. ' + GATE_NOTE + NOT_AT_HAND
PL_NOTE = NOTE + (
    'Quality: 1 to 5, by the reference judge. Errors: wrong or stale, of the answers from L0 and L1. Tokens: in and '
    'out, a turn, wasted ones (of requests ended unheard) included; wasted: these alone. ' + GATE_NOTE + NOT_AT_HAND)


def comparison(results: Results) -> list[Table]:
    """Table IV in two halves, PTFR and PL, in the order of offered concurrency and of arms."""
    by_cell = results.cells('campaign')
    if not by_cell:
        return [words.absent('table_iv', TITLE, 'This run has no campaign.')]
    records = [cell(part, arm, concurrency, results.published) for (arm, concurrency), part in by_cell.items()]
    first = words.table('table_iv', f'{TITLE}, PTFR', PTFR_NOTE, records, shown_ptfr)
    other = words.table('table_iv_pl', f'{TITLE}, PL, quality and cost', PL_NOTE, records, shown_pl)
    return [first, replace(other, is_part=True)]


def cell(
    part: pd.DataFrame, arm: str, concurrency: float, published: Published, number: str = 'IV'
) -> dict[str, object]:
    """What is known of one arm at one offered concurrency."""
    record: dict[str, object] = {
        'concurrency': concurrency, 'arm': arm, 'requests': len(part), 'answered': mean(part['answered']),
        'instant': mean(part['instant']),
    }
    for name, (column, sent) in MEASURES.items():
        for percent, interval in zip((50, 95), percentile_intervals(part, column, (50, 95)), strict=True):
            record |= entries(f'{name}_p{percent}', interval)
            record[f'sent_{name}_p{percent}'] = percentile(part[sent], percent)
            record[f'published_{name}_p{percent}'] = published.value(number, arm, f'{name}_p{percent}', concurrency)
    return record | {
        'lag_p95': percentile(part['lag'].dropna(), 95), 'quality': mean(part['quality']),
        'published_quality': published.value(number, arm, 'quality', concurrency),
        'cache_error_rate': rates(part).cache_errors.share,
        'tokens': mean(tokens(part)), 'wasted': mean(part['tokens_wasted']),
    }


def _head(frame: pd.DataFrame) -> dict[str, Iterable[object]]:
    return {'c': words.offered(frame), 'arm': words.arms(frame), 'n': frame['requests']}


def shown_ptfr(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    """The half on PTFR in words."""
    return {
        **_head(frame), 'answered': map(words.share, frame['answered']), 'instant': map(words.share, frame['instant']),
        **_latencies(frame, 'ptfr', 'PTFR'), 'lag': map(words.timed, frame['lag_p95']),
    }


def shown_pl(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    """The half on PL, quality and cost in words."""
    return {
        **_head(frame), **_latencies(frame, 'pl', 'PL'), 'quality': map(words.plain, frame['quality']),
        'paper quality': map(words.plain, frame['published_quality']),
        'errors': map(words.share, frame['cache_error_rate']), 'tokens': map(words.counted, frame['tokens']),
        'wasted': map(words.counted, frame['wasted']),
    }


def _latencies(frame: pd.DataFrame, name: str, heading: str) -> dict[str, Iterable[object]]:
    def both(kind: str) -> list[str]:
        columns = (frame[f'{kind}_{name}_p50'], frame[f'{kind}_{name}_p95'])
        return [f'{words.timed(low)} / {words.timed(high)}' for low, high in zip(*columns, strict=True)]

    return {
        f'{heading} P50': words.spans(frame, f'{name}_p50'), f'{heading} P95': words.spans(frame, f'{name}_p95'),
        'sent P50 / P95': both('sent'), 'paper P50 / P95': both('published'),
    }
