"""Which hits were right: from the judge's column of a run, or from a file of labels."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np
import pandas as pd

from pace_ros.study.evaluation.columns import KEYS
from pace_ros.study.load_log import Session
from pace_ros.study.sessions import SourceError

LEVELS = {'L0': 'cache_score', 'L1': 'retrieval_score'}
_TRUE, _FALSE = ('true', '1', 'yes', '1.0'), ('false', '0', 'no', '0.0')


@dataclass(frozen=True)
class Labelled:
    """``candidates``, one row a judged candidate: level (L0, L1), score (cosine), correct, served (it was the answer).

    ``in_force`` is the highest threshold in force by level: nearer ones were all served, so the log is complete from
    there on. ``unplaced`` labels are of turns that no level answered, and name no level.
    """

    candidates: pd.DataFrame
    in_force: dict[str, float]
    unplaced: int = 0


def labelled(sessions: Sequence[Session], labels: FilePath | None = None) -> Labelled:
    """The candidates that were judged, of turns not of the warm-up.

    Without a file these are the answers of L0 and L1 whose turn has a value in ``correct``. A file of labels (CSV) has
    a turn's ``turn_id`` (of a run: its part, data set, arm, concurrency, seed and
    index) and ``correct``; with a column ``level``
    it also judges candidates that were not served: would the nearest cached question (L0), the nearest knowledge entry
    (L1) have been the right answer? Left out are repeats in the same words, which are hits at
    any threshold; stale answers, which no threshold mends; and candidates that a guard had refused, where the log says
    so. An answer that was wrong when it was cached counts as a false hit like any other. Raises SourceError for a file
    that says nothing.
    """
    turns = pd.concat([each.turns.loc[each.turns['counted']] for each in sessions], ignore_index=True)
    if labels is not None:
        turns = _joined(turns, _read(labels), labels)
    elif 'correct' not in turns:
        turns = turns.assign(correct=None)
    level = turns['path'].astype(str)
    if 'level' in turns:
        named = turns['level'].fillna('').astype(str)
        level = named.where(named != '', level)
    known = turns['correct'].notna()
    answered = turns['path'].astype(str)
    frames = [_candidates(turns.assign(served=answered == name), name, known & (level == name)) for name in LEVELS]
    return Labelled(pd.concat(frames, ignore_index=True), _in_force(sessions),
                    int((known & ~level.isin(list(LEVELS))).sum()) if labels is not None else 0)


def _candidates(turns: pd.DataFrame, level: str, chosen: pd.Series) -> pd.DataFrame:
    column = LEVELS[level]
    if column not in turns:
        return pd.DataFrame({'level': [], 'score': [], 'correct': [], 'served': []})
    left_out = [turns[name].fillna(False).astype(bool) for name in ('stale', 'exact_repeat') if name in turns]
    if 'refused' in turns:
        left_out.append(turns['refused'].fillna('').astype(str).str.contains(f'{level.lower()} ') & ~turns['served'])
    for each in left_out:
        chosen = chosen & ~each
    own = turns.loc[chosen & turns[column].notna()]
    return pd.DataFrame({'level': level, 'score': own[column].astype(float), 'correct': own['correct'].astype(bool),
                         'served': own['served'].astype(bool)})


def _in_force(sessions: Sequence[Session]) -> dict[str, float]:
    highest = {}
    for level, column in (('L0', 'theta_cache'), ('L1', 'theta_direct')):
        values = [each.turns[column].max() for each in sessions if column in each.turns]
        highest[level] = float(np.nanmax(values)) if np.isfinite(values).any() else float('nan')
    return highest


def _read(path: FilePath) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype={'turn_id': str, 'level': str, 'correct': str})
    except (OSError, ValueError) as error:
        raise SourceError(f'{path}: cannot be read as CSV') from error
    if 'correct' not in table:
        raise SourceError(f'{path}: there is no column correct')
    said = table['correct'].str.strip().str.lower()
    wrong = table.loc[said.notna() & ~said.isin(_TRUE + _FALSE), 'correct']
    if len(wrong):
        raise SourceError(f'{path}: correct must be true or false, not {wrong.iloc[0]!r}')
    if 'level' in table and not set(table['level'].dropna()) <= set(LEVELS):
        raise SourceError(f'{path}: level must be L0 or L1')
    return table.loc[said.notna()].assign(correct=said.isin(_TRUE))


def _joined(turns: pd.DataFrame, labels: pd.DataFrame, source: FilePath) -> pd.DataFrame:
    keys = ['turn_id'] if 'turn_id' in labels and 'turn_id' in turns else [
        each for each in KEYS if each in labels and each in turns]
    if 'turn_id' not in keys and 'index' not in keys:
        raise SourceError(f'{source}: nothing says which turn a label is of; it takes turn_id, or for a run '
                          f'{", ".join(KEYS)}')
    columns = [*keys, 'correct', *(each for each in ('level',) if each in labels)]
    judged = turns.drop(columns=[each for each in ('correct', 'level') if each in turns]).merge(
        labels[columns], on=keys, how='inner')
    if not len(judged):
        raise SourceError(f'{source}: none of its labels is of a turn of this log')
    return judged
