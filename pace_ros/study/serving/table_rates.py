"""Every arm over the offered load, and pinned serving over each of the others."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.estimates import entries
from pace_ros.study.results.words import Table
from pace_ros.study.serving.arms import PINNED, title
from pace_ros.study.serving.cell import APPEND, POWER, RATES
from pace_ros.study.serving.estimates import efficiency, percentiles, ratio, share_late
from pace_ros.study.serving.rapl import MODELLED
from pace_ros.study.serving.rows import Results, chosen

_RATES_NOTE = (
    'c: conversations offered over the nominal capacity of pinned serving. TTFET: from the arrival of a conversation '
    'to its first token for the user, whichever turn gives it. Later turns: from the arrival of a turn but the first '
    'to its first token. Late: turns whose first token took longer than the SLO, or that were refused, with '
    "Wilson's interval. Gap: P95 of the longest time between two tokens of an answer. ∞: refused. Tokens/J: tokens of "
    'answers over the energy of all replicas, modelled. All simulated.')
_RATIOS_NOTE = (
    'P95 of pinned serving over that of the other arm on the same conversations and turns, below 1 where pinned is '
    'faster; in brackets the 95 % interval of the paired bootstrap. Conversations of one run share queues, so that '
    "intervals are narrower than independent runs would have them. Tokens/J: pinned serving's over the other's, "
    'modelled.')


def rates(results: Results) -> Table:
    """Latencies, late turns and energy by workload, load and arm."""
    heading = 'Over the rate of conversations'
    records = [_rate(results, {**setting, 'arm': arm}) for setting, arms in results.settings(RATES) for arm in arms]
    if not records:
        return words.absent('serving_rates', heading, 'This run has no part rates.')
    return words.table('serving_rates', heading, _RATES_NOTE, records, _shown_rates)


def ratios(results: Results) -> Table:
    """Pinned over the others at every load."""
    heading = 'Pinned serving over the others, on the same conversations'
    records = [compared(results, setting, other) for part in (RATES, POWER) for setting, arms in results.settings(part)
               for other in arms if PINNED in arms and other != PINNED]
    if not records:
        return words.absent('serving_ratios', heading, 'This run has not pinned serving beside another arm.')
    return words.table('serving_ratios', heading, _RATIOS_NOTE, records, _shown_ratios)


def appends(results: Results) -> Table:
    """Pinned over the others by the length of appends."""
    heading = 'As a function of append length'
    records = [compared(results, setting, other) for setting, arms in results.settings(APPEND) for other in arms
               if PINNED in arms and other != PINNED]
    if not records:
        return words.absent('serving_appends', heading, 'This run has no part append with pinned and another arm.')
    note = ('Synthetic two-phase conversations, mean first prompt of 8,000 tokens, later turns with so many new tokens '
            'on average, all at one share of the nominal capacity. ' + _RATIOS_NOTE)
    return words.table('serving_appends', heading, note, records, _shown_appends)


def compared(results: Results, setting: Mapping[str, Any], other: str) -> dict[str, object]:
    """Pinned against another arm in one setting."""
    own, their = ({name: chosen(rows, **setting, arm=arm) for name, rows in (
        ('ttfet', results.conversations), ('later', results.later), ('runs', results.runs))}
        for arm in (PINNED, other))
    record: dict[str, object] = {**setting, 'over': other}
    for name, rows, column in (('ttfet', 'ttfet', 'ttfet'), ('later', 'later', 'ttft')):
        found = ratio(own[rows], their[rows], column)
        record |= {**entries(f'{name}_ratio', found.ratio), f'{name}_p95': found.a, f'{name}_p95_over': found.b}
    ours, others = efficiency(own['runs']), efficiency(their['runs'])
    return record | {'tokens_per_joule': ours, 'tokens_per_joule_over': others, 'energy_ratio': ours / others,
                     'energy': MODELLED}


def _rate(results: Results, cell: Mapping[str, Any]) -> dict[str, object]:
    turns, runs = chosen(results.turns, **cell), chosen(results.runs, **cell)
    record: dict[str, object] = {**cell, 'rate': float(runs['rate'].mean()), 'binding': runs['binding'].iloc[0],
                                 'turns': len(turns),
                                 'refused': float((turns['refused'] != '').mean())}
    record |= percentiles(chosen(results.conversations, **cell), 'ttfet', 'ttfet')
    record |= percentiles(chosen(results.later, **cell), 'ttft', 'later')
    record |= share_late(turns)
    return record | {'gap_p95': float(turns['tbt_max'].quantile(0.95)), 'tokens_per_joule': efficiency(runs),
                     'energy': MODELLED}


def _shown_rates(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'workload': frame['workload'], 'c': [f'{each:g}' for each in frame['load']],
        'conversations/s': [words.fine(each) for each in frame['rate']], 'arm': [title(each) for each in frame['arm']],
        **{f'TTFET P{percent} (s)': words.spans(frame, f'ttfet_p{percent}', words.plain) for percent in (50, 95, 99)},
        **{f'later turns P{percent} (s)': words.spans(frame, f'later_p{percent}', words.plain) for percent in (50, 95)},
        'late': words.spans(frame, 'late', words.share),
        'refused': [words.share(each) for each in frame['refused']],
        'gap P95 (s)': [words.fine(each) for each in frame['gap_p95']],
        'tokens/J (modelled)': [words.fine(each) for each in frame['tokens_per_joule']],
    }


def _shown_ratios(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {'workload': frame['workload'], 'fleet': frame['fleet'], 'c': [f'{each:g}' for each in frame['load']],
            **_shown_pair(frame)}


def _shown_appends(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {'append (tokens)': [f'{each:,}' for each in frame['mean_append']], **_shown_pair(frame)}


def _shown_pair(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    def pair(name: str) -> list[str]:
        return [f'{words.plain(one)} / {words.plain(other)}' for one, other in
                zip(frame[f'{name}_p95'], frame[f'{name}_p95_over'], strict=True)]

    return {
        'over': [title(each) for each in frame['over']],
        'TTFET P95 ratio': words.spans(frame, 'ttfet_ratio', words.fine),
        'TTFET P95 (s)': pair('ttfet'), 'later turns P95 ratio': words.spans(frame, 'later_ratio', words.fine),
        'later turns P95 (s)': pair('later'),
        'tokens/J (modelled)': [f'{value - 1:+.1%}'.replace('-', '−') if value == value else words.DASH  # noqa: PLR0124  NaN
                     for value in frame['energy_ratio']],
    }
