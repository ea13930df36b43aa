"""Up to which load an arm keeps its promise, by hand."""
from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pace_ros.packaged import config_dir
from pace_ros.study.results import words
from pace_ros.study.results.published import published
from pace_ros.study.serving.cell import HOMOGENEOUS, RATES
from pace_ros.study.serving.report import PUBLISHED
from pace_ros.study.serving.rows import Results
from pace_ros.study.serving.table_saturation import saturation

LATE = {0.5: 0, 1.0: 1, 1.5: 30, 2.0: 1}  # of 100 turns, by load


@pytest.fixture
def results() -> Results:
    cell = {'part': RATES, 'workload': 'two-phase', 'fleet': HOMOGENEOUS, 'mean_append': 0, 'error': 0.0}
    turns, runs = [], []
    for arm, shift in (('pinned', 0), ('collocated', 2)):
        for load, late in LATE.items():
            own = {**cell, 'arm': arm, 'load': load}
            runs.append({**own, 'rate': 3.0 * load})
            turns += [{**own, 'late': number < late + shift, 'refused': 'full' if number < shift else ''}
                      for number in range(100)]
    return Results(pd.DataFrame(turns), pd.DataFrame(), pd.DataFrame(runs), {},
                   published(Path(config_dir()) / PUBLISHED))


def test_the_last_load_before_the_first_at_which_more_than_a_hundredth_are_late(results: Results) -> None:
    pinned, collocated = saturation(results).frame.to_dict('records')
    assert (pinned['arm'], pinned['kept_load'], pinned['kept_rate']) == ('pinned', 1.0, 3.0)
    assert (pinned['last_load'], pinned['last_late'], pinned['last_refused']) == (2.0, 0.01, 0.0)
    assert (collocated['last_late'], collocated['last_refused']) == (0.03, 0.02)
    assert pd.isna(collocated['kept_load'])
    shown = saturation(results).shown
    assert list(shown['kept up to c']) == ['1', words.DASH]
