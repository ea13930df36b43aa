"""A language model's scores beside the reference judge's."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd
from sklearn.metrics import cohen_kappa_score

from pace_ros.study.judging.blinding import SEEN, answer_ids
from pace_ros.study.judging.calibration import SCALE
from pace_ros.study.results import words
from pace_ros.study.results.arms_order import in_order
from pace_ros.study.results.estimates import entries
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import proportion, seed_mean

TITLE = 'Quality by a language model as judge'
NOTE = (
    'Answers that `study judge` had scored, 1 to 5, blindly; the reference judge of the same ones beside it. Same, and '
    'within one: share of answers to which both give the same score, or ones at most 1 apart. Kappa: quadratically '
    "weighted. In brackets: 95 % interval, of the means by Student's t over seeds. ")


def judge(results: Results) -> Table:
    """One row a part and arm with scored answers."""
    if not results.scores:
        return words.absent('judge', TITLE, 'This run has no verdicts of a language model; `study judge` writes them.')
    rows = results.rows
    if not set(SEEN) <= {*rows}:
        return words.absent('judge', TITLE, 'This run has verdicts, but no column reference to find their answers by.')
    scored = rows.assign(score=answer_ids(rows).map(dict(results.scores))).dropna(subset=['score', 'quality'])
    records = [
        {'part': part, 'arm': arm, **agreement(own.loc[own['arm'] == arm])}
        for part, own in scored.groupby('part', sort=False) for arm in in_order(own['arm'])
    ]
    if not records:
        return words.absent('judge', TITLE, 'This run has verdicts, but of none of its measured answers.')
    return words.table('judge', TITLE, NOTE, records, _shown)


def agreement(rows: pd.DataFrame) -> dict[str, object]:
    """Of rows with ``score`` and ``quality``: their means, and how far they agree."""
    score, quality = (rows[name].astype(float).round().astype(int) for name in ('score', 'quality'))
    apart = (score - quality).abs()
    return {
        'answers': len(rows), **entries('score', seed_mean(rows, 'score')),
        **entries('quality', seed_mean(rows, 'quality')),
        **entries('same', proportion(int((apart == 0).sum()), len(rows))),
        **entries('within_one', proportion(int((apart <= 1).sum()), len(rows))),
        'kappa': _kappa(score, quality),
    }


def _kappa(one: pd.Series, other: pd.Series) -> float:
    """Cohen's, quadratically weighted; NaN where either gave a single score."""
    if one.nunique() < 2 or other.nunique() < 2:
        return math.nan
    return float(cohen_kappa_score(one, other, labels=SCALE, weights='quadratic'))


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'part': frame['part'], 'arm': words.arms(frame), 'answers': frame['answers'],
        'language model': words.spans(frame, 'score', words.plain),
        'reference judge': words.spans(frame, 'quality', words.plain),
        'same': words.spans(frame, 'same', words.share), 'within one': words.spans(frame, 'within_one', words.share),
        'kappa': map(words.plain, frame['kappa']),
    }
