"""What the figures are drawn from."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from study.results.made_rows import made_rows

from pace_ros.study.results.arms_order import ORDER, POLICIES, in_order, switches, title
from pace_ros.study.results.figure_anatomy import anatomies
from pace_ros.study.results.figure_latency import pareto
from pace_ros.study.results.figure_ramp import rolling, windows
from pace_ros.study.results.figure_staleness import age_bounds, by_age, kinds
from pace_ros.study.results.figures import all_figures
from pace_ros.study.results.published import published
from pace_ros.study.results.rows import prepared
from pace_ros.study.results.table_comparison import comparison
from pace_ros.study.results.table_volatility import volatility


def test_arms_have_their_order_and_strangers_come_last() -> None:
    assert in_order(['z', 'a1', 'pace-full', 'pure-llm', 'a1', 'b']) == ['pure-llm', 'pace-full', 'a1', 'b', 'z']
    assert in_order(['deny', 'admit-all']) == ['admit-all', 'deny']
    assert (title('pace-static'), title('zebra')) == ('PACE-static', 'zebra')
    table = switches()
    assert len(table) == len({*ORDER, *POLICIES}) == table['arm'].nunique()
    assert table.set_index('arm').loc['PACE-full', 'router':'persona'].tolist() == [
        'adaptive', 'adaptive', 'ttl', 'on', 'on', 'on', 'on']


@pytest.mark.parametrize('each', [10, 1])
def test_figures_stand_where_one_in_ten_or_all_are_unanswered(each: int) -> None:
    rows = made_rows(5, arms=('pace-static', 'pace-full', 'pace-gated'), offered=(16,))
    silent = rows['index'] % each == 0
    rows.loc[silent, ['ptfr', 'perceived_latency', 'completion', 'filler_elapsed']] = math.nan
    rows.loc[silent, ['path', 'outcome']] = 'UNKNOWN', 'FAILED'
    results = prepared(rows.loc[rows['part'].isin(['campaign', 'ramp'])], {}, published())
    tables = {table.name: table.frame for table in [*comparison(results), volatility(results)]}
    assert {'figure_3', 'figure_4', 'figure_5'} <= {drawing.name for drawing in all_figures(results, tables)}


def test_the_arms_are_those_of_the_run_where_it_wrote_them() -> None:
    table = switches({'mine': {'filler.mode': 'off', 'router.theta_cache': 0.9}, 'pace-full': {'l1.enabled': False}})
    assert table['arm'].tolist() == ['PACE-full', 'mine']
    assert table['filler'].tolist()[1] == 'off'
    assert table['l1'].tolist() == ['off', 'on']
    assert table['further settings'].tolist() == ['', 'router.theta_cache 0.9']


def test_the_anatomy_is_of_the_median_request_of_each_path() -> None:
    found = anatomies(prepared(made_rows(6, arms=('pace-full', 'pure-llm'), offered=(4,)), {}, published()))
    assert [each.name for each in found][:3] == ['L0', 'L1', 'L2']
    for each in found:
        assert each.arm == 'pace-full'
        ends = [0.0, *(end for name, _, end in each.stages if name != 'rest')]
        assert [begin for name, begin, _ in each.stages if name != 'rest'] == pytest.approx(ends[:-1])
        assert ends[-1] == each.ptfr
        assert math.isnan(each.filler) == ('filler' not in each.name)


def test_rolling_percentiles_count_missing_answers_as_infinite() -> None:
    rows = pd.DataFrame({'index': range(100), 'first': [1.0] * 50 + [math.inf] * 50})
    line = rolling(rows, 'first', 50, window=20).set_index('index')['value']
    assert line[0] == line[35] == 1.0
    assert math.isnan(line[80])


def test_windows_give_the_rate_between_their_first_arrivals() -> None:
    rows = pd.DataFrame({'index': range(200, 300), 'at': np.concatenate([np.arange(50) / 2, 25 + np.arange(50) / 10])})
    edges, rates = windows(rows, 50)
    assert edges.tolist() == [200, 250, 300]
    assert rates == pytest.approx([2.0, 10.0])


def test_a_point_on_the_front_is_beaten_by_none_in_both() -> None:
    cells = pd.DataFrame({'arm': list('abcd'), 'ptfr_p95': [1.0, 2.0, 3.0, 1.0], 'quality': [3.0, 2.0, 4.0, 2.5]})
    assert pareto(cells)['arm'].tolist() == ['a', 'c']


def test_ages_are_cut_into_intervals_that_hold_every_answer_once() -> None:
    rows = pd.DataFrame({'event_age': [0.0, 1.0, 2.0, 3.0, 50.0], 'stale': [True, False, False, False, False],
                         'correct': [False, True, True, None, True], 'path': ['L0', 'L0', 'L2', 'L2', 'L1']})
    parts = by_age(rows, age_bounds(rows['event_age']))
    assert sum(len(part) for *_, part in parts) == 5
    assert kinds(rows) == {'right, L0 or L1': 0.4, 'right, L2': 0.2, 'stale': 0.2, 'wrong': 0.2}
    assert age_bounds(pd.Series([math.nan])).size == 0
