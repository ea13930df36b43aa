"""Figures 3 and 4, PTFR over offered concurrency and its distribution; the supplement's quality over latency."""
from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from pace_ros.study.report_figures import Drawing
from pace_ros.study.results.arms_order import title
from pace_ros.study.results.drawn import (
    FLOOR,
    arm_legend,
    colour,
    log_axis,
    log_height,
    log_width,
    marker,
    point_handle,
    shown_arms,
    span,
    steps,
    stroke,
)
from pace_ros.study.results.rows import Results

MIDDLE = 16.0
"""The offered concurrency at which distributions and qualities are compared."""


def draw(results: Results, comparison: pd.DataFrame) -> list[Drawing]:
    """The three figures from the campaign and the frame of table IV; none without a campaign."""
    rows = results.part('campaign')
    if rows.empty:
        return []
    c = MIDDLE if (rows['concurrency'] == MIDDLE).any() else float(rows['concurrency'].max())
    arms = shown_arms(rows)
    return [
        Drawing('figure_3', 'Figure 3. PTFR over offered concurrency, P50 and P95 with 95 % bootstrap intervals; a '
                'point is missing where fewer requests than that were answered. Hollow: published, where at hand.',
                _over_concurrency(comparison, arms)),
        Drawing('figure_4', f'Figure 4. Share of all requests with a first informative answer (left), or with a first '
                f'filler or answer (right), by then; c = {c:g}. A line ends below 1 where requests had none.',
                _distribution(rows.loc[rows['concurrency'] == c], arms)),
        Drawing('quality_latency', f'Supplement: mean quality by the reference judge over PTFR P95; the grey line '
                f'joins the arms that no other beats in both (Pareto), c = {c:g} and, where run, 1.',
                _quality(comparison, arms, c)),
    ]


def _over_concurrency(frame: pd.DataFrame, arms: list[str]) -> Figure:
    figure = Figure(figsize=(11, 5))
    levels = sorted(frame['concurrency'].unique())
    is_published = False
    for axis, percent in zip(figure.subplots(1, 2), (50, 95), strict=True):
        name = f'ptfr_p{percent}'
        for place, arm in enumerate(arms):
            own = frame.loc[frame['arm'] == arm]
            shift = 2 ** (0.035 * (place - (len(arms) - 1) / 2))  # so that intervals stand apart
            own = own.loc[np.isfinite(own[name])]
            xs = own['concurrency'] * shift
            axis.plot(xs, own[name], color=colour(arm), marker=marker(arm), markersize=5.5, linewidth=1.4)
            for x, low, value, high in zip(xs, own[f'{name}_low'], own[name], own[f'{name}_high'], strict=True):
                axis.errorbar([x], [value], yerr=span(low, value, high), color=colour(arm), linewidth=1, capsize=0)
            known = own.loc[own[f'published_{name}'].notna()]
            is_published |= bool(len(known))
            axis.plot(known['concurrency'] * shift, known[f'published_{name}'], linestyle='', marker=marker(arm),
                      color=colour(arm), markerfacecolor='none', markersize=8)
        _concurrency_axis(axis, levels)
        log_height(axis)
        axis.set_title(f'P{percent}', loc='left')
        axis.set_ylabel('PTFR (s)')
    more = [point_handle('o', 'published', filled=False)] if is_published else []
    arm_legend(figure, arms, more=more)
    return figure


def _concurrency_axis(axis: Any, levels: list[float]) -> None:
    axis.set_xscale('log', base=2)
    axis.xaxis.set_major_locator(FixedLocator(levels))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.set_xlim(levels[0] / 1.35, levels[-1] * 1.35)
    axis.set_xlabel('offered concurrency c (requests)')


def _distribution(rows: pd.DataFrame, arms: list[str]) -> Figure:
    figure = Figure(figsize=(11, 4.8))
    for axis, (column, heading) in zip(figure.subplots(1, 2, sharey=True),
                                       (('first', 'PTFR'), ('perceived', 'PL')), strict=True):
        for arm in arms:
            steps(axis, rows.loc[rows['arm'] == arm, column], color=colour(arm), linewidth=1.8,
                  linestyle=stroke(arm))
        log_axis(axis, left=FLOOR)
        axis.set_ylim(0, 1.02)
        axis.set_title(heading, loc='left')
        axis.set_xlabel('time since receipt of the utterance (s)')
    figure.axes[0].set_ylabel('share of requests')
    arm_legend(figure, arms, markers=False)
    return figure


def _quality(frame: pd.DataFrame, arms: list[str], middle: float) -> Figure:
    levels = [c for c in dict.fromkeys((1.0, middle)) if (frame['concurrency'] == c).any()]
    figure = Figure(figsize=(5.5 * len(levels), 4.8))
    for axis, c in zip(figure.subplots(1, len(levels), squeeze=False, sharey=True)[0], levels, strict=True):
        own = frame.loc[(frame['concurrency'] == c) & frame['arm'].isin(arms) & np.isfinite(frame['ptfr_p95'])
                        & frame['quality'].notna()]
        best = pareto(own)
        axis.plot(best['ptfr_p95'], best['quality'], color='#888888', linewidth=3, alpha=0.35, zorder=1)
        for each in own.to_dict('records'):
            axis.errorbar([each['ptfr_p95']], [each['quality']],
                          xerr=span(each['ptfr_p95_low'], each['ptfr_p95'], each['ptfr_p95_high']),
                          color=colour(each['arm']), marker=marker(each['arm']), markersize=8, linewidth=1)
        log_width(axis)
        axis.set_title(f'c = {c:g}', loc='left')
        axis.set_xlabel('PTFR P95 (s)')
    figure.axes[0].set_ylabel('mean quality (1 to 5)')
    handles = [mpl.lines.Line2D([], [], color=colour(arm), marker=marker(arm), linestyle='', markersize=8,
                                label=title(arm)) for arm in arms]
    figure.legend(handles=handles, loc='outside lower center', ncols=5)
    return figure


def pareto(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells than which none is both faster at P95 and better in quality, from the fastest on."""
    ordered = cells.sort_values(['ptfr_p95', 'quality'], ascending=[True, False], kind='stable')
    better = ordered['quality'] > ordered['quality'].cummax().shift(fill_value=-np.inf)
    return ordered.loc[better]
