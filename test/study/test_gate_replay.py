"""The gate replayed on logs."""
from __future__ import annotations

import argparse
import math
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import run_of
from study_sessions import NOON, turn, write_bag, write_log

from pace_ros.study import gate_replay
from pace_ros.study.gate_summary import changes, summary
from pace_ros.study.load_log import Session, read_load
from pace_ros.study.refusal import refusing
from pace_ros.study.router_replay import Replay, gate_config, replay
from pace_ros.study.sessions import SourceError
from pace_ros.turn import Path


def session(at: Any, ttft: float = 1.5) -> Session:
    """Arrivals at these instants (s), each answered by L2 with a first token after ``ttft``."""
    at = np.asarray(at, dtype=float)
    return Session('made up', pd.DataFrame({'at': at, 'path': 'L2', 'sample': ttft, 'sampled_at': at + ttft,
                                            'counted': True}))


def options(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    gate_replay.add_arguments(parser)
    return parser.parse_args([str(each) for each in words])


STEADY = np.arange(0, 1800.5)  # one a second for half an hour


def test_a_steady_floor_is_pinned_after_eleven_windows() -> None:
    played = replay(session(STEADY), gate_config())
    windows = played.windows
    assert windows['at'].tolist() == pytest.approx([60.0 * each for each in range(1, 31)])
    assert set(windows['count']) == {60}
    assert windows['gate'].tolist() == ['ADAPTIVE'] * 10 + ['STATIC'] * 20
    found = summary(played)
    assert (found['windows_to_closure'], found['openings'], found['changes']) == (11, 0, 0)
    assert found['static'] == pytest.approx(1141 / 1801)  # from the arrival at 660 s on
    assert math.isnan(float(str(found['exposure_single'])))


def test_thresholds_under_each_mode() -> None:
    turns = replay(session(STEADY), gate_config()).turns
    load = turns['load']
    assert (turns['theta_cache_static'] == 0.95).all()
    assert (turns['theta_direct_static'] == 0.75).all()
    assert turns['theta_cache_adaptive'].to_numpy() == pytest.approx(0.98 - 0.08 * load.to_numpy())
    static = turns['gate'] == 'STATIC'
    for name in ('theta_cache', 'theta_direct'):
        assert (turns[f'{name}_gated'] == turns[f'{name}_static'].where(static, turns[f'{name}_adaptive'])).all()


def test_windows_of_requests_end_with_the_request_that_fills_them() -> None:
    played = replay(session(np.arange(0, 601)), gate_config(requests=50))
    assert played.windows['at'].tolist() == [49.0 + 50 * each for each in range(12)]
    assert set(played.windows['count']) == {50}
    assert played.windows['rate'].iloc[0] == pytest.approx(50 / 49)
    assert played.windows['gate'].tolist() == ['ADAPTIVE'] * 10 + ['STATIC'] * 2


@pytest.mark.parametrize('begin', [1200.0, 1215.0, 1230.0, 1259.0])
def test_a_step_of_load_opens_the_gate_and_exposes_for_at_most_h_plus_one_windows(begin: float) -> None:
    at = np.concatenate([np.arange(0, begin), np.arange(begin, begin + 1200, 1 / 3)])
    played = replay(session(at), gate_config(literal=True))
    found = summary(played)
    assert (found['openings'], found['changes'], found['bound']) == (1, 1, 11)
    assert found['exposure_single'] in (10, 11)
    fired = played.windows.loc[played.windows['fired'] != '']
    assert fired['window'].iloc[0] == (21 if begin < 1250 else 22)  # of its last second a window shows nothing
    assert 'rate ratio' in ' '.join(fired['fired'])
    assert fired['ratio'].iloc[0] > 1.5
    assert fired['ratio_p'].iloc[0] < 0.01
    assert played.windows['gate'].iloc[-1] == 'STATIC'


def test_silence_closes_windows_too() -> None:
    played = replay(session([0.0, 1.0, 600.0]), gate_config())
    assert played.windows['count'].tolist() == [2, *[0] * 9]


def test_changes_are_told_apart_by_closures() -> None:
    fired = ['', 'a', '', 'S', 'S', 'a', 'b', '', 'S', 'a']
    windows = pd.DataFrame({'window': range(1, 11), 'fired': [each if each in 'ab' else '' for each in fired],
                            'gate': ['STATIC' if each == 'S' else 'ADAPTIVE' for each in fired]})
    found = changes(windows)
    assert found[['first', 'last']].to_numpy().tolist() == [[2, 2], [6, 7], [10, 10]]
    assert found['single'].all()
    assert found['exposure'].tolist()[:2] == [2.0, 3.0]
    assert math.isnan(found['exposure'].iloc[2])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 40), min_size=1, max_size=120), st.booleans(), st.sampled_from([0, 5]))
def test_every_turn_is_in_one_window_and_a_closed_gate_was_quiet(
    gaps: list[float], literal: bool, requests: int
) -> None:
    played = replay(session(np.cumsum(gaps)), gate_config(requests=requests, seconds=20.0, literal=literal))
    windows = played.windows
    assert len(played.turns) == len(gaps)
    assert len(gaps) - windows['count'].sum() >= 0
    assert ((windows['gate'] == 'STATIC') == (windows['quiet_windows'] >= 10)).all()
    assert not ((windows['fired'] != '') & (windows['quiet_windows'] > 0)).any()
    assert (np.diff(windows['at']) > 0).all() or requests
    found = changes(windows)
    single = found.loc[found['single'], 'exposure'].dropna()
    assert (single <= 11).all()


def test_a_log_is_read_with_first_tokens_when_they_were_seen(tmp_path: FilePath) -> None:
    log = write_log(tmp_path / 'turns.jsonl', [
        turn('a', 2.0, ttft=1.9), turn('b', 0.01, received_wall=NOON + 1, path=Path.L0),
        turn('c', received_wall=NOON + 2, ttft=3.0), turn('d', 1.0, received_wall=NOON + 20_000, ttft=0.9)])
    first, second = read_load(log)
    assert first.turns['at'].tolist() == [0.0, 1.0, 2.0]
    assert first.turns['sampled_at'].dropna().tolist() == pytest.approx([2.0, 5.0])
    assert len(second.turns) == 1  # after five and a half hours the node was started anew
    bag = write_bag(tmp_path / 'bag', [turn('a', 2.0, ttft=1.9)], namespace='/robot7')
    assert read_load(bag)[0].turns['sample'].tolist() == [1.9]
    assert read_load(bag)[0].name.startswith('robot7')




def test_a_run_is_one_session_a_cell_and_seed_and_a_ramp_one_a_seed(tmp_path: FilePath) -> None:
    run = run_of({'pace-full': 1.0}, concurrencies=(4, 16), seeds=(1, 2))
    ramp = run.loc[run['seed'] == 1].assign(part='ramp')
    rows = pd.concat([run, ramp], ignore_index=True)
    rows['lag'] = 0.5
    rows.to_parquet(tmp_path / 'requests.parquet')
    sessions = read_load(tmp_path)
    assert [len(each.turns) for each in sessions] == [65] * 4 + [130]
    assert sessions[0].name == 'campaign carqa pace-full c=4 1'
    assert sessions[0].turns['counted'].sum() == 60
    assert len(read_load(tmp_path / 'requests.parquet', {'part': 'campaign', 'seed': 2})) == 2
    with pytest.raises(SourceError, match='there is no arm pace-fast; there is pace-full'):
        read_load(tmp_path, {'arm': 'pace-fast'})


def test_the_recorded_load_index_is_compared(tmp_path: FilePath) -> None:
    made = session(STEADY)
    loads = replay(made, gate_config()).turns['load']
    recorded = Session('x', made.turns.assign(load_index=loads + 0.01))
    assert summary(replay(recorded, gate_config()))['recorded_load'] == pytest.approx(0.01)


def test_the_command_shows_and_writes(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    run_of({'pace-full': 1.0, 'pace-static': 1.0}, seeds=(1,)).to_parquet(tmp_path / 'requests.parquet')
    assert gate_replay.run(options(tmp_path, '--requests', 5, '--arm', 'pace-full', '--out', tmp_path / 'out')) == 0
    said = capsys.readouterr().out
    assert 'Windows of campaign carqa pace-full c=16 1' in said
    assert 'STATIC' in said
    windows, turns, totals = (pd.read_csv(tmp_path / 'out' / f'{each}.csv') for each in ('windows', 'turns', 'summary'))
    assert (len(windows), len(turns), len(totals)) == (13, 65, 1)
    assert totals['turns'].tolist() == [60]  # the warm-up is replayed, not counted
    assert gate_replay.run(options(tmp_path)) == 0
    assert '2 of 2 sessions have too few windows' in capsys.readouterr().out


@pytest.mark.parametrize(('words', 'sentence'), [
    (('gone',), 'no such file'), (('empty.jsonl',), 'there is no turn in it'),
    (('turns.jsonl', '--arm', 'x'), 'there is no turn in it'), (('turns.jsonl', '--seed', 1), 'only a run has a seed'),
    (('turns.jsonl', '--seconds', 0), "'gate.window' must be from"),
    (('other.parquet',), 'there is no column at, ttft'),
    (('broken.parquet',), 'cannot be read as Parquet'),
])
def test_what_cannot_be_replayed_is_one_sentence(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], sentence: str
) -> None:
    (tmp_path / 'empty.jsonl').touch()
    write_log(tmp_path / 'turns.jsonl', [turn('a', 2.0)])
    pd.DataFrame({'x': [1]}).to_parquet(tmp_path / 'other.parquet')
    (tmp_path / 'broken.parquet').write_text('no')
    asked = options(tmp_path / str(words[0]), *words[1:])
    assert refusing('study gate', lambda: gate_replay.run(asked)) == 2
    said = capsys.readouterr().err
    assert said.startswith('study gate: ')
    assert sentence in said
    assert said.count('\n') == 1


def test_an_empty_session_has_no_window() -> None:
    played: Replay = replay(session([0.0]), gate_config())
    assert len(played.windows) == 0
    assert summary(played)['windows'] == 0
