"""What the figures have in common: axes, legends, steps, phases."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from pace_ros.study.report_figures import INK, log_axis
from pace_ros.study.results.arms_order import COLOURS, GATED, MAIN, MARKERS, in_order, title

FLOOR = 1e-3  # s, the left end of logarithmic axes
_OTHERS = ('#332288', '#88CCEE', '#44AA99', '#999933', '#882255', '#AA4499')
_MOST = 1000  # points of a line


def colour(arm: str) -> str:
    """An arm's own colour; of an unknown one by its name."""
    return COLOURS.get(arm) or _OTHERS[sum(map(ord, arm)) % len(_OTHERS)]


def marker(arm: str) -> str:
    """An arm's own marker."""
    return MARKERS.get(arm, '.')


def stroke(arm: str) -> Any:
    """An arm's kind of line: dashed where it may lie upon another's for long."""
    return (0, (4, 2)) if arm == GATED else '-'


def shown_arms(rows: pd.DataFrame) -> list[str]:
    """The arms that figures compare, of those in the rows; all of them where none of these is."""
    there = in_order(rows['arm'])
    return [arm for arm in there if arm in MAIN] or there


def log_height(axis: Any) -> None:
    """A logarithmic vertical axis of seconds with plain labels, for what is drawn already; linear without any of it."""
    if np.isfinite(axis.dataLim.minposy):
        axis.set_yscale('log')
        _plain_ticks(axis.yaxis, axis.get_ylim())


def log_width(axis: Any) -> None:
    """A logarithmic horizontal axis of seconds with plain labels, for what is drawn already; linear without any."""
    if np.isfinite(axis.dataLim.minposx):
        axis.set_xscale('log')
        _plain_ticks(axis.xaxis, axis.get_xlim())


def _plain_ticks(axis: Any, limits: tuple[float, float]) -> None:
    is_wide = limits[1] > 50 * limits[0]
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 3.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.set_minor_formatter(NullFormatter())


def steps(axis: Any, values: pd.Series, **how: Any) -> None:
    """The share of all values reached by each; infinite ones are never reached."""
    ordered = np.sort(values.to_numpy(dtype=float))
    total, ordered = ordered.size, ordered[np.isfinite(ordered)].clip(FLOOR)
    if not ordered.size:
        return
    places = np.unique(np.linspace(0, ordered.size - 1, min(_MOST, ordered.size)).round().astype(int))
    xs, ys = ordered[places], (places + 1) / total
    axis.step(np.concatenate([xs[:1], xs]), np.concatenate([[0.0], ys]), where='post', **how)


def arm_legend(figure: Any, arms: Iterable[str], *, markers: bool = True, more: Sequence[Any] = ()) -> None:
    """The arms by colour below the figure, and ``more`` handles."""
    handles = [mpl.lines.Line2D([], [], color=colour(arm), marker=marker(arm) if markers else '',
                                linestyle='-' if markers else stroke(arm), linewidth=2,
                                label=title(arm)) for arm in arms]
    handles += more
    if handles:
        figure.legend(handles=handles, loc='outside lower center', ncols=min(5, len(handles)))


def line_handle(line: str, label: str) -> Any:
    """An entry of a legend for a kind of line."""
    return mpl.lines.Line2D([], [], color=INK, linestyle=line, linewidth=1.5, label=label)


def point_handle(kind: str, label: str, *, filled: bool = True) -> Any:
    """An entry of a legend for a kind of point."""
    return mpl.lines.Line2D([], [], color=INK, linestyle='', marker=kind, label=label,
                            markerfacecolor=INK if filled else 'none')


def span(low: float, value: float, high: float) -> tuple[list[float], list[float]]:
    """The arms of an error bar; none where a bound is not known or infinite."""
    return ([value - low if np.isfinite(low) else 0.0], [high - value if np.isfinite(high) else 0.0])


def phases(axis: Any, rows: pd.DataFrame, *, labelled: bool, banded: bool = True) -> None:
    """Bands, or lines between, the phases of a ramp over the request number, with their offered c on top."""
    bounds = rows.groupby('phase').agg(first=('index', 'min'), last=('index', 'max'), c=('concurrency', 'first'))
    for place, (_, each) in enumerate(bounds.sort_values('first').iterrows()):
        if place and not banded:
            axis.axvline(each['first'], color=INK, linewidth=0.8, linestyle=':')
        if place % 2 and banded:
            axis.axvspan(each['first'], each['last'] + 1, color='#888888', alpha=0.10, linewidth=0)
        if labelled:
            axis.annotate(f'c = {each["c"]:g}', ((each['first'] + each['last'] + 1) / 2, 1), xytext=(0, 3),
                          textcoords='offset points', xycoords=('data', 'axes fraction'), ha='center', fontsize=9)
    axis.set_xlim(rows['index'].min(), rows['index'].max() + 1)


__all__ = [
    'FLOOR', 'INK', 'arm_legend', 'colour', 'line_handle', 'log_axis', 'log_height', 'log_width', 'marker',
    'phases', 'point_handle', 'shown_arms', 'span', 'steps', 'stroke',
]
