"""From command to motion: how long a body, or a loudspeaker, takes to do what it was told, and what it never did."""
from __future__ import annotations

import pandas as pd

from pace_ros.study.quantiles import PERCENTS, quantiles

_NUMBER = r'-?\d+(\.\d+)?'
KEYS = ['turn_id', 'modality', 'content']
_ORDER = {'SPEECH': 0, 'GAZE': 1, 'GESTURE': 2, 'ACKNOWLEDGEMENT': 0, 'FILLER': 1, 'ANSWER': 2}


def motion_latencies(turns: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """One row a turn, modality and content that was commanded or observed, text excepted: nobody observes it.

    Columns: turn_id, modality, content; commanded, audible, observed (first onset, s since receipt, NaN: none); latency
    (observed - commanded, s); after_audible (observed - audible, s: the error of the predicted first sound); reason
    (what the observer said in vain); watched (whether anything of this modality was observed in the session at all).
    """
    part = onsets.loc[onsets['modality'] != 'TEXT'].astype({'modality': object, 'content': object})
    told = part.loc[(part['source'] == 'COMMANDED') & part['elapsed'].notna()]
    seen = part.loc[(part['source'] == 'OBSERVED') & part['elapsed'].notna()]
    vain = part.loc[(part['source'] == 'OBSERVED') & part['elapsed'].isna()]
    commands = told.sort_values('elapsed').groupby(KEYS)[['elapsed', 'audible']].first()
    firsts = pd.concat([
        commands.rename(columns={'elapsed': 'commanded'}),
        seen.groupby(KEYS)['elapsed'].min().rename('observed'),
        vain.groupby(KEYS)['detail'].first().rename('reason'),
    ], axis=1).reindex(columns=['commanded', 'audible', 'observed', 'reason'])
    firsts.index = firsts.index.set_names(KEYS)
    rows = firsts.reset_index().merge(turns[['turn_id', 'robot', 'file', 'group']], on='turn_id')
    rows['latency'] = rows['observed'] - rows['commanded']
    rows['after_audible'] = rows['observed'] - rows['audible']
    rows['reason'] = rows['reason'].fillna('')
    watch = rows.assign(any=rows['observed'].notna() | (rows['reason'] != ''))
    rows['watched'] = watch.groupby(['robot', 'file', 'modality'])['any'].transform('any').astype(bool)
    return rows


def motion_summary(motions: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """One row a modality, content and group of sessions that were observed.

    Columns: commanded (turns), observed (of these), never (commanded but never observed), reported (of these, said so
    by the observer), unasked (observed, yet not commanded), early (observed before the command), p50 p95 p99 with _low
    and _high, greatest (s, observed - commanded), and audible_p50, audible_p95 (s, observed - audible).
    """
    rows = []
    watched = motions.loc[motions['watched']]
    for (modality, content, group), part in watched.groupby(['modality', 'content', 'group'], sort=False):
        told, seen = part['commanded'].notna(), part['observed'].notna()
        found, heard = quantiles(part['latency'], seed=seed), quantiles(part['after_audible'], seed=seed)
        row = {
            'modality': modality, 'content': content, 'group': group, 'commanded': int(told.sum()),
            'observed': int((told & seen).sum()), 'never': int((told & ~seen).sum()),
            'reported': int((told & ~seen & (part['reason'] != '')).sum()), 'unasked': int((seen & ~told).sum()),
            'early': int((part['latency'] < 0).sum()),
        }
        for percent in PERCENTS:
            row[f'p{percent}'] = found.value[percent]
            row[f'p{percent}_low'], row[f'p{percent}_high'] = found.low[percent], found.high[percent]
        rows.append({**row, 'greatest': part['latency'].max(), 'audible_p50': heard.value[50],
                     'audible_p95': heard.value[95]})
    quantile_columns = [f'p{each}{end}' for each in PERCENTS for end in ('', '_low', '_high')]
    columns = ['modality', 'content', 'group', 'commanded', 'observed', 'never', 'reported', 'unasked', 'early',
               *quantile_columns, 'greatest', 'audible_p50', 'audible_p95']
    return _in_order(pd.DataFrame(rows, columns=columns))


def vain_reasons(motions: pd.DataFrame) -> pd.DataFrame:
    """What observers said of what they waited for in vain, without numbers: modality, content, group, reason, turns."""
    said = motions.loc[(motions['reason'] != '') & motions['observed'].isna()]
    said = said.assign(reason=said['reason'].str.removeprefix('not observed: ').str.replace(_NUMBER, '…', regex=True))
    counted = said.groupby(['modality', 'content', 'group', 'reason'], sort=False).size()
    return _in_order(counted.rename('turns').reset_index())


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(['modality', 'content'], key=lambda column: column.map(_ORDER), kind='stable',
                             ignore_index=True)
