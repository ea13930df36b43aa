"""What a replay says of the gate: how much of the load was steady, and how long a change kept it open."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pace_ros.study.router_replay import MODES, Replay


def summary(played: Replay) -> dict[str, object]:
    """One row a session, warm-up turns not counted in shares and means.

    windows_to_closure: windows until the gate was first STATIC (NaN: never). changes: see ``changes``; exposure_single
    is the longest exposure after a single change, at most ``bound`` = H + 1, exposure_longest that after any.
    recorded_load: the median of |recorded - replayed load index|, NaN where none was recorded.
    """
    turns, windows = played.turns.loc[played.turns['counted']], played.windows
    static = windows['gate'] == 'STATIC'
    found = changes(windows)
    closed = found.loc[found['exposure'].notna()]
    return {
        'session': played.session.name, 'turns': len(turns), 'windows': len(windows),
        'static': _share(turns['gate'] == 'STATIC'), 'adaptive': _share(turns['gate'] == 'ADAPTIVE'),
        'windows_to_closure': float(windows.loc[static, 'window'].min()),
        'openings': int((static.shift(fill_value=False) & ~static).sum()), 'changes': len(found),
        'exposure_single': float(closed.loc[closed['single'], 'exposure'].max()),
        'bound': played.quiet_windows + 1, 'exposure_longest': float(closed['exposure'].max()),
        'load_low': float(turns['load'].min()), 'load_median': float(turns['load'].median()),
        'load_high': float(turns['load'].max()),
        **{f'{theta}_{mode}': float(turns[f'{theta}_{mode}'].mean())
           for theta in ('theta_cache', 'theta_direct') for mode in MODES},
        'recorded_load': _recorded(played),
    }


def changes(windows: pd.DataFrame) -> pd.DataFrame:
    """One row a change of load: the triggers from the first one until the gate is closed again.

    Columns: first, last (windows that fired), single (the last one at most a window after the first, as when one step
    falls into the middle of a window), exposure (windows from the first that fired until the gate closed, through
    which turns were ADAPTIVE; NaN: it did not close).
    """
    rows: list[dict[str, object]] = []
    first = last = 0
    for window, fired, gate in zip(windows['window'], windows['fired'], windows['gate'], strict=True):
        if fired:
            first, last = first or window, window
        if first and gate == 'STATIC':
            rows.append({'first': first, 'last': last, 'single': last - first <= 1, 'exposure': float(window - first)})
            first = 0
    if first:
        rows.append({'first': first, 'last': last, 'single': last - first <= 1, 'exposure': math.nan})
    table = pd.DataFrame(rows, columns=['first', 'last', 'single', 'exposure'])
    return table.astype({'single': bool, 'exposure': float})


def _share(column: pd.Series) -> float:
    return float(column.mean()) if len(column) else math.nan


def _recorded(played: Replay) -> float:
    turns = played.session.turns
    if 'load_index' not in turns:
        return math.nan
    gaps = np.abs(turns['load_index'].to_numpy(float) - played.turns['load'].to_numpy(float))
    known = gaps[np.isfinite(gaps)]
    return float(np.median(known)) if known.size else math.nan
