"""Figure 5, the ramp, and figure 7, the gate and the load it sees."""
from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pace_ros.study.report_figures import Drawing
from pace_ros.study.results.arms_order import GATED
from pace_ros.study.results.drawn import arm_legend, colour, line_handle, log_height, phases, shown_arms, stroke
from pace_ros.study.results.rows import Results
from pace_ros.study.statistics import percentile

WINDOW = 50  # requests
_STEP = 5
_CACHE, _DIRECT, _LOAD = '#0072B2', '#D55E00', '#009E73'


def draw(results: Results) -> list[Drawing]:
    """Both figures; figure 7 of the ramp where PACE-gated ran it, else of the campaign at its highest c."""
    ramp = results.part('ramp')
    drawings = []
    if not ramp.empty:
        drawings.append(Drawing(
            'figure_5', f'Figure 5. The ramp over the number of the request: rolling P50 and P95 of PTFR ({WINDOW} '
            'requests of each seed, all seeds together; a gap where too few were answered), the cache threshold, and '
            'the load index λ. Bands: phases.', _ramp(ramp)))
    gated = ramp.loc[ramp['arm'] == GATED]
    if gated.empty:
        gated = results.part('campaign')
        gated = gated.loc[(gated['arm'] == GATED) & (gated['concurrency'] == gated['concurrency'].max())]
    if not gated.empty:
        first = gated.loc[gated['seed'] == gated['seed'].min()].sort_values('index')
        drawings.append(Drawing(
            'figure_7', 'Figure 7. The gate and the load of PACE-gated, one seed: arrival rate in windows of '
            f'{WINDOW} requests, load index λ, and both thresholds. Shaded: the static law decides (gate closed); '
            'dashed: its operating point; dotted: between phases.', _gate(first)))
    return drawings


def rolling(rows: pd.DataFrame, column: str, percent: float, *, window: int = WINDOW) -> pd.DataFrame:
    """The percentile of a column over the requests numbered within ``window`` around each fifth number.

    Infinite values count and show as NaN.
    """
    ordered = rows.sort_values('index', kind='stable')
    numbers, values = ordered['index'].to_numpy(), ordered[column].to_numpy(dtype=float)
    centres = np.arange(numbers[0], numbers[-1] + 1, _STEP)
    lows, highs = np.searchsorted(numbers, centres - window / 2), np.searchsorted(numbers, centres + window / 2)
    found = [percentile(values[low:high], percent) for low, high in zip(lows, highs, strict=True)]
    return pd.DataFrame({'index': centres, 'value': np.where(np.isfinite(found), found, np.nan)})


def _ramp(rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 9))
    axes = figure.subplots(4, 1, sharex=True, height_ratios=[1.3, 1.3, 1, 1])
    arms = shown_arms(rows)
    for arm in arms:
        own = rows.loc[rows['arm'] == arm]
        for axis, percent in zip(axes, (50, 95), strict=False):
            line = rolling(own, 'first', percent)
            axis.plot(line['index'], line['value'], color=colour(arm), linestyle=stroke(arm), linewidth=1.6)
        means = own.groupby('index')[['theta_cache', 'load_index']].mean()
        for axis, column in zip(axes[2:], ('theta_cache', 'load_index'), strict=True):
            if means[column].notna().any():
                axis.plot(means.index, means[column], color=colour(arm), linestyle=stroke(arm), linewidth=1.3)
    for place, (axis, label) in enumerate(zip(axes, ('PTFR P50 (s)', 'PTFR P95 (s)', 'θ_cache (cosine)',
                                                     'load index λ'), strict=True)):
        axis.set_ylabel(label)
        phases(axis, rows, labelled=place == 0)
        if place < 2:
            log_height(axis)
    axes[3].set_ylim(-0.03, 1.03)
    axes[3].set_xlabel('number of the request')
    arm_legend(figure, arms, markers=False)
    figure.align_ylabels()
    return figure


def _gate(rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 6.6))
    top, load, law = figure.subplots(3, 1, sharex=True, height_ratios=[1, 1, 1.4])
    edges, rates = windows(rows)
    top.stairs(rates, edges, color='#7a7a7a', linewidth=1.6)
    top.set_ylabel('arrivals (1/s)')
    top.set_ylim(bottom=0)
    load.plot(rows['index'], rows['load_index'], color=_LOAD, linewidth=1.3)
    load.set_ylabel('load index λ')
    load.set_ylim(-0.03, 1.03)
    for column, hue, point in (('theta_cache', _CACHE, 0.95), ('theta_direct', _DIRECT, 0.75)):
        law.plot(rows['index'], rows[column], color=hue, linewidth=1.3)
        law.axhline(point, color=hue, linewidth=0.8, linestyle='--')
    law.set_ylabel('threshold (cosine)')
    law.set_xlabel('number of the request')
    for place, axis in enumerate((top, load, law)):
        _closed(axis, rows)
        phases(axis, rows, labelled=place == 0, banded=False)
    handles: list[Any] = [mpl.lines.Line2D([], [], color=hue, label=name) for hue, name in
                          ((_CACHE, 'θ_cache'), (_DIRECT, 'θ_direct'))]
    handles += [line_handle('--', 'operating point'), mpl.patches.Patch(color=_LOAD, alpha=0.18, label='gate closed')]
    figure.legend(handles=handles, loc='outside lower center', ncols=4)
    figure.align_ylabels()
    return figure


def windows(rows: pd.DataFrame, size: int = WINDOW) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of windows of ``size`` requests by number, and the arrival rate (1/s) in each; a torn rest is left out."""
    starts = np.arange(0, len(rows), size)
    if len(starts) > 1 and len(rows) % size == 1:
        starts = starts[:-1]
    at, numbers = rows['at'].to_numpy(dtype=float), rows['index'].to_numpy()
    ends = np.append(starts[1:], len(rows) - 1)
    rates = (ends - starts) / np.maximum(at[ends] - at[starts], 1e-9)
    return np.append(numbers[starts], numbers[-1] + 1), rates


def _closed(axis: Any, rows: pd.DataFrame) -> None:
    static = (rows['gate'] == 'static').to_numpy()
    numbers = np.append(rows['index'].to_numpy(), rows['index'].max() + 1)
    turns = np.flatnonzero(np.diff(np.concatenate([[False], static, [False]]).astype(int)))
    for begin, end in zip(turns[::2], turns[1::2], strict=True):
        axis.axvspan(numbers[begin], numbers[end], color=_LOAD, alpha=0.14, linewidth=0)
