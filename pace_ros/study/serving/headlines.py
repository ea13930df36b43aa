"""What a reader should know first, in sentences made of the numbers in the tables."""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.serving.arms import PREDICTED
from pace_ros.study.serving.cell import RATES


def headlines(frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """One a workload, then one on append length."""
    lines = ['All latencies are simulated, all energy is modelled.']
    rates = frames['serving_rates']
    if len(rates) and (none := int((rates['refused'] == 1).sum())):
        lines.append(f'In {none} of {len(rates)} cells every turn was refused: contexts or caches are too small there.')
    ratios, appends = frames['serving_ratios'], frames['serving_appends']
    if len(ratios):
        own = ratios.loc[(ratios['part'] == RATES) & (ratios['over'] == PREDICTED)]
        for workload, rows in own.groupby('workload', sort=False):
            lines.append(f'{str(workload).capitalize()}: P95 of pinned serving over per-turn prediction, '
                         f'{_span(rows["ttfet_ratio"])} in TTFET of conversations, {_span(rows["later_ratio"])} in '
                         f'first tokens of later turns, over loads {rows["load"].min():g} to {rows["load"].max():g}.')
    if len(appends):
        own = appends.loc[appends['over'] == PREDICTED].sort_values('mean_append')
        if len(own):
            first, last = own.iloc[0], own.iloc[-1]
            lines.append(f"The gain depends on append length: the ratio of later turns' P95 to per-turn prediction is "
                         f'{words.fine(first["later_ratio"])} at {first["mean_append"]:,} new tokens a turn and '
                         f'{words.fine(last["later_ratio"])} at {last["mean_append"]:,}.')
    return lines


def _span(values: pd.Series) -> str:
    low, high = words.fine(values.min()), words.fine(values.max())
    return low if low == high else f'{low} to {high}'
