"""The timeline of one turn as a figure: a lane for each stage and modality."""
from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from pace_ros.study.timeline import LANES, Event, Timeline

COLOURS = {'': '#9aa5b1', 'ACKNOWLEDGEMENT': '#009E73', 'FILLER': '#E69F00', 'ANSWER': '#0072B2'}
NAMES = {'': 'work', 'ACKNOWLEDGEMENT': 'acknowledgement', 'FILLER': 'filler', 'ANSWER': 'answer'}
MARKERS = {'RECORD': '|', 'COMMANDED': 'o', 'AUDIBLE': 'D', 'OBSERVED': 's'}
_LEAST = 0.003  # of the width: what a span takes at least, to be seen


def draw_timeline(line: Timeline) -> Figure:
    """Draw one turn; what was said is not in the figure."""
    lanes = [each for each in LANES if any(event.lane == each for event in line.events)]
    figure = Figure(figsize=(11, 1.5 + 0.36 * len(lanes)))
    axis = figure.subplots()
    right = _right(line.events)
    left = min([0.0, *(event.begin for event in line.events)])
    for event in line.events:
        _draw(axis, event, lanes.index(event.lane), right, right - left)
    margin = 0.03 * (right - left)
    axis.set_xlim(left - margin, right + margin)
    axis.axvline(0, color='#888888', linewidth=1, zorder=1)
    axis.set_yticks(range(len(lanes)), lanes)
    axis.set_ylim(len(lanes) - 0.4, -0.6)
    axis.set_xlabel('time since receipt of the utterance (s)')
    _legend(figure, line.events)
    return figure


def _right(events: tuple[Event, ...]) -> float:
    """The right end: all that begins, and of what goes on for long as much again."""
    last = max([0.02, *(event.begin for event in events)])
    ends = [event.end for event in events if not event.is_instant]
    return min(max([last, *ends]), 2 * last + 0.5)


def _draw(axis: Any, event: Event, lane: int, right: float, width: float) -> None:
    colour = COLOURS[event.content]
    if not event.is_instant:
        shown = max(min(event.end, right * 1.03) - event.begin, _LEAST * width)
        axis.barh(lane, shown, left=event.begin, height=0.5, color=colour, alpha=0.45 if event.content else 0.8,
                  zorder=2)
        if event.end > right * 1.03:
            axis.text(right, lane, f'until {event.end:.1f} s ▸', ha='right', va='center', fontsize=8)
        return
    if event.view == 'RECORD':
        ink = colour if event.content else mpl.rcParams['text.color']
        axis.plot([event.begin] * 2, [lane - 0.34, lane + 0.34], color=ink, linewidth=2, zorder=4,
                  linestyle=':' if event.name == 'budget ends' else '-')
    else:
        hollow = event.view == 'OBSERVED'
        axis.plot(event.begin, lane, MARKERS[event.view], color=colour, markersize=8 if hollow else 6.5, zorder=5,
                  markerfacecolor='none' if hollow else colour, markeredgewidth=1.8 if hollow else 0)


def _legend(figure: Figure, events: tuple[Event, ...]) -> None:
    ink = mpl.rcParams['text.color']
    handles: list[Any] = [mpl.patches.Patch(color=colour, label=NAMES[content]) for content, colour in COLOURS.items()
               if any(event.content == content for event in events)]
    for view in ('COMMANDED', 'AUDIBLE', 'OBSERVED'):
        if any(event.view == view and not math.isnan(event.begin) for event in events):
            hollow = view == 'OBSERVED'
            handles.append(mpl.lines.Line2D([], [], linestyle='', marker=MARKERS[view], color=ink, label=view.lower(),
                                            markerfacecolor='none' if hollow else ink, markersize=7))
    if any(event.name == 'budget ends' for event in events):
        handles.append(mpl.lines.Line2D([], [], color=ink, linestyle=':', linewidth=2, label="filler's budget ends"))
    figure.legend(handles=handles, loc='outside lower center', ncols=len(handles))
