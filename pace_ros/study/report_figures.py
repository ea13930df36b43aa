"""The figures of a report: distributions, quantiles, the worth of fillers, paths, motion. Drawn without any display."""
from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from pace_ros.study import latency, motion, usage
from pace_ros.study.timeline_figure import draw_timeline

if TYPE_CHECKING:
    from pace_ros.study.report import Report

# Okabe and Ito's palette: told apart by any eye, in grey by the line styles and markers beside it.
COLOURS = {'TEXT': '#0072B2', 'SPEECH': '#D55E00', 'GAZE': '#009E73', 'GESTURE': '#CC79A7', 'EARLIEST': '#7a7a7a'}
PATHS = {'L0': '#009E73', 'L1': '#56B4E9', 'L2': '#E69F00', 'FALLBACK': '#D55E00', 'UNKNOWN': '#999999'}
HATCHES = {'L0': '', 'L1': '//', 'L2': '..', 'FALLBACK': 'xx', 'UNKNOWN': ''}
GROUPS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')
LINES = {'RECORD': ':', 'COMMANDED': '-', 'AUDIBLE': '-.', 'OBSERVED': '--'}
MARKERS = {50: 'o', 95: '^', 99: 's'}
INK = '#1a1b1e'
MAX_GROUPS = len(GROUPS)
_METADATA: dict[str, dict[str, str | None]] = {'svg': {'Date': None, 'Creator': None}, 'png': {'Software': None}}
_FLOOR = 1e-3  # s, the left end of logarithmic axes


@dataclass(frozen=True)
class Drawing:
    """A figure, its file name without suffix, and what it shows."""

    name: str
    caption: str
    figure: Figure


@contextmanager
def style() -> Iterator[None]:
    """Settings under which all figures are drawn and saved."""
    names = ('text.color', 'axes.edgecolor', 'axes.labelcolor', 'xtick.color', 'ytick.color')
    with mpl.rc_context({
        **dict.fromkeys(names, INK), 'font.size': 10, 'axes.titlesize': 10, 'axes.spines.top': False,
        'axes.spines.right': False, 'axes.grid': True, 'grid.color': '#888888', 'grid.alpha': 0.25,
        'legend.frameon': False, 'legend.fontsize': 8.5, 'axes.facecolor': 'none', 'svg.fonttype': 'none',
        'svg.hashsalt': 'report', 'hatch.linewidth': 0.5, 'figure.constrained_layout.use': True,
    }):
        yield


def drawings(report: Report) -> list[Drawing]:
    """All figures there are data for."""
    with style():
        return list(_drawings(report))


def _drawings(report: Report) -> Iterator[Drawing]:
    groups = list(dict.fromkeys(report.turns['group']))
    some = groups[:MAX_GROUPS]
    rest = f' Of {len(groups)} groups the first {MAX_GROUPS} are drawn.' if len(groups) > MAX_GROUPS else ''
    if report.turns['ptfr'].notna().any():
        yield Drawing('distributions', 'Share of all turns with a first response by then, over time since receipt; a '
                      'line ends below 1 where turns had none. Grey: 0.5 s and 1 s.'
                      + rest, _distributions(report, some))
        yield Drawing('quantiles', 'P50 (circle), P95 (triangle), P99 (square) with 95 % intervals, where n allows one.'
                      + rest, _quantiles(report, some))
        yield Drawing('pl_alpha', 'PL over the worth of a filler: from nothing (α = 0, PTFR) to as much as an answer '
                      '(α = 1, PL).' + rest, _alpha(report, some))
    if len(report.turns):
        yield Drawing('paths', 'Which level answered, as share of turns.', _paths(report, groups))
    motions = motion.motion_latencies(report.turns, report.onsets)
    if motions['latency'].notna().any():
        yield Drawing('motion', 'Share of commanded onsets that were observed by then, over time since the command; a '
                      'line ends below 1 where some were never observed.' + rest, _motions(motions, some))
    for line in report.timelines:
        yield Drawing(line.name, '', draw_timeline(line))


def _save(figure: Figure, target: Any, suffix: str, **how: Any) -> None:
    with style():
        figure.savefig(target, format=suffix, metadata=_METADATA[suffix], **how)
    figure.set_layout_engine('none')  # laying out takes longest: once will do


def write_figures(drawn: list[Drawing], suffixes: list[str], folder: FilePath) -> list[FilePath]:
    """Write every figure in every format; the files."""
    written = []
    for each in drawn:
        for suffix in suffixes:
            target = folder / f'{each.name}.{suffix}'
            _save(each.figure, target, suffix, dpi=140, facecolor='white')
            written.append(target)
    return written


def inline_svg(drawing: Drawing, label: str) -> str:
    """The figure as an SVG element that takes the ink of the page around it, light or dark."""
    target = io.StringIO()
    _save(drawing.figure, target, 'svg', transparent=True)
    text = target.getvalue()
    text = text[text.index('<svg'):].replace(INK, 'currentColor')
    text = re.sub(r'( id="|href="#|url\(#)', rf'\g<1>{drawing.name}-', text)  # one page holds several figures
    text = re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.DOTALL)
    size = re.search(r'<svg[^>]*? width="([\d.]+)pt"', text)
    for side in ('width', 'height'):  # as wide as the page allows
        text = re.sub(rf'(<svg[^>]*?) {side}="[\d.]+pt"', r'\1', text, count=1)
    wide = f' style="max-width:{float(size.group(1)) * 4 / 3:.0f}px"' if size else ''
    return text.replace('<svg', f'<svg role="img" aria-label="{label}"{wide}', 1)


def log_axis(axis: Any, *, left: float = _FLOOR) -> None:
    """A logarithmic axis of seconds with plain labels."""
    axis.set_xscale('log')
    axis.set_xlim(left=left)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _steps(axis: Any, values: pd.Series, total: int, **how: Any) -> None:
    """The share of ``total`` reached by each value."""
    ordered = np.sort(values.dropna().to_numpy())
    if not ordered.size:
        return
    if ordered.size > 1000:
        places = np.linspace(0, ordered.size - 1, 1000).round().astype(int)
    else:
        places = np.arange(ordered.size)
    xs, ys = ordered[places], (places + 1) / total
    axis.step(np.concatenate([xs[:1], xs]), np.concatenate([[0.0], ys]), where='post', **how)


def _distributions(report: Report, groups: list[str]) -> Figure:
    figure = Figure(figsize=(11, 0.9 + 2.9 * len(groups)))
    axes = figure.subplots(len(groups), 2, sharex=True, sharey=True, squeeze=False)
    times = report.times.merge(report.turns[['turn_id', 'group']], on='turn_id')
    times = times.loc[times['view'] != 'RECORD']
    for row, group in enumerate(groups):
        own = times.loc[times['group'] == group]
        for axis, (measure, title) in zip(axes[row], (('ptfr', 'PTFR, first informative response'),
                                                      ('pl', 'PL, the earlier of filler and answer')), strict=True):
            for (view, modality), part in own.groupby(['view', 'modality'], sort=False):
                thick = 2.4 if modality == 'EARLIEST' else 1.5
                _steps(axis, part[measure].clip(lower=_FLOOR), len(part), color=COLOURS[modality],
                       linestyle=LINES[view], linewidth=thick, zorder=2 if modality == 'EARLIEST' else 3)
            for limit in latency.WITHIN:
                axis.axvline(limit, color='#888888', linewidth=1, zorder=1)
            log_axis(axis)
            axis.set_ylim(0, 1.02)
            axis.set_title(title if group == latency.ALL else f'{title}: {group}', loc='left')
        axes[row][0].set_ylabel('share of turns')
    for axis in axes[-1]:
        axis.set_xlabel('time since receipt of the utterance (s)')
    _legend(figure, set(times['modality']), set(times['view']))
    return figure


def _legend(figure: Figure, modalities: set[str], views: set[str]) -> None:
    handles = [mpl.lines.Line2D([], [], color=colour, linewidth=2.5, label=name.lower())
               for name, colour in COLOURS.items() if name in modalities]
    handles += [mpl.lines.Line2D([], [], color=INK, linestyle=line, linewidth=1.5, label=name.lower())
                for name, line in LINES.items() if name in views]
    figure.legend(handles=handles, loc='outside lower center', ncols=len(handles) or 1)


def _quantiles(report: Report, groups: list[str]) -> Figure:
    own = report.summary.loc[report.summary['group'].isin(groups)]
    panels = [(name, own.loc[own['measure'] == name]) for name in ('PTFR', 'PL')]
    rows = max(len(part.groupby(['modality', 'view'])) for _, part in panels)
    figure = Figure(figsize=(11, 1.3 + (0.2 + 0.2 * len(groups)) * max(rows, 3)))
    for axis, (title, part) in zip(figure.subplots(1, 2, sharex=True), panels, strict=True):
        kinds = list(dict.fromkeys(zip(part['modality'], part['view'], strict=True)))
        for each in part.to_dict('records'):
            place, group = kinds.index((each['modality'], each['view'])), groups.index(each['group'])
            height = place + (0 if len(groups) == 1 else (group / (len(groups) - 1) - 0.5) * 0.5)
            colour = COLOURS[each['modality']] if len(groups) == 1 else GROUPS[group]
            for percent, marker in MARKERS.items():
                span = [max(_FLOOR, each[f'p{percent}_{end}']) for end in ('low', 'high')]
                axis.plot(span, [height] * 2, color=colour, linewidth=2, alpha=0.6)
                axis.plot(max(_FLOOR, each[f'p{percent}']), height, marker, color=colour, markersize=5.5)
        axis.set_yticks(range(len(kinds)), [f'{modality} · {view}'.lower() for modality, view in kinds])
        axis.set_ylim(len(kinds) - 0.5, -0.5)
        axis.set_title(title, loc='left')
        log_axis(axis)
        axis.set_xlabel('time since receipt of the utterance (s)')
    handles = [mpl.lines.Line2D([], [], color=INK, linestyle='', marker=marker, label=f'P{percent}')
               for percent, marker in MARKERS.items()]
    if len(groups) > 1:
        handles += [mpl.lines.Line2D([], [], color=colour, linewidth=3, label=group)
                    for group, colour in zip(groups, GROUPS, strict=False)]
    figure.legend(handles=handles, loc='outside lower center', ncols=min(6, len(handles)))
    return figure


def _alpha(report: Report, groups: list[str]) -> Figure:
    curve = latency.alpha_curve(report.turns)
    figure = Figure(figsize=(7, 4))
    axis = figure.subplots()
    for group, colour in zip(groups, GROUPS, strict=False):
        own = curve.loc[curve['group'] == group]
        name = '' if len(groups) == 1 else f'{group}: '
        for column, line, label in (('p50', '-', 'P50'), ('mean', ':', 'mean'), ('p95', '--', 'P95')):
            axis.plot(own['alpha'], own[column], linestyle=line, color=colour, linewidth=1.8, label=f'{name}{label}')
    axis.set_xlabel('α, the worth of a filler')
    axis.set_ylabel('PL_α (s)')
    axis.set_xlim(0, 1)
    axis.set_ylim(bottom=0)
    axis.legend(loc='center left', bbox_to_anchor=(1.01, 0.5))
    return figure


def _paths(report: Report, groups: list[str]) -> Figure:
    shares = usage.path_shares(report.turns)
    figure = Figure(figsize=(8, 1.4 + 0.45 * len(groups)))
    axis = figure.subplots()
    begin = dict.fromkeys(groups, 0.0)
    for path, colour in PATHS.items():
        own = shares.loc[shares['path'] == path]
        for each in own.to_dict('records'):
            axis.barh(each['group'], each['share'], left=begin[each['group']], color=colour, hatch=HATCHES[path],
                      edgecolor='white', height=0.7)
            if each['share'] >= 0.06:
                axis.text(begin[each['group']] + each['share'] / 2, each['group'], f'{each["share"]:.0%}', ha='center',
                          va='center', color='black', fontsize=9,
                          bbox={'facecolor': colour, 'edgecolor': 'none', 'pad': 1.5})
            begin[each['group']] += each['share']
    axis.set_xlim(0, 1)
    axis.set_xlabel('share of turns')
    axis.grid(visible=False, axis='y')
    axis.invert_yaxis()
    if groups == [latency.ALL]:
        axis.set_yticks([])
    handles = [mpl.patches.Patch(facecolor=PATHS[path], hatch=HATCHES[path], edgecolor='white',
                                 label='none' if path == 'UNKNOWN' else path)
               for path in PATHS if path in set(shares['path'])]
    figure.legend(handles=handles, loc='outside lower center', ncols=5)
    return figure


def _motions(motions: pd.DataFrame, groups: list[str]) -> Figure:
    lines = {'ACKNOWLEDGEMENT': ':', 'FILLER': '--', 'ANSWER': '-'}
    watched = motions.loc[motions['watched'] & motions['commanded'].notna()]
    some = [each for each in groups if each in set(watched['group'])]
    figure = Figure(figsize=(8, 0.9 + 2.8 * len(some)))
    axes = figure.subplots(len(some), 1, sharex=True, squeeze=False)[:, 0]
    seen: dict[str, Any] = {}
    for axis, group in zip(axes, some, strict=True):
        for (modality, content), part in watched.loc[watched['group'] == group].groupby(['modality', 'content']):
            label = f'{modality} · {content}'.lower()
            _steps(axis, part['latency'], len(part), color=COLOURS[modality], linestyle=lines[content], linewidth=1.8,
                   label=label)
        seen |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        axis.set_ylim(0, 1.02)
        axis.set_ylabel('share of commands')
        if group != latency.ALL:
            axis.set_title(group, loc='left')
    axes[-1].set_xlabel('observed − commanded (s)')
    figure.legend(seen.values(), seen.keys(), loc='outside lower center', ncols=3)
    return figure


