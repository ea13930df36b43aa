"""The same requests under two arms."""
from __future__ import annotations

import pandas as pd

from pace_ros.study.statistics.error import StatisticsError
from pace_ros.study.statistics.measured import measured

MATCH = ('part', 'dataset', 'concurrency', 'seed', 'index')
"""What rows of one request agree in."""


def pairs(one: pd.DataFrame, other: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """One row a request measured under both arms: its keys, and each column as name_a and name_b.

    Rows are in the order of their keys. Raises StatisticsError if no request is common, or one stands twice.
    """
    keys = [each for each in MATCH if each in one and each in other]
    wanted = [*keys, *columns]
    sides = [measured(each)[wanted] for each in (one, other)]
    for side in sides:
        if side.duplicated(keys).any():
            raise StatisticsError(f'A request stands twice: several rows agree in {", ".join(keys)}.')
    both = sides[0].merge(sides[1], on=keys, suffixes=('_a', '_b'))
    if not len(both):
        raise StatisticsError('The two arms have no request in common.')
    return both.sort_values(keys, kind='stable', ignore_index=True)
