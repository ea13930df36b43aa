"""The scripted day as a figure."""
from __future__ import annotations

import math
from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl

mpl.use('Agg')
from matplotlib import pyplot as plt

from pace_ros.study.day import HOUR, DayLog, Phase
from pace_ros.turn import Path

COLOURS = {Path.L0: '#2a9d8f', Path.L1: '#8ab17d', Path.L2: '#e9a03b', Path.FALLBACK: '#c1121f'}
STATIC, PHASE = '#dbe9f6', '#999999'


def draw(log: DayLog, phases: tuple[Phase, ...], target: FilePath) -> None:
    """Draw arrivals, load, thresholds, and fillers over the day."""
    figure, axes = plt.subplots(5, 1, figsize=(11, 11), sharex=True, layout='constrained',
                                height_ratios=(1.2, 1.4, 1.6, 1.2, 0.7))
    hours = [each.at / HOUR for each in log.samples]
    states = [each.state for each in log.samples]
    _arrivals(axes[0], log, hours, states)
    _load(axes[1], log, hours, states)
    _thresholds(axes[2], hours, states)
    _fillers(axes[3], log)
    _paths(axes[4], log)
    for axis in axes:
        _mark(axis, phases, hours, states)
    begin = 0.0
    for phase in phases:
        axes[0].annotate(phase.name, (begin + phase.hours / 2, 1.02), xycoords=('data', 'axes fraction'), ha='center',
                         va='bottom', fontsize=9)
        begin += phase.hours
    axes[-1].set_xlabel('hours since the day began; blue where the gate is STATIC')
    axes[-1].set_xlim(0, begin)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110, metadata={'Software': None})
    plt.close(figure)


def _mark(axis: Any, phases: tuple[Phase, ...], hours: list[float], states: list[Any]) -> None:
    """Shade the minutes in which the gate is STATIC, and draw the phases' borders."""
    static = [state.gate.static for state in states]
    axis.fill_between(hours, 0, 1, where=static, transform=axis.get_xaxis_transform(), color=STATIC, step='post',
                      linewidth=0, zorder=0)
    begin = 0.0
    for phase in phases[:-1]:
        begin += phase.hours
        axis.axvline(begin, color=PHASE, linewidth=0.8, linestyle=':')


def _arrivals(axis: Any, log: DayLog, hours: list[float], states: list[Any]) -> None:
    axis.plot(hours, [60 * state.arrival_rate for state in states], color='#444444', linewidth=0.8)
    axis.set_ylabel('arrivals\na minute')
    starved = [hour for hour, state in zip(hours, states, strict=True) if state.starved]
    if starved:
        axis.plot(starved, [0] * len(starved), '|', color=COLOURS[Path.FALLBACK], markersize=10,
                  label='TTFT signal starved')
        axis.legend(loc='upper right', fontsize=8)


def _load(axis: Any, log: DayLog, hours: list[float], states: list[Any]) -> None:
    heard = [each for each in log.turns if not math.isnan(each.ttft)]
    axis.plot([each.at / HOUR for each in heard], [each.ttft for each in heard], '.', color='#cccccc', markersize=3,
              label='first-token times')
    axis.plot(hours, [state.decision.ttft_ewma for state in states], color='#264653', label='their average x')
    axis.set_ylabel('s')
    axis.set_ylim(0, 8)
    other = axis.twinx()
    other.plot(hours, [state.decision.load_index for state in states], color='#c1121f', linewidth=0.9)
    other.set_ylabel('load λ', color='#c1121f')
    other.set_ylim(0, 1)
    axis.legend(loc='upper right', fontsize=8)


def _thresholds(axis: Any, hours: list[float], states: list[Any]) -> None:
    for name, colour in (('cache', COLOURS[Path.L0]), ('direct', COLOURS[Path.L1])):
        values = [getattr(state.decision, f'theta_{name}') for state in states]
        axis.plot(hours, values, color=colour, drawstyle='steps-post', label=f'θ {name}')
    axis.set_ylabel('threshold')
    axis.set_ylim(0.68, 1.0)
    axis.legend(loc='center right', fontsize=8)


def _fillers(axis: Any, log: DayLog) -> None:
    axis.plot([each.at / HOUR for each in log.turns], [each.p_instant for each in log.turns], color='#6d597a',
              linewidth=0.8, label='P(inst)')
    axis.axhline(0.7, color='#6d597a', linewidth=0.6, linestyle='--')
    launched = [each.at / HOUR for each in log.turns if each.filler]
    axis.plot(launched, [0.03] * len(launched), '|', color='#e76f51', markersize=6, label='filler launched')
    axis.set_ylabel('P(inst)')
    axis.set_ylim(0, 1)
    axis.legend(loc='upper right', fontsize=8)


def _paths(axis: Any, log: DayLog) -> None:
    for row, (path, colour) in enumerate(COLOURS.items()):
        times = [each.at / HOUR for each in log.turns if each.path is path]
        axis.plot(times, [row] * len(times), '|', color=colour, markersize=7)
    axis.set_yticks(range(len(COLOURS)), [path.name for path in COLOURS], fontsize=8)
    axis.set_ylim(-0.6, len(COLOURS) - 0.4)
