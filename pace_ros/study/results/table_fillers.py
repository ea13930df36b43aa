"""Table VI, fillers: what they cost, what the adaptive policy saves, what they gain, and whether they mislead."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.judging.rates import rates
from pace_ros.study.results import words
from pace_ros.study.results.arms_order import FIXED, STATIC
from pace_ros.study.results.estimates import entries, mean, middle
from pace_ros.study.results.published import NOT_AT_HAND
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import Interval, proportion

TITLE = 'Table VI: fillers'
NOTE = (
    'Launched: the policy wanted a filler, before the path was known. Call: a generation begun, 6 ms after the launch, '
    'so that an instant turn calls the model in no arm. Per request: calls over requests; 1 minus it is what is spared '
    'against a generator started on every request. Saved: launches, and calls, that the arm spares against the arm '
    'with the fixed policy (A2 filler fixed; calls against PACE-static too) at the same c. Conflicts: turns whose '
    'filler and answer disagree on a fact, of those with both; in brackets its 95 % interval. Gain: median of '
    'PTFR − t_f (s) where a filler came ahead of an answer. PL gain: mean of PTFR − PL (s) over all turns with an '
    'answer. ')


def fillers(results: Results) -> Table:
    """One row an offered concurrency and arm, of the arms that called the filler model at all."""
    by_cell = results.cells('campaign')
    if not by_cell:
        return words.absent('table_vi', TITLE, 'This run has no campaign.')
    calls = {key: float(part['filler_calls'].sum()) for key, part in by_cell.items()}
    launches = {key: float(part['filler_launched'].sum()) for key, part in by_cell.items()}
    using = {arm for (arm, _), number in calls.items() if number}
    records = []
    for (arm, c), part in by_cell.items():
        if arm in using:
            records.append({'concurrency': c, 'arm': arm, **filler_use(part),
                            'saved': saved(calls, arm, c, FIXED), 'saved_launches': saved(launches, arm, c, FIXED),
                            'saved_static': saved(calls, arm, c, STATIC),
                            'published_saved': results.published.value('VI', arm, 'calls_saved', c),
                            'published_conflict_rate': results.published.value('VI', arm, 'conflict_rate', c)})
    if not records:
        return words.absent('table_vi', TITLE, 'This run has no arm that called the filler model.')
    return words.table('table_vi', TITLE, NOTE + NOT_AT_HAND, records, _shown)


def saved(calls: Mapping[tuple[str, float], float], arm: str, c: float, fixed: str) -> float:
    """1 − calls (or launches) / those of the ``fixed`` arm; NaN without that arm, or of itself."""
    spent = calls.get((fixed, c), 0.0)
    return 1 - calls[arm, c] / spent if spent and arm != fixed else math.nan


def filler_use(part: pd.DataFrame) -> dict[str, object]:
    """Counts and rates of one cell."""
    ahead = part['filler_shown'] & part['answered'] & (part['filler_elapsed'] < part['ptfr'])
    gain = (part['ptfr'] - part['filler_elapsed'])[ahead]
    return {
        'requests': len(part), 'l2': int((part['path'] == 'L2').sum()), 'calls': int(part['filler_calls'].sum()),
        'launched': int(part['filler_launched'].sum()), 'launched_share': mean(part['filler_launched']),
        'per_request': mean(part['filler_calls']), 'saved_always': 1 - mean(part['filler_calls']),
        'shown': int(part['filler_shown'].sum()),
        **entries('conflict_rate', filler_conflicts(part)), 'gain_p50': middle(gain),
        'pl_gain': mean(part['ptfr'] - part['perceived_latency']),
    }


def filler_conflicts(part: pd.DataFrame) -> Interval:
    """Conflict rate: share of turns with filler and answer in which the two disagree on a fact."""
    found = rates(part).conflicts
    return proportion(found.hits, found.count)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'c': words.offered(frame), 'arm': words.arms(frame), 'n': frame['requests'], 'L2': frame['l2'],
        'launched': map(words.share, frame['launched_share']), 'calls': frame['calls'],
        'per request': map(words.share, frame['per_request']), 'shown': frame['shown'],
        'saved launches': map(words.share, frame['saved_launches']), 'saved calls': map(words.share, frame['saved']),
        'paper saved': map(words.share, frame['published_saved']),
        'calls saved against PACE-static': map(words.share, frame['saved_static']),
        'conflicts': words.spans(frame, 'conflict_rate', words.share),
        'paper conflicts': map(words.share, frame['published_conflict_rate']),
        'gain P50': map(words.timed, frame['gain_p50']), 'PL gain': map(words.timed, frame['pl_gain']),
    }
