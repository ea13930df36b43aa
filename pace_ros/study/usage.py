"""Which level answered, how turns ended, and what fillers were good for: counts and shares by group."""
from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pandas as pd

from pace_ros.turn import Outcome, Path


def path_shares(turns: pd.DataFrame) -> pd.DataFrame:
    """One row a group and path: turns, share of the group's turns, median ptfr (s). UNKNOWN: no level answered."""
    return _shares(turns, 'path', Path, 'ptfr_p50', lambda ptfr: ptfr.median())


def outcomes(turns: pd.DataFrame) -> pd.DataFrame:
    """One row a group and outcome: turns, share, and how many of them had begun an informative answer."""
    return _shares(turns, 'outcome', Outcome, 'answer_begun', lambda ptfr: int(ptfr.notna().sum()))


def _shares(
    turns: pd.DataFrame, column: str, kinds: type[IntEnum], measure: str, of_ptfr: Callable[[pd.Series], float]
) -> pd.DataFrame:
    """One row a group and kind, UNKNOWN last: turns, share of the group's turns, and a ``measure`` of their PTFR."""
    rows = []
    for group, part in turns.groupby('group', sort=False):
        for kind in (*(each.name for each in kinds if each), 'UNKNOWN'):
            own = part.loc[part[column] == kind]
            if len(own):
                rows.append({'group': group, column: kind, 'turns': len(own), 'share': len(own) / len(part),
                             measure: of_ptfr(own['ptfr'])})
    return pd.DataFrame(rows, columns=['group', column, 'turns', 'share', measure])


def filler_use(turns: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """One row a group: how often fillers were used.

    Columns: turns; launched, shown (turns); shown_share (of all turns); shown_l2_share (of the turns that L2 answered);
    before_answer (turns in which it came ahead of an answer) and gained_p50 (s, median of PTFR - t_f there); gaze,
    gesture (turns with such a filler commanded); conflicts (turns with filler and answer that disagree on a fact) and
    conflict_rate (of the turns with filler and answer).
    """
    told = onsets.loc[(onsets['source'] == 'COMMANDED') & (onsets['content'] == 'FILLER')]
    embodied = {name: set(told.loc[told['modality'] == name, 'turn_id']) for name in ('GAZE', 'GESTURE')}
    rows = []
    for group, part in turns.groupby('group', sort=False):
        shown = part['filler_shown'].fillna(False).astype(bool)
        both = shown & part['ptfr'].notna()
        l2 = part['path'] == 'L2'
        conflicts = int((both & (part['filler_conflict'] != '')).sum())
        rows.append({
            'group': group, 'turns': len(part), 'launched': int(part['filler_launched'].fillna(False).sum()),
            'shown': int(shown.sum()), 'shown_share': shown.mean(),
            'shown_l2_share': shown[l2].mean() if l2.any() else np.nan, 'before_answer': int(both.sum()),
            'gained_p50': (part['ptfr'] - part['filler_elapsed'])[both].median(),
            'gaze': int(part['turn_id'].isin(embodied['GAZE']).sum()),
            'gesture': int(part['turn_id'].isin(embodied['GESTURE']).sum()), 'conflicts': conflicts,
            'conflict_rate': conflicts / both.sum() if both.any() else np.nan,
        })
    return pd.DataFrame(rows, columns=[
        'group', 'turns', 'launched', 'shown', 'shown_share', 'shown_l2_share', 'before_answer', 'gained_p50', 'gaze',
        'gesture', 'conflicts', 'conflict_rate'])


def filler_decisions(turns: pd.DataFrame) -> pd.DataFrame:
    """Why fillers were launched or not: the decision without its numbers, and the turns and share of each group."""
    said = turns.assign(decision=turns['filler_decision'].str.replace(r'-?\d+(\.\d+)?', '…', regex=True))
    said = said.loc[said['decision'] != '']
    counted = said.groupby(['group', 'decision'], sort=False).size().rename('turns').reset_index()
    counted['share'] = counted['turns'] / counted['group'].map(said.groupby('group').size()).astype(float)
    return counted.sort_values('turns', ascending=False, kind='stable', ignore_index=True)
