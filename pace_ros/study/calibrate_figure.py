"""The curve that thresholds come from, and the load index before and after, as a figure."""
from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use('Agg')
import numpy as np
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from pace_ros.study.calibrate import Calibration

TITLES = {'L0': 'L0: semantic cache', 'L1': 'L1: direct return'}
NAMES = {'L0': ('router.cache_low', 'router.theta_cache', 'router.cache_high'),
         'L1': ('router.direct_low', 'router.theta_direct', 'router.direct_high')}
COLOURS = {'L0': '#2a9d8f', 'L1': '#5b8e3e'}
TOLERABLE, BEFORE, AFTER = '#c1121f', '#999999', '#264653'


def draw(found: Calibration, target: FilePath) -> None:
    """Draw both levels' false-hit rate over the threshold, and the distribution of the load index."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout='constrained')
    for axis, level in zip(axes, TITLES, strict=False):
        _level(axis, found, level)
    _load(axes[2], found)
    figure.savefig(target, dpi=110, metadata={'Software': None})
    plt.close(figure)


def _level(axis: Any, found: Calibration, level: str) -> None:
    own = found.curve.loc[found.curve['level'] == level]
    axis.set(title=TITLES[level], xlabel='threshold (cosine)', ylabel='wrong among hits, %')
    if not len(own):
        axis.text(0.5, 0.5, 'no labelled hits', ha='center', va='center', transform=axis.transAxes)
        return
    axis.fill_between(own['threshold'], 100 * own['rate_low'], 100 * own['rate_high'], color=COLOURS[level], alpha=0.25,
                      linewidth=0, label='95 % interval (Wilson)')
    axis.plot(own['threshold'], 100 * own['rate'], color=COLOURS[level], marker='.', label='false-hit rate')
    axis.axhline(100 * found.tolerable, color=TOLERABLE, linestyle='--', linewidth=1, label='tolerable')
    for name, style in zip(NAMES[level], (':', '-', ':'), strict=True):
        if name in found.values:
            axis.axvline(found.values[name], color=AFTER, linestyle=style, linewidth=1)
    if NAMES[level][0] in found.values:
        axis.plot([], [], color=AFTER, label='operating point; dotted: low, high')
    axis.set_ylim(0, max(3 * 100 * found.tolerable, 130 * float(own['rate'].max())))
    axis.legend(fontsize=8, loc='upper right')
    few = axis.twinx()
    few.plot(own['threshold'], own['hits'], color='#bbbbbb', linewidth=0.8)
    few.set_ylabel('hits (grey)', color='#888888')
    few.set_ylim(0)


def _load(axis: Any, found: Calibration) -> None:
    axis.set(title='Load index λ at the turns', xlabel='λ', ylabel='share of turns up to it', xlim=(0, 1), ylim=(0, 1))
    if found.anchors is None:
        axis.text(0.5, 0.5, 'no anchors', ha='center', va='center', transform=axis.transAxes)
        return
    for name, colour, words in (('before', BEFORE, 'shipped anchors'), ('after', AFTER, 'proposed anchors')):
        load = np.sort(found.anchors.points[name])
        axis.step(load, np.arange(1, load.size + 1) / load.size, where='post', color=colour, label=words)
    axis.legend(fontsize=8, loc='lower right')
