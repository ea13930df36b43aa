"""Ratios in one run: how much faster an arm is than the others on the same requests."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import ALONE, CACHE, FULL, PLUS, PURE, RAG, SHIPPED, STATIC, title
from pace_ros.study.results.estimates import difference, entries, mean, ratio, tokens
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import proportion

RATIO_NOTE = (
    'PTFR of the arm over that of the other on the same requests, below 1 where it is faster; in brackets the 95 % '
    'interval of the paired bootstrap. All exploratory but the one endpoint above. ')
COST_NOTE = (
    'Quality: mean difference, arm minus the other. A turn costs: tokens in and out, wasted ones included; tokens of '
    'requests ended unheard (wasted); filler calls; share of turns hedged. ')
Cells = Mapping[tuple[str, float], pd.DataFrame]


def full_ratios(results: Results) -> Table:
    """PACE-full over pure LLM, standard RAG and the caches, at each offered concurrency."""
    by_cell = results.cells('campaign')
    heading = 'In one run: PACE-full over the others'
    records = [compared(by_cell, 'campaign', FULL, other, c) for arm, c in by_cell if arm == FULL
               for other in (PURE, RAG, CACHE, STATIC) if (other, c) in by_cell]
    if not records:
        return words.absent('ratios', heading, 'This run has no campaign with PACE-full and another arm.')
    return words.table('ratios', heading, RATIO_NOTE, records, _shown_ratios)


def plus_ratios(results: Results) -> Table:
    """PACE-plus over PACE-static, pure LLM and the shipped default at each c, a cold cache first, and its cost."""
    heading = 'In one run: PACE-plus over PACE-static and pure LLM'
    records = []
    for part in ('cold', 'campaign'):
        by_cell = results.cells(part)
        records += [compared(by_cell, part, PLUS, other, c) for arm, c in by_cell if arm == PLUS
                    for other in (STATIC, PURE, SHIPPED) if (other, c) in by_cell]
    if not records:
        return words.absent('plus', heading, 'This run has not PACE-plus beside PACE-static or pure LLM.')
    note = RATIO_NOTE + 'Goal: PTFR P95 below 1. ' + COST_NOTE
    return words.table('plus', heading, note, records, _shown_cost)


def alone_ratios(results: Results) -> Table:
    """Each ingredient of PACE-plus alone over what it is added to, and over PACE-static."""
    by_cell = results.cells('campaign')
    heading = 'What each ingredient of PACE-plus does alone'
    records = [compared(by_cell, 'campaign', arm, other, c) for arm, c in by_cell if arm in ALONE
               for other in ((STATIC,) if arm == 'plus-guards' else (SHIPPED, STATIC)) if (other, c) in by_cell]
    if not records:
        return words.absent('plus_alone', heading, 'This run has no ingredient of PACE-plus alone.')
    return words.table('plus_alone', heading, RATIO_NOTE + COST_NOTE, records, _shown_cost)


def compared(by_cell: Cells, part: str, arm: str, other: str, concurrency: float) -> dict[str, object]:
    """One arm against another in one cell."""
    own, their = by_cell[arm, concurrency], by_cell[other, concurrency]
    record: dict[str, object] = {'part': part, 'concurrency': concurrency, 'arm': arm, 'over': other}
    for measure in ('ptfr_p50', 'ptfr_p95'):
        found = ratio(own, their, measure)
        record |= {**entries(f'{measure}_ratio', found.ratio), measure: found.a, f'{measure}_over': found.b,
                   f'{measure}_p_value': found.p, 'pairs': found.ratio.n}
    record |= entries('pl_p95_ratio', ratio(own, their, 'pl_p95').ratio)
    record |= entries('quality_difference', difference(own, their, 'quality'))
    return record | {f'{name}{end}': value for end, rows in (('', own), ('_over', their))
                     for name, value in costs(rows).items()}


def costs(rows: pd.DataFrame) -> dict[str, float]:
    """What a turn costs on average: tokens, tokens wasted, filler calls, hedges."""
    return {
        'tokens': mean(tokens(rows)), 'wasted': mean(rows['tokens_wasted']),
        'fillers': mean(rows['filler_calls']),
        'hedged': proportion(int((rows['hedge'] != '').sum()), len(rows)).estimate,
    }


def _head(frame: pd.DataFrame) -> dict[str, Iterable[object]]:
    where = {'campaign': '', 'cold': ', cold cache'}
    return {
        'c': [f'{c:g}{where.get(part, part)}' for c, part in zip(frame['concurrency'], frame['part'], strict=True)],
        'arm': words.arms(frame), 'over': [title(each) for each in frame['over']], 'pairs': frame['pairs'],
    }


def _shown_ratios(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        **_head(frame), 'P50 ratio': words.spans(frame, 'ptfr_p50_ratio', words.fine),
        'P95 ratio': words.spans(frame, 'ptfr_p95_ratio', words.fine),
        'P95 (s)': [f'{words.timed(one)} / {words.timed(other)}' for one, other in
                    zip(frame['ptfr_p95'], frame['ptfr_p95_over'], strict=True)],
        'PL P95 ratio': words.spans(frame, 'pl_p95_ratio', words.fine),
        'quality': words.spans(frame, 'quality_difference', words.signed),
    }


def _shown_cost(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    shown = dict(_shown_ratios(frame))
    shown['goal'] = [_goal(low, value, high) for low, value, high in zip(
        frame['ptfr_p95_ratio_low'], frame['ptfr_p95_ratio'], frame['ptfr_p95_ratio_high'], strict=True)]
    for name, heading, form in (('tokens', 'tokens', words.counted), ('wasted', 'wasted', words.counted),
                                ('fillers', 'fillers', words.plain), ('hedged', 'hedged', words.share)):
        shown[heading] = [f'{form(one)} / {form(other)}' for one, other in
                          zip(frame[name], frame[f'{name}_over'], strict=True)]
    return shown


def _goal(low: float, value: float, high: float) -> str:
    if high < 1:
        return 'met'
    if low > 1:
        return 'missed'
    return 'open, in favour' if value < 1 else 'open'
