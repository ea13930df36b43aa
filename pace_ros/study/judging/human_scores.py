"""Scores that people gave to answers, beside those of a judge."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pace_ros.study.evaluation.columns import KEYS
from pace_ros.study.judging.blinding import answer_ids
from pace_ros.study.judging.error import JudgingError

SCORES = frozenset(range(1, 6))
ANSWER = 'answer_id'


class Pairs(NamedTuple):
    """The scores, 1 to 5, of a judge and of people for the same answers, shape (n,) each."""

    judge: NDArray[np.int64]
    human: NDArray[np.int64]


def read_human_scores(path: Path) -> pd.DataFrame:
    """A CSV with ``score``, and ``answer_id`` or the key columns of a row. Raises JudgingError naming the line."""
    try:
        scores = pd.read_csv(path, dtype={ANSWER: str})
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise JudgingError(f'{path} cannot be read: {error}.') from error
    if 'score' not in scores.columns:
        raise JudgingError(f"{path} has no column 'score'.")
    if not _keys(scores):
        raise JudgingError(f"{path} needs a column '{ANSWER}', or the columns {', '.join(KEYS)}.")
    for line, value in enumerate(scores['score'], start=2):
        if value not in SCORES:
            raise JudgingError(f'{path}, line {line}: a score is a whole number from 1 to 5, not {value}.')
    return scores.astype({'score': int})


def with_quality(rows: pd.DataFrame, human: pd.DataFrame) -> Pairs:
    """The pairs of the reference judge: its ``quality`` of the rows that people scored."""
    if _keys(human) == [ANSWER]:
        rows = rows.assign(**{ANSWER: answer_ids(rows)}).drop_duplicates(ANSWER)
    return _pairs(human, rows[[*_keys(human), 'quality']].dropna(), 'quality')


def with_verdicts(rows: pd.DataFrame, human: pd.DataFrame, scores: Mapping[str, int]) -> Pairs:
    """The pairs of a judge whose scores are known by ``answer_id``."""
    if _keys(human) == [ANSWER]:
        known = pd.DataFrame({ANSWER: list(scores), 'verdict': list(scores.values())})
    else:
        known = rows[list(KEYS)].assign(verdict=answer_ids(rows).map(dict(scores))).dropna()
    return _pairs(human, known, 'verdict')


def _pairs(human: pd.DataFrame, known: pd.DataFrame, judge: str) -> Pairs:
    both = human.merge(known, on=_keys(human), how='inner')
    return Pairs(both[judge].to_numpy(np.int64), both['score'].to_numpy(np.int64))


def _keys(scores: pd.DataFrame) -> list[str]:
    if ANSWER in scores.columns:
        return [ANSWER]
    return list(KEYS) if set(KEYS) <= set(scores.columns) else []
