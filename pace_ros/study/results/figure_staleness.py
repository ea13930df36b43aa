"""Figure 6, out-of-date answers by admission policy, and the supplement's figure over the age of the event."""
from __future__ import annotations

from itertools import pairwise
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from pace_ros.study.report_figures import INK, Drawing
from pace_ros.study.results.arms_order import POLICY_COLOURS, POLICY_MARKERS, title
from pace_ros.study.results.drawn import point_handle, span
from pace_ros.study.results.rows import Results
from pace_ros.study.results.table_volatility import by_policy
from pace_ros.study.statistics import proportion

KINDS = {'right, L0 or L1': '#009E73', 'right, L2': '#56B4E9', 'stale': '#D55E00', 'wrong': '#999999'}
SHARES = {
    'stale_rate': ('', 'of answers after a change'),
    'stale_of_l0_after_rate': ('///', 'of L0 answers after a change'),
    'stale_of_l0_rate': ('...', 'of all L0 answers'),
}
"""The shares of stale answers by their entry in the frame of table VII, with hatch and name."""
_BINS = 8


def draw(results: Results, table: pd.DataFrame) -> list[Drawing]:
    """Both figures from the volatility part and the frame of table VII; none without requests after a change."""
    rows = results.part('volatility')
    changed = rows.loc[rows['after_change'] & rows['answered']]
    if changed.empty:
        return []
    bounds = age_bounds(changed['event_age'])
    return [
        Drawing('figure_6', 'Figure 6. Share of stale answers: by admission policy, of all answers given after the '
                'right one had changed, of those of them from L0, and of all from L0 (hollow: published); and, of all '
                'after a change, over the time since then. 95 % Wilson intervals.',
                _stale(changed, table, bounds)),
        Drawing('event_age', 'Supplement: what was answered, over the time since the right answer changed, by '
                'admission policy; bars as wide as their interval of ages.', _by_age(changed, bounds)),
    ]


def age_bounds(ages: pd.Series) -> np.ndarray:
    """Bounds (s) of intervals of ages that hold about as many requests each."""
    known = ages.dropna().to_numpy(dtype=float)
    if not known.size:
        return np.zeros(0)
    return np.unique(np.quantile(known, np.linspace(0, 1, min(_BINS, known.size) + 1)))


def by_age(rows: pd.DataFrame, bounds: np.ndarray) -> list[tuple[float, float, pd.DataFrame]]:
    """The rows in each interval of ages."""
    found = []
    for place, (low, high) in enumerate(pairwise(bounds)):
        last = place == len(bounds) - 2
        inside = (rows['event_age'] >= low) & ((rows['event_age'] <= high) if last else (rows['event_age'] < high))
        found.append((float(low), float(high), rows.loc[inside]))
    return found


def _stale(rows: pd.DataFrame, table: pd.DataFrame, bounds: np.ndarray) -> Figure:
    figure = Figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1, 1.5])
    for place, each in enumerate(table.to_dict('records')):
        hue = POLICY_COLOURS.get(each['policy'], '#999999')
        for shift, (name, (hatch, _)) in enumerate(SHARES.items()):
            at, share = place + 0.27 * (shift - 1), each[name]
            left.bar(at, share, width=0.25, color=hue, hatch=hatch, edgecolor='white', linewidth=0.4)
            left.errorbar([at], [share], color=INK, linewidth=1,
                          yerr=span(each[f'{name}_low'], share, each[f'{name}_high']))
        left.plot(place + 0.44, each['published_stale_rate'], 'D', color=INK, markerfacecolor='none', markersize=7)
    left.set_xticks(range(len(table)), [fill(title(each), 9) for each in table['policy']])
    left.set_ylabel('stale')
    left.grid(visible=False, axis='x')
    left.set_axisbelow(True)
    for name, own in by_policy(rows):
        hue = POLICY_COLOURS.get(name, '#999999')
        points = [((low + high) / 120, proportion(int(part['stale'].sum()), len(part)))
                  for low, high, part in by_age(own, bounds) if len(part)]
        right.plot([x for x, _ in points], [each.estimate for _, each in points], color=hue, linewidth=1.6,
                   marker=POLICY_MARKERS.get(name, '.'), label=title(name))
        right.fill_between([x for x, _ in points], [each.low for _, each in points], [each.high for _, each in points],
                           color=hue, alpha=0.12, linewidth=0)
    right.set_xlabel('time since the change (min)')
    right.set_xlim(left=0)
    right.set_ylim(-0.02, 1.02)
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    handles, _ = right.get_legend_handles_labels()
    known = [point_handle('D', 'published', filled=False)] if table['published_stale_rate'].notna().any() else []
    bars = [Patch(facecolor='#777777', hatch=hatch, edgecolor='white', label=name) for hatch, name in SHARES.values()]
    figure.legend(handles=[*handles, *known, *bars], loc='outside lower center', ncols=5)
    return figure


def _by_age(rows: pd.DataFrame, bounds: np.ndarray) -> Figure:
    policies = by_policy(rows)
    figure = Figure(figsize=(11, 3.6))
    axes = figure.subplots(1, len(policies), sharey=True, squeeze=False)[0]
    for axis, (name, own) in zip(axes, policies, strict=True):
        for low, high, part in by_age(own, bounds):
            begin = 0.0
            for kind, share in kinds(part).items():
                axis.bar(low / 60, share, width=(high - low) / 60, bottom=begin, align='edge', color=KINDS[kind],
                         edgecolor='white', linewidth=0.4)
                begin += share
        axis.set_title(fill(title(name), 22), loc='left')
        axis.set_xlabel('since the change (min)')
        axis.set_ylim(0, 1)
        axis.grid(visible=False)
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[0].set_ylabel('share of answers')
    handles = [Patch(color=hue, label=kind) for kind, hue in KINDS.items()]
    figure.legend(handles=handles, loc='outside lower center', ncols=4)
    return figure


def kinds(rows: pd.DataFrame) -> dict[str, float]:
    """Shares of what was answered; all 0 of nothing."""
    right = rows['correct'].eq(True) & ~rows['stale']
    quick = rows['path'].isin(('L0', 'L1'))
    n = max(1, len(rows))
    counts = {'right, L0 or L1': right & quick, 'right, L2': right & ~quick, 'stale': rows['stale'],
              'wrong': ~right & ~rows['stale']}
    return {kind: float(each.sum()) / n for kind, each in counts.items()}
