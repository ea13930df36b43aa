"""What wrong predictions cost per-turn prediction, and pinned serving beside it, which predicts nothing."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.words import Table
from pace_ros.study.serving.arms import title
from pace_ros.study.serving.cell import PREDICTION
from pace_ros.study.serving.estimates import percentiles, share_late
from pace_ros.study.serving.rows import Results, chosen

_NOTE = ('Share of turns whose answer length is predicted wrongly. TTFET: of conversations; later turns: of their '
         'first tokens. With 95 % bootstrap intervals. All simulated.')


def prediction(results: Results) -> Table:
    """By workload, load and error."""
    heading = 'Prediction errors'
    records = []
    for setting, arms in results.settings(PREDICTION):
        for arm in arms:
            cell = {**setting, 'arm': arm}
            for error in sorted(chosen(results.runs, **cell)['error'].unique()):
                own = {**cell, 'error': error}
                records.append({**own, **percentiles(chosen(results.conversations, **own), 'ttfet', 'ttfet'),
                                **percentiles(chosen(results.later, **own), 'ttft', 'later'),
                                **share_late(chosen(results.turns, **own))})
    if not records:
        return words.absent('serving_prediction', heading, 'This run has no part prediction.')
    return words.table('serving_prediction', heading, _NOTE, records, _shown)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'workload': frame['workload'], 'c': [f'{each:g}' for each in frame['load']],
        'arm': [title(each) for each in frame['arm']], 'error': [words.share(each) for each in frame['error']],
        **{f'TTFET P{percent} (s)': words.spans(frame, f'ttfet_p{percent}', words.plain) for percent in (50, 95)},
        **{f'later turns P{percent} (s)': words.spans(frame, f'later_p{percent}', words.fine) for percent in (50, 95)},
        'late': words.spans(frame, 'late', words.share),
    }
