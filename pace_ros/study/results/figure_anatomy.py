"""Figure 2, the anatomy of one request per path, and the supplement's waterfall of the same requests."""
from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pace_ros.study.report_figures import Drawing
from pace_ros.study.results.arms_order import FULL, SHIPPED, STATIC, title
from pace_ros.study.results.drawn import INK, log_axis
from pace_ros.study.results.rows import Results

STAGES = {
    'first look, embed': '#56B4E9', 'look up, route': '#009E73', 'retrieve': '#CC79A7', 'path': '#E69F00',
    'wait for L2 in vain': '#666666', 'rest': '#bbbbbb',
}
FILLER = '#D81B60'
_LEFT = 1e-4  # s


@dataclass(frozen=True)
class Anatomy:
    """One request: its ``stages`` as (name, begin, end) in s since receipt, and its filler (s, NaN: none)."""

    name: str
    arm: str
    stages: tuple[tuple[str, float, float], ...]
    filler: float
    ptfr: float


def anatomies(results: Results) -> list[Anatomy]:
    """Of each path the request with the median PTFR of one arm, at the middle offered concurrency."""
    rows = results.part('campaign') if not results.part('campaign').empty else results.rows
    rows = rows.loc[rows['ptfr'].notna()]
    found = []
    for name, chosen in _kinds(rows):
        arms = [arm for arm in (FULL, STATIC, SHIPPED) if (chosen['arm'] == arm).any()]
        own = chosen.loc[chosen['arm'] == arms[0]] if arms else chosen
        levels = np.sort(own['concurrency'].unique())
        own = own.loc[own['concurrency'] == levels[len(levels) // 2]].sort_values('ptfr', kind='stable')
        found.append(_anatomy(name, own.iloc[(len(own) - 1) // 2]))
    return found


def _kinds(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    shown = rows['filler_shown'] & (rows['filler_elapsed'] < rows['ptfr'])
    for name, wanted in (('L0', rows['path'] == 'L0'), ('L1', rows['path'] == 'L1'),
                         ('L2', (rows['path'] == 'L2') & ~shown), ('L2 with a filler', (rows['path'] == 'L2') & shown),
                         ('FALLBACK', rows['path'] == 'FALLBACK')):
        if wanted.any():
            yield name, rows.loc[wanted]


def _anatomy(name: str, row: pd.Series) -> Anatomy:
    retrieve = 0.0 if math.isnan(row['t_retrieve']) else float(row['t_retrieve'])
    route = 'wait for L2 in vain' if row['path'] == 'FALLBACK' else 'look up, route'  # its level was chosen at the end
    lasting = {'first look, embed': float(row['t_embed']), route: max(0.0, float(row['t_route']) - retrieve),
               'retrieve': retrieve}
    stages, now = [], 0.0
    for stage, seconds in lasting.items():
        if seconds > 0:
            stages.append((stage, now, now + seconds))
            now += seconds
    stages.append(('path', now, float(row['ptfr'])))
    if row['completion'] > row['ptfr']:
        stages.append(('rest', float(row['ptfr']), float(row['completion'])))
    filler = float(row['filler_elapsed']) if row['filler_shown'] else math.nan
    return Anatomy(name, str(row['arm']), tuple(stages), filler, float(row['ptfr']))


def draw(results: Results) -> list[Drawing]:
    """Both figures; none without an answered request."""
    found = anatomies(results)
    if not found:
        return []
    return [
        Drawing('figure_2', 'Figure 2. Anatomy of one request per path, the one with the median PTFR: stages until the '
                "first informative token, on a logarithmic axis (a bar's length is no duration: read its ends, or the "
                'line above). Diamond: filler.', _anatomy_figure(found)),
        Drawing('waterfall', 'Supplement: waterfall of the same requests until the end of the answer, each on its own '
                'axis. Vertical line: PTFR; diamond: filler.', _waterfall(found)),
    ]


def _lasting(seconds: float) -> str:
    return f'{seconds * 1e3:.1f} ms' if seconds < 0.1 else f'{seconds:.2f} s'


def _anatomy_figure(found: list[Anatomy]) -> Figure:
    figure = Figure(figsize=(9, 1.3 + 0.75 * len(found)))
    axis = figure.subplots()
    for place, each in enumerate(found):
        told = [f'{stage} {_lasting(end - begin)}' for stage, begin, end in each.stages if stage != 'rest']
        for stage, begin, end in each.stages:
            if stage != 'rest':
                left = max(begin, _LEFT)
                axis.barh(place, max(end, left) - left, left=left, height=0.42, color=STAGES[stage], edgecolor='white',
                          linewidth=0.6)
        axis.text(_LEFT * 1.08, place - 0.3, ' · '.join(told), fontsize=8, va='bottom')
        axis.text(each.ptfr * 1.08, place, f'PTFR {_lasting(each.ptfr)}', va='center', fontsize=9)
        _diamond(axis, each, place)
    log_axis(axis, left=_LEFT)
    axis.set_xlim(right=max(each.ptfr for each in found) * 6)
    axis.set_yticks(range(len(found)), [f'{each.name}\n{title(each.arm)}' for each in found])
    axis.set_ylim(len(found) - 0.5, -0.75)
    axis.grid(visible=False, axis='y')
    axis.set_axisbelow(True)
    axis.set_xlabel('time since receipt of the utterance (s)')
    used = {stage for each in found for stage, *_ in each.stages} - {'rest'}
    _legend(figure, [stage for stage in STAGES if stage in used], found)
    return figure


def _diamond(axis: Any, each: Anatomy, height: float) -> None:
    if not math.isnan(each.filler):
        axis.plot(each.filler, height, 'D', color=FILLER, markersize=8, markeredgecolor='white', zorder=4)


def _legend(figure: Figure, stages: list[str], found: list[Anatomy]) -> None:
    names = {'path': 'path to its first token', 'rest': 'rest of the answer'}
    handles: list[Any] = [mpl.patches.Patch(facecolor=STAGES[stage], label=names.get(stage, stage))
                          for stage in stages]
    if not all(math.isnan(each.filler) for each in found):
        handles.append(mpl.lines.Line2D([], [], color=FILLER, marker='D', linestyle='', label='filler'))
    figure.legend(handles=handles, loc='outside lower center', ncols=len(handles))


def _duration(axis: Any, place: int, begin: float, end: float, text: str, width: float) -> None:
    """Write how long a bar lasts where there is room: behind it, else before it, else in it; shares of ``width``."""
    how: dict[str, Any] = {'va': 'center', 'fontsize': 8.5}
    if end <= 0.72:
        axis.text((end + 0.012) * width, place, text, ha='left', **how)
    elif begin >= 0.25:
        axis.text((begin - 0.012) * width, place, text, ha='right', **how)
    else:
        axis.text((end - 0.012) * width, place, text, ha='right', color='black', **how)


def _waterfall(found: list[Anatomy]) -> Figure:
    rows = math.ceil(len(found) / 2)
    figure = Figure(figsize=(11, 0.8 + 2.1 * rows))
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    for axis, each in zip(axes, found, strict=False):
        whole = each.stages[-1][2]
        factor, unit = (1e3, 'ms') if whole < 0.2 else (1.0, 's')
        for place, (stage, begin, end) in enumerate(each.stages):
            axis.barh(place, (end - begin) * factor, left=begin * factor, height=0.6, color=STAGES[stage])
            _duration(axis, place, begin / whole, end / whole, _lasting(end - begin), whole * factor)
        axis.plot([each.ptfr * factor] * 2, [len(each.stages) - 2.5, len(each.stages) - 0.55], color=INK, linewidth=0.9,
                  linestyle='--')
        if not math.isnan(each.filler):
            axis.plot(each.filler * factor, -0.75, 'D', color=FILLER, markersize=7, clip_on=False)
        axis.set_yticks(range(len(each.stages)), [stage for stage, *_ in each.stages])
        axis.set_ylim(len(each.stages) - 0.4, -1.1)
        axis.set_xlim(left=0)
        axis.grid(visible=False, axis='y')
        axis.set_axisbelow(True)
        axis.set_title(f'{each.name} · {title(each.arm)}', loc='left')
        axis.set_xlabel(f'time since receipt ({unit})')
    for axis in axes[len(found):]:
        axis.set_visible(False)
    return figure
