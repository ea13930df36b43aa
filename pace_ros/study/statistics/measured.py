"""Which rows are counted."""
from __future__ import annotations

import pandas as pd

from pace_ros.study.statistics.error import StatisticsError
from pace_ros.study.workload.request import WARM_UP


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """All rows but those of the warm-up."""
    return rows.loc[rows['phase'] != WARM_UP] if 'phase' in rows else rows


def cell(rows: pd.DataFrame, arm: str, concurrency: float | None = None, *, part: str | None = None) -> pd.DataFrame:
    """The measured rows of one arm, at one offered concurrency and of one part if named.

    Raises StatisticsError if there are none.
    """
    wanted = rows['arm'] == arm
    if concurrency is not None:
        wanted &= rows['concurrency'] == concurrency
    if part is not None and 'part' in rows:
        wanted &= rows['part'] == part
    chosen = measured(rows.loc[wanted])
    if not len(chosen):
        where = '' if concurrency is None else f' at c = {concurrency:g}'
        raise StatisticsError(f'There are no measured rows of arm {arm}{where}'
                              f'{"" if part is None else f" in part {part}"}.')
    return chosen
