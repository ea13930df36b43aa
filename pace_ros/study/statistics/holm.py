"""One arm against several baselines, with Holm's correction for having asked so often."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from pace_ros.study.statistics.measured import cell
from pace_ros.study.statistics.paired_tests import paired_tests

EXPLORATORY = 'exploratory'


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values in the order given; NaN, a test not made, stays and is not counted."""
    raw = np.asarray(p_values, dtype=float)
    known = ~np.isnan(raw)
    adjusted = raw.copy()
    if known.any():
        adjusted[known] = multipletests(raw[known], method='holm')[1]
    return [float(each) for each in adjusted]


def against_baselines(
    rows: pd.DataFrame, arm: str, baselines: Sequence[str], concurrency: float, column: str = 'ptfr', *, seed: int = 0
) -> pd.DataFrame:
    """One row a baseline: the fields of PairedTests (arm minus baseline), and ``t_holm`` and ``wilcoxon_holm``.

    The correction is across the baselines, for each test by itself. All of it is exploratory. Raises StatisticsError
    for an arm without rows.
    """
    own = cell(rows, arm, concurrency)
    found = []
    for baseline in baselines:
        fields = asdict(paired_tests(own, cell(rows, baseline, concurrency), column, seed=seed))
        middle = fields.pop('median_difference')
        found.append({
            'arm': arm, 'baseline': baseline, 'concurrency': concurrency, 'column': column, **fields,
            'median_difference': middle['estimate'], 'median_difference_low': middle['low'],
            'median_difference_high': middle['high'],
        })
    table = pd.DataFrame(found)
    for name in ('t', 'wilcoxon'):
        table[f'{name}_holm'] = holm(table[f'{name}_p'].tolist())
    return table.assign(status=EXPLORATORY)
