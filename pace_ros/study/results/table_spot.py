"""The real-time spot check: does virtual time say what a real run with real HTTP says?"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.estimates import NOTHING, entries
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.spot import paired_ratio
from pace_ros.study.statistics import percentile, waits

TITLE = 'Spot check in real time'
NOTE = (
    'PTFR in s from receipt, in real time and, of the same requests where they are in both, in virtual time. Ratio: '
    'real over virtual, of the same requests, with the 95 % interval of the paired bootstrap. Agrees: the interval '
    'contains 1. ')


def spot(results: Results) -> Table:
    """One row an arm, offered concurrency and percentile that is in both parts."""
    virtual = results.cells('campaign')
    records = []
    for (arm, c), real in results.cells('spot').items():
        if (arm, c) in virtual:
            beside, same = matched(virtual[arm, c], real)
            records += [_at(real, beside, percent, same) | {'concurrency': c, 'arm': arm, 'same': same}
                        for percent in (50, 95)]
    if not records:
        return words.absent('spot', TITLE, 'This run has no spot check beside a campaign.')
    return words.table('spot', TITLE, NOTE, records, _shown)


def matched(virtual: pd.DataFrame, real: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """The campaign's rows of the very requests that were asked in real time, and True; all its rows if none are."""
    keys = ['dataset', 'seed', 'index', 'question_id']
    same = virtual.merge(real[keys], on=keys)
    return (same, True) if len(same) else (virtual, False)


def _at(real: pd.DataFrame, virtual: pd.DataFrame, percent: int, same: bool) -> dict[str, object]:
    ratio = paired_ratio(real, virtual, 'ptfr', percent).ratio if same else NOTHING
    return {'percent': percent, 'requests': len(real), 'requests_virtual': len(virtual),
            'real': percentile(waits(real['ptfr']), percent), 'virtual': percentile(waits(virtual['ptfr']), percent),
            **entries('ratio', ratio), 'agrees': not ratio.excludes(1.0) if same else None}


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'c': words.offered(frame), 'arm': words.arms(frame), 'PTFR': [f'P{each}' for each in frame['percent']],
        'n real': frame['requests'], 'n virtual': frame['requests_virtual'],
        'same requests': ['yes' if each else 'no' for each in frame['same']], 'real': map(words.timed, frame['real']),
        'virtual': map(words.timed, frame['virtual']), 'ratio': words.spans(frame, 'ratio', words.fine),
        'agrees': [{True: 'yes', False: 'no'}.get(each, words.DASH) for each in frame['agrees']],
    }
