"""Two runs side by side."""
from __future__ import annotations

import argparse
import math
from pathlib import Path as FilePath

import numpy as np
import pandas as pd
import pytest
from study_rows import run_of

from pace_ros.study import compare
from pace_ros.study.cell_comparison import MEASURES, same_requests
from pace_ros.study.refusal import refusing


def options(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    return parser.parse_args([str(each) for each in words])


def by_measure(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_index('measure')


def test_a_run_does_not_differ_from_itself() -> None:
    run = run_of({'pace-full': 1.0, 'pure-llm': 2.0}, concurrencies=(4, 16))
    table, only_a, only_b = compare.compare(run, run)
    assert len(table) == 4 * len(MEASURES)
    assert table['paired'].all()
    assert not table['differs'].any()
    assert set(table.loc[table['kind'] == 'ratio', 'change']) == {1.0}
    assert set(table.loc[(table['kind'] == 'difference'), 'change'].dropna()) == {0.0}
    assert (only_a, only_b) == ([], [])


def test_what_changed_differs_and_what_did_not_does_not() -> None:
    before, after = run_of({'pace-full': 1.0}), run_of({'pace-full': 1.0})
    after['ptfr'] *= 1.3
    after['quality'] -= 1.0
    after.loc[after['index'] % 2 == 0, 'stale'] = True
    after['tokens_wasted'] = 75
    found = by_measure(compare.compare(before, after)[0])
    assert found.loc['PTFR P95 (s)', ['change', 'low', 'high']].tolist() == pytest.approx([1.3] * 3)
    assert found.loc['quality (1 to 5)', 'change'] == pytest.approx(-1.0)
    assert found.loc['stale share', ['a', 'b']].tolist() == pytest.approx([0.0, 0.5])
    spent = found.loc['tokens a turn, wasted ones included', ['a', 'b', 'change']]
    assert spent.tolist() == pytest.approx([150.0, 225.0, 1.5])
    assert found.index[found['differs']].tolist() == ['PTFR P50 (s)', 'PTFR P95 (s)', 'quality (1 to 5)', 'stale share',
                                                      'tokens a turn, wasted ones included',
                                                      'tokens wasted a turn']
    assert found.loc['tokens wasted a turn', ['a', 'b', 'change']].tolist() == [0.0, 75.0, 75.0]
    assert (found['n_a'] == 180).all()  # without the warm-up


def test_conflicts_are_a_share_of_turns_with_a_filler() -> None:
    run = run_of({'pace-full': 1.0}, seeds=(1,), warm_up=0, n=10)
    run['filler_shown'] = [True] * 4 + [False] * 6
    run['filler_conflict'] = ['quantity', '', '', '', 'date', '', '', '', '', '']
    found = by_measure(compare.compare(run, run)[0])
    assert found.loc['conflict share', 'a'] == 0.25
    none = by_measure(compare.compare(run.assign(filler_shown=False), run)[0])
    assert math.isnan(none.loc['conflict share', 'change'])
    assert not none.loc['conflict share', 'differs']


def test_other_requests_are_resampled_apart_and_give_a_wider_interval() -> None:
    one, same, other = run_of({'pace-full': 1.0}), run_of({'pace-full': 1.1}), run_of({'pace-full': 1.1})
    other['question_id'] = 'another'
    assert same_requests(one, same)
    assert not same_requests(one, other)
    assert not same_requests(one, same.iloc[:-1])
    paired, apart = (by_measure(compare.compare(one, each)[0]) for each in (same, other))
    name = 'PTFR P50 (s)'
    assert paired.loc[name, 'differs']
    assert not apart.loc[name, 'differs']
    assert not apart.loc[name, 'paired']
    assert apart.loc[name, 'low'] < paired.loc[name, 'low'] < paired.loc[name, 'high'] < apart.loc[name, 'high']


def test_no_answer_is_infinite() -> None:
    before, after = run_of({'pace-full': 1.0}), run_of({'pace-full': 1.0})
    after.loc[after['index'] % 5 == 0, 'ptfr'] = np.nan
    found = by_measure(compare.compare(before, after)[0])
    assert found.loc['PTFR P95 (s)', ['b', 'change', 'high']].tolist() == [math.inf] * 3
    assert found.loc['PTFR P95 (s)', 'differs']


def test_the_command_shows_writes_and_says_what_only_one_has(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = tmp_path / 'a', tmp_path / 'b'
    for folder, run in ((a, run_of({'pace-full': 1.0, 'a1': 1.0})), (b, run_of({'pace-full': 2.0, 'pure-llm': 1.0}))):
        folder.mkdir()
        run.to_parquet(folder / 'requests.parquet')
    assert compare.run(options(a, b, '--out', tmp_path / 'out')) == 0
    said = capsys.readouterr().out
    assert 'campaign carqa pace-full c=16' in said
    assert '× 2.000 [2.000, 2.000]' in said
    assert 'campaign carqa a1 c=16' in said
    assert 'campaign carqa pure-llm c=16' in said
    assert said.count('only in') == 2
    assert len(pd.read_csv(tmp_path / 'out' / 'compare.csv')) == len(MEASURES)


def test_what_cannot_be_compared_is_one_sentence(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    for name, run in (('a', run_of({'a1': 1.0})), ('b', run_of({'a4': 1.0})), ('c', pd.DataFrame({'at': [1.0]}))):
        (tmp_path / name).mkdir()
        run.to_parquet(tmp_path / name / 'requests.parquet')
    for other, sentence in (('b', 'no arm at the same concurrency'), ('c', 'there is no column part'),
                            ('d', 'no such file')):
        assert refusing('study compare', lambda b=other: compare.run(options(tmp_path / 'a', tmp_path / b))) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count('\n') == 1
