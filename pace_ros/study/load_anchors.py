"""Load anchors from a log: first-token times and arrival rates that count as no load and as full load."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from pace_ros.config import Config
from pace_ros.config import Router as RouterSettings
from pace_ros.control.load import load_index
from pace_ros.settings import with_values
from pace_ros.study.router_replay import Replay

TAIL = 5.0  # percent of turns that may lie beyond an anchor, on either side
SETTLED = 10  # samples after which the average has forgotten where it started: 0.7^10 = 3 %
TURNS_NEEDED = 200
SAMPLES_NEEDED = 50
SIGNIFICANCE = 0.001  # as the gate's


class TooLittle(ValueError):
    """A log does not allow a proposal; the sentence says why."""


@dataclass(frozen=True)
class Anchors:
    """``values`` by parameter name; ``points``, one row a turn: ttft_ewma (s), arrival_rate (1/s), load before and
    after; ``steady``: load moved no more than it scatters, so that is what they span.
    """

    values: dict[str, float]
    points: pd.DataFrame
    steady: bool


def propose(played: Sequence[Replay], settings: RouterSettings) -> Anchors:
    """The 5th and 95th percentile of the two signals at the turns of a log, as the router itself computes them.

    Turns count once the average has had ten samples and the rate's window is full. Raises TooLittle.
    """
    points = pd.concat([_points(each, settings.rate_window) for each in played], ignore_index=True)
    samples = sum(int(each.session.turns['sample'].notna().sum()) for each in played)
    if len(points) < TURNS_NEEDED or samples < SAMPLES_NEEDED:
        raise TooLittle(
            f'Load anchors need {TURNS_NEEDED} turns, after ten first-token times and {settings.rate_window:g} s from '
            f'the start, and {SAMPLES_NEEDED} first-token times; there are {len(points)} and {samples}.')
    values: dict[str, float] = {}
    for name, column, unit in (('ttft', 'ttft_ewma', 's'), ('rate', 'arrival_rate', '1/s')):
        low, high = (round(float(each), 3) for each in np.percentile(points[column], [TAIL, 100 - TAIL]))
        if high - low < 0.002:
            raise TooLittle(f'Load anchors need a signal that moves: {column} stays at {low:g} {unit}.')
        values |= {f'router.{name}_low': low, f'router.{name}_high': high}
    anchored = with_values(Config(router=settings), values).router
    points['before'] = _loads(points, settings)
    points['after'] = _loads(points, anchored)
    return Anchors(values, points, _is_steady(played))


def _is_steady(played: Sequence[Replay]) -> bool:
    """Whether neither arrivals nor first-token times moved by more than their scatter, within or between sessions.

    Counts of the windows against a Poisson by the index of dispersion; logarithms of first-token times by von Neumann's
    ratio of successive differences to variance, which is 1 but for (n - 2) / (n^2 - 1) where nothing drifts.
    """
    counts = np.concatenate([each.windows['count'].to_numpy(float) for each in played])
    mean = counts.mean() if counts.size else 0.0
    if mean and special.chdtrc(counts.size - 1, float(((counts - mean) ** 2).sum()) / mean) < SIGNIFICANCE:
        return False
    samples = np.concatenate([each.session.turns['sample'].dropna().to_numpy(float) for each in played])
    times = np.log(samples.clip(1e-3))
    n, variance = times.size, times.var(ddof=1)
    if not variance:
        return True
    ratio = float((np.diff(times) ** 2).mean()) / 2 / variance
    return bool(special.ndtr((ratio - 1) / math.sqrt((n - 2) / (n**2 - 1))) >= SIGNIFICANCE)


def _points(played: Replay, rate_window: float) -> pd.DataFrame:
    turns = played.turns
    settled = turns['counted'] & (turns['samples'] >= SETTLED) & (turns['at'] >= rate_window)
    return turns.loc[settled, ['ttft_ewma', 'arrival_rate']]


def _loads(points: pd.DataFrame, settings: RouterSettings) -> list[float]:
    return [load_index(ttft, rate, settings)
            for ttft, rate in zip(points['ttft_ewma'], points['arrival_rate'], strict=True)]
