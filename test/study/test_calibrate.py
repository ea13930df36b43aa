"""Anchors and thresholds proposed from logs."""
from __future__ import annotations

import argparse
import math
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from study_sessions import NOON, turn, write_log

from pace_ros.config import Config
from pace_ros.settings import value_of, with_values
from pace_ros.study import calibrate
from pace_ros.study.false_hits import Thresholds, complete_from, curve, hits_needed, propose
from pace_ros.study.hit_labels import Labelled, labelled
from pace_ros.study.load_anchors import TooLittle
from pace_ros.study.load_anchors import propose as propose_anchors
from pace_ros.study.load_log import Session, read_load
from pace_ros.study.refusal import refusing
from pace_ros.study.router_replay import gate_config, replay
from pace_ros.study.sessions import SourceError
from pace_ros.study.statistics import proportion
from pace_ros.turn import Path


def options(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    calibrate.add_arguments(parser)
    return parser.parse_args([str(each) for each in words])


def judged(*candidates: tuple[float, bool], served: bool = True, level: str = 'L0', in_force: float = 0.9) -> Labelled:
    frame = pd.DataFrame({'level': level, 'score': [score for score, _ in candidates],
                          'correct': [right for _, right in candidates], 'served': served})
    return Labelled(frame, {level: in_force})


def busy(turns: int = 900, *, steady: bool = False, **fields: Any) -> pd.DataFrame:
    """A run whose arrivals and first-token times rise threefold; L0, L1 and L2 take turns."""
    chance = np.random.default_rng(2)
    share = np.full(turns, 0.5) if steady else np.linspace(0, 1, turns)
    path = np.array(['L0', 'L1', 'L2'])[np.arange(turns) % 3]
    ttft = np.where(path == 'L2', 1.2 + 1.5 * share + chance.normal(0, 0.05, turns), np.nan)
    gaps = chance.exponential(1.0, turns) if steady else 1.0 / (0.5 + share)
    return pd.DataFrame({
        'part': 'campaign', 'dataset': 'carqa', 'arm': 'pace-static', 'concurrency': 4.0, 'seed': 1,
        'index': range(turns), 'phase': 'measured', 'at': np.cumsum(gaps), 'lag': 0.0, 'path': path,
        'ttft': ttft, 'ptfr': np.where(path == 'L2', ttft + 0.01, 0.01), 'cache_score': 0.96, 'retrieval_score': 0.8,
        'theta_cache': 0.95, 'theta_direct': 0.75, 'correct': True, 'stale': False, 'exact_repeat': False, **fields,
    })


def test_the_curve_by_hand() -> None:
    found = curve(judged((0.90, False), (0.92, True), (0.95, False), (0.97, True), (0.99, True)), 'L0')
    by = found.set_index('threshold')
    assert found['threshold'].iloc[0] == 0.9
    assert found['threshold'].iloc[-1] == 0.99
    assert by.loc[[0.9, 0.905, 0.95, 0.955, 0.99], 'hits'].tolist() == [5, 4, 3, 2, 1]
    assert by.loc[[0.9, 0.905, 0.95, 0.955, 0.99], 'false'].tolist() == [2, 1, 1, 0, 0]
    assert by.loc[0.955, 'rate_high'] == pytest.approx(proportion(0, 2).high)


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=40))
def test_hits_only_become_fewer_and_the_rate_lies_in_its_interval(candidates: list[tuple[float, bool]]) -> None:
    found = curve(judged(*candidates, in_force=0.5), 'L0')
    assert (found['hits'].diff().dropna() <= 0).all()
    assert (found['false'].diff().dropna() <= 0).all()
    assert (found['rate_low'] <= found['rate'] + 1e-9).all()
    assert (found['rate'] <= found['rate_high'] + 1e-9).all()


def test_below_the_threshold_in_force_a_log_knows_nothing_unless_misses_are_labelled() -> None:
    served = judged((0.91, True), (0.97, True), in_force=0.95)
    assert complete_from(served, 'L0') == 0.95
    assert curve(served, 'L0')['threshold'].iloc[0] == 0.95
    missed = judged((0.71, False), (0.97, True), served=False, in_force=0.95)
    assert complete_from(missed, 'L0') == 0.71
    assert math.isnan(complete_from(missed, 'L1'))


def test_the_thresholds_keep_their_promise() -> None:
    right = [(0.96, True)] * 900
    found = propose(curve(judged(*right, *[(0.92, False)] * 10, *[(0.94, False)] * 2), 'L0'), 'L0', 0.01)
    assert found == Thresholds('L0', low=0.925, operating=0.945, high=0.945)
    assert [proportion(*each).high for each in ((12, 912), (2, 902), (0, 900))] == pytest.approx(
        [0.0229, 0.0081, 0.0042], abs=1e-4)  # above 1 %, below it, below half of it


def test_thresholds_are_in_order_and_shown_by_the_upper_bound() -> None:
    chance = np.random.default_rng(1)
    scores = chance.uniform(0.8, 1.0, 6000)
    wrong = chance.random(6000) < 0.15 * (1.0 - scores) / 0.2
    own = curve(judged(*zip(scores, ~wrong, strict=True), in_force=0.8), 'L0').set_index('threshold')
    found = propose(own.reset_index(), 'L0', 0.05)
    assert isinstance(found, Thresholds)
    assert found.low <= found.operating <= found.high
    assert own.loc[found.low, 'rate_high'] <= 0.05 < own.loc[round(found.low - 0.005, 3), 'rate_high']
    assert own.loc[found.operating, 'rate_high'] <= 0.025


def test_too_few_hits_are_a_sentence() -> None:
    assert hits_needed(0.01) == 381
    assert proportion(0, 381).high <= 0.01 < proportion(0, 380).high
    few = propose(curve(judged(*[(0.96, True)] * 100), 'L0'), 'L0', 0.01)
    assert few == ('L0: no threshold can be shown to keep the false-hit rate at or below 1.00%: of 100 labelled hits 0 '
                   'are wrong, and even without an error it takes 381.')
    assert 'need labels' in str(propose(curve(judged(), 'L0'), 'L0', 0.01))


def test_repeats_stale_answers_and_refused_candidates_are_left_out() -> None:
    turns = pd.DataFrame({
        'path': ['L0', 'L0', 'L0', 'L1', 'L2', 'L2'], 'cache_score': [0.96, 1.0, 0.97, 0.5, 0.93, 0.91],
        'retrieval_score': [np.nan, np.nan, np.nan, 0.8, 0.7, 0.6], 'correct': [True, True, False, False, True, True],
        'stale': [False, False, True, False, False, False], 'exact_repeat': [False, True, False, False, False, False],
        'counted': True, 'theta_cache': [0.95] * 6, 'theta_direct': [0.75] * 6})
    found = labelled([Session('x', turns)])
    assert found.candidates.to_dict('list') == {
        'level': ['L0', 'L1'], 'score': [0.96, 0.8], 'correct': [True, False], 'served': [True, True]}
    assert found.in_force == {'L0': 0.95, 'L1': 0.75}
    assert len(labelled([Session('x', turns.drop(columns='correct'))]).candidates) == 0
    assert len(labelled([Session('x', turns.assign(counted=False))]).candidates) == 0


def test_labels_of_a_log_judge_what_was_missed_where_they_name_a_level(tmp_path: FilePath) -> None:
    log = write_log(tmp_path / 'turns.jsonl', [
        turn('a', 0.1, path=Path.L0, cache_score=0.96, theta_cache=0.95),
        turn('b', 2.0, received_wall=NOON + 1, cache_score=0.85, theta_cache=0.95),
        turn('c', 2.0, received_wall=NOON + 2, cache_score=0.94, theta_cache=0.95, refused=('l0 x: number',)),
        turn('d', 2.0, received_wall=NOON + 3, retrieval_score=0.7, theta_direct=0.75)])
    labels = tmp_path / 'labels.csv'
    labels.write_text('turn_id,correct,level\na,true,\nb,false,L0\nc,false,L0\nd,yes,L1\nb,true,\n', encoding='utf-8')
    found = labelled(read_load(log), labels)
    assert found.candidates.to_dict('list') == {
        'level': ['L0', 'L0', 'L1'], 'score': [0.96, 0.85, 0.7], 'correct': [True, False, True],
        'served': [True, False, False]}
    assert found.unplaced == 1


@pytest.mark.parametrize(('text', 'sentence'), [
    ('turn_id\na\n', 'no column correct'), ('turn_id,correct\na,maybe\n', "true or false, not 'maybe'"),
    ('turn_id,correct\nz,true\n', 'none of its labels'), ('who,correct\na,true\n', 'nothing says which turn'),
    ('turn_id,correct,level\na,true,L7\n', 'level must be L0 or L1'), ('', 'cannot be read as CSV'),
])
def test_bad_labels_are_named(tmp_path: FilePath, text: str, sentence: str) -> None:
    log = write_log(tmp_path / 'turns.jsonl', [turn('a', 0.1, path=Path.L0, cache_score=0.96)])
    labels = tmp_path / 'labels.csv'
    labels.write_text(text, encoding='utf-8')
    with pytest.raises(SourceError, match=sentence):
        labelled(read_load(log), labels)


def test_anchors_make_the_load_index_span_its_range(tmp_path: FilePath) -> None:
    busy().to_parquet(tmp_path / 'requests.parquet')
    config = gate_config()
    found = propose_anchors([replay(each, config) for each in read_load(tmp_path)], config.router)
    before, after = found.points['before'], found.points['after']
    assert before.max() - before.min() < 0.5
    assert after.min() < 0.02
    assert after.max() > 0.98
    assert 1.1 < found.values['router.ttft_low'] < 1.5
    assert 2.4 < found.values['router.ttft_high'] < 2.75
    assert 1.3 < found.values['router.rate_high'] < 1.5
    assert len(found.points) < 900  # the first minute does not count
    assert not found.steady


def test_steady_load_and_too_little_of_it_are_said(tmp_path: FilePath) -> None:
    busy(steady=True).to_parquet(tmp_path / 'requests.parquet')
    assert any('Load was steady' in each for each in calibrate.calibrate(read_load(tmp_path)).sentences)
    busy(150).to_parquet(tmp_path / 'requests.parquet')
    config = gate_config()
    with pytest.raises(TooLittle, match='need 200 turns'):
        propose_anchors([replay(each, config) for each in read_load(tmp_path)], config.router)


def test_the_command_writes_a_parameter_file_of_only_what_it_proposes(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    busy().to_parquet(tmp_path / 'requests.parquet')
    assert calibrate.run(options(tmp_path, '--false-hit-rate', 0.02, '--out', tmp_path / 'out')) == 0
    said = capsys.readouterr().out
    assert 'λ with the shipped anchors' in said
    content = yaml.safe_load((tmp_path / 'out' / 'calibrated.yaml').read_text(encoding='utf-8'))
    router = content['/**']['ros__parameters']['router']
    assert {*router} == {'ttft_low', 'ttft_high', 'rate_low', 'rate_high', 'theta_cache', 'cache_low', 'cache_high',
                         'theta_direct', 'direct_low', 'direct_high'}
    config = with_values(Config(), {f'router.{name}': value for name, value in router.items()})
    assert value_of(config, 'router.cache_low') == 0.95  # all 300 hits are right, and below that nothing is known
    assert (tmp_path / 'out' / 'curve.png').read_bytes().startswith(b'\x89PNG')
    assert set(pd.read_csv(tmp_path / 'out' / 'curve.csv')['level']) == {'L0', 'L1'}


def test_without_labels_only_anchors_are_proposed(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    busy().drop(columns='correct').to_parquet(tmp_path / 'requests.parquet')
    assert calibrate.run(options(tmp_path, '--out', tmp_path / 'out')) == 0
    assert 'L0: no labelled hit; thresholds need labels (--labels).' in capsys.readouterr().out
    assert 'cache_low' not in (tmp_path / 'out' / 'calibrated.yaml').read_text(encoding='utf-8')


@pytest.mark.parametrize(('words', 'sentence'), [
    ((), 'nothing can be proposed. Load anchors need 200 turns'),
    (('--false-hit-rate', 2), '--false-hit-rate must be between 0 and 1, not 2'),
    (('--labels', 'gone.csv'), 'gone.csv: cannot be read as CSV'),
])
def test_what_allows_nothing_is_refused_in_a_sentence(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], sentence: str
) -> None:
    log = write_log(tmp_path / 'turns.jsonl', [turn('a', 2.0)])
    asked = options(log, *words, '--out', tmp_path / 'out')
    assert refusing('study calibrate', lambda: calibrate.run(asked)) == 2
    said = capsys.readouterr().err
    assert said.startswith('study calibrate: ')
    assert sentence in said
    assert not (tmp_path / 'out').exists()
