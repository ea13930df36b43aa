"""The figures of the report, drawn without any display."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from pace_ros.study.report_figures import Drawing, style
from pace_ros.study.results.drawn import log_height, log_width, span
from pace_ros.study.serving.arms import ARMS, PINNED, in_order
from pace_ros.study.serving.served import TITLES, WORKLOADS

_FLOOR = 1e-3  # s


def all_figures(frames: dict[str, pd.DataFrame]) -> list[Drawing]:
    """Every figure there are rows for; ``frames`` are those of the tables, by name."""
    with style():
        drawn = [draw(frames[name]) for name, draw in _DRAW.items() if not frames[name].empty]
        for each in drawn:  # laid out once, whatever formats they are saved in
            each.figure.draw_without_rendering()
            each.figure.set_layout_engine('none')
    return drawn


def _rates(frame: pd.DataFrame) -> Drawing:
    measures = (('ttfet_p95', 'TTFET P95 (s)', True), ('later_p95', 'later turns P95 (s)', True),
                ('late', 'turns beyond the SLO', False), ('gap_p95', 'gap P95 (s)', True),
                ('tokens_per_joule', 'tokens/J (modelled)', False))
    there = [each for each in WORKLOADS if each in set(frame['workload'])]
    figure = Figure(figsize=(3.4 * len(there) + 1, 11.5))
    axes = figure.subplots(len(measures), len(there), squeeze=False, sharex='col')
    for column, workload in enumerate(there):
        own = frame.loc[frame['workload'] == workload]
        axes[0][column].set_title(TITLES[workload])
        for axis, (name, label, logarithmic) in zip(axes[:, column], measures, strict=True):
            _lines(axis, own, 'load', name, logarithmic=logarithmic)
            if not column:
                axis.set_ylabel(label)
        axes[-1][column].set_xlabel('load (1: nominal capacity)')
    _legend(figure, frame['arm'])
    figure.align_ylabels()
    return Drawing('serving_rates', 'Every arm over the load: first tokens of conversations and of later turns, '
                   'turns beyond the SLO, the longest gap in an answer, tokens per joule. Bars: 95 % intervals. A line '
                   'ends where 5 % were refused. Simulated; energy modelled.', figure)


def _appends(frame: pd.DataFrame) -> Drawing:
    figure = Figure(figsize=(9, 4.2))
    axes = figure.subplots(1, 2)
    for axis, name, label in zip(axes, ('later_ratio', 'ttfet_ratio'), ('later turns', 'TTFET of conversations'),
                                 strict=True):
        for arm in in_order(frame['over']):
            own = frame.loc[frame['over'] == arm].sort_values('mean_append')
            _line(axis, own, 'mean_append', name, arm)
        axis.axhline(1.0, color='#888888', linewidth=1, linestyle='--')
        axis.set_xlabel('mean append (tokens)')
        axis.set_title(f'{label}: P95, pinned over the other')
        log_height(axis)
        log_width(axis)
    _legend(figure, frame['over'])
    return Drawing('serving_appends', 'Pinned serving over the others by append length; below the dashed line it is '
                   'faster. Synthetic conversations, simulated.', figure)


def _prediction(frame: pd.DataFrame) -> Drawing:
    settings = list(frame.groupby(['workload', 'load'], sort=False))
    figure = Figure(figsize=(3.4 * len(settings) + 1, 3.8))
    axes = figure.subplots(1, len(settings), squeeze=False)[0]
    for axis, ((workload, load), own) in zip(axes, settings, strict=True):
        for arm in in_order(own['arm']):
            rows = own.loc[own['arm'] == arm].sort_values('error')
            if arm == PINNED:
                axis.axhline(rows['later_p95'].iloc[0], color=ARMS[arm].colour, linewidth=1.6)
            else:
                _line(axis, rows, 'error', 'later_p95', arm)
        axis.set_title(f'{TITLES[workload]}, c = {load:g}')
        axis.set_xlabel('share of wrong predictions')
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel('later turns P95 (s)')
    _legend(figure, frame['arm'])
    return Drawing('serving_prediction', 'First tokens of later turns over the share of wrong predictions; pinned '
                   'serving predicts nothing. Simulated.', figure)


def _occupancy(frame: pd.DataFrame) -> Drawing:
    decoders = frame.loc[frame['role'] != 'prefill']
    there = [each for each in WORKLOADS if each in set(decoders['workload'])]
    figure = Figure(figsize=(3.4 * len(there) + 1, 3.8))
    axes = figure.subplots(1, len(there), squeeze=False, sharey=True)[0]
    for axis, workload in zip(axes, there, strict=True):
        _lines(axis, decoders.loc[decoders['workload'] == workload], 'load', 'mean', logarithmic=False)
        axis.set_title(TITLES[workload])
        axis.set_xlabel('load (1: nominal capacity)')
    axes[0].set_ylabel('KV occupancy of decoders')
    _legend(figure, decoders['arm'])
    return Drawing('serving_occupancy', "Mean share of the decoders' KV caches that is held or reserved. Simulated.",
                   figure)


def _lines(axis: Any, rows: pd.DataFrame, across: str, name: str, *, logarithmic: bool) -> None:
    for arm in in_order(rows['arm']):
        _line(axis, rows.loc[rows['arm'] == arm].sort_values(across), across, name, arm)
    if logarithmic:
        log_height(axis)
    else:
        axis.set_ylim(bottom=0)


def _line(axis: Any, rows: pd.DataFrame, across: str, name: str, arm: str) -> None:
    """A line with bars where there are intervals, cut where a value is infinite."""
    finite = rows[name].replace(float('inf'), float('nan'))
    how = {'color': ARMS[arm].colour, 'marker': ARMS[arm].marker, 'markersize': 4, 'linewidth': 1.4}
    if f'{name}_low' not in rows:
        axis.plot(rows[across], finite.clip(lower=0), **how)
        return
    bars = [span(*each) for each in zip(rows[f'{name}_low'], finite, rows[f'{name}_high'], strict=True)]
    arms = [[max(0.0, each[side][0]) if each[side][0] == each[side][0] else 0.0 for each in bars]
            for side in (0, 1)]
    axis.errorbar(rows[across], finite.clip(lower=_FLOOR if 'p95' in name else 0), yerr=arms, capsize=2, **how)


def _legend(figure: Figure, arms: Sequence[str] | pd.Series) -> None:
    handles = [mpl.lines.Line2D([], [], color=ARMS[arm].colour, marker=ARMS[arm].marker, label=ARMS[arm].title)
               for arm in in_order(arms)]
    figure.legend(handles=handles, loc='outside lower center', ncols=4)


_DRAW: dict[str, Callable[[pd.DataFrame], Drawing]] = {
    'serving_rates': _rates, 'serving_appends': _appends, 'serving_prediction': _prediction,
    'serving_occupancy': _occupancy,
}
