"""The report in a few lines: the confirmatory endpoint, what fillers are spared, stale rates, PACE-plus at P95."""
from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import FIXED, FULL, PLUS, PURE, RAG, STATIC, title
from pace_ros.study.results.rows import Results
from pace_ros.study.statistics import StatisticsError, confirmatory


def headlines(results: Results, frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """Sentences on what was run; ``frames`` are those of the tables, by name."""
    found = []
    try:
        found.append(f'{confirmatory(results.part("campaign"))}.')
    except StatisticsError:
        found.append('The confirmatory endpoint needs PACE-full and PACE-static in the campaign at c = 16.')
    return [*found, *_ratios(frames['ratios']), *_saved(results), *_stale(frames['table_vii']), *_plus(frames['plus']),
            *_gate(frames['gate'])]


def _ratios(frame: pd.DataFrame) -> list[str]:
    found = []
    for other in (PURE, RAG):
        rows = frame.loc[frame['over'] == other] if len(frame) else frame
        if len(rows):
            each = [f'{words.fine(ratio)} (c = {c:g})' for c, ratio in
                    zip(rows['concurrency'], rows['ptfr_p95_ratio'], strict=True)]
            found.append(f'{title(FULL)} over {title(other)}, PTFR P95: {", ".join(each)}.')
    return found


def _saved(results: Results) -> list[str]:
    rows = results.part('campaign')
    if not (rows['arm'] == FULL).any() or not rows['filler_calls'].sum():
        return []
    means = rows.groupby('arm')[['filler_launched', 'filler_calls']].mean()
    full = means.loc[FULL]
    against = ''
    if FIXED in means.index and (means.loc[FIXED] > 0).all():
        launches, calls = 1 - full / means.loc[FIXED]
        against = (f' Against the fixed policy it spares {words.share(launches)} of launches and '
                   f'{words.share(calls)} of calls.')
    paper = results.published.value('VI', FULL, 'calls_saved')
    return [(f'Filler calls saved by {title(FULL)} against a generator started on every request, over all c: '
             f'{words.share(1 - full["filler_calls"])} (paper: {words.share(paper)}).{against} A generation begins '
             '6 ms after its launch, so that instant turns call in no arm and the fixed one has few calls to spare.')]


def _stale(frame: pd.DataFrame) -> list[str]:
    if frame.empty:
        return []
    each = [f'{title(policy)} {words.share(rate)} (paper: {words.share(paper)})' for policy, rate, paper in
            zip(frame['policy'], frame['stale_rate'], frame['published_stale_rate'], strict=True)]
    return [f'Stale answers after a change: {", ".join(each)}.']


def _plus(frame: pd.DataFrame) -> list[str]:
    if frame.empty:
        return []
    found = []
    for other, rows in frame.groupby('over', sort=False):
        met = (rows['ptfr_p95_ratio_high'] < 1).sum()
        worst = rows['ptfr_p95_ratio'].max()
        found.append(f'{title(PLUS)} over {title(str(other))}: PTFR P95 shown below 1 in {met} of {len(rows)} cells, '
                     f'greatest ratio {"–" if math.isnan(worst) else words.fine(worst)}.')
    return found


def _gate(frame: pd.DataFrame) -> list[str]:
    if frame.empty:
        return []
    held = int((frame['verdict'] == 'not inferior').sum())
    return [f'PACE-gated shown not inferior to {title(STATIC)} in steady load at {held} of {len(frame)} offered c.']
