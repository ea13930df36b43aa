"""A handful of requests against the real node over DDS, and a simulated cloud in a process of its own."""
from __future__ import annotations

import math
import sqlite3
import sys
from pathlib import Path as FilePath

import pytest
import yaml
from node_process import ROOT, environment

from pace_ros.config import Config
from pace_ros.ros.processes import ProcessError
from pace_ros.ros.spot_rows import EXTRA, JUDGED, spot_rows
from pace_ros.ros.spot_run import RealRun, copy_snapshot, in_real_time, node_config, write_parameters
from pace_ros.ros.spot_visitors import Visit, schedule
from pace_ros.settings import ConfigError
from pace_ros.study.datasets.question import Question
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.workload.request import Request
from pace_ros.turn import Arm, Outcome, Path, TurnRecord

KNOWN = 'What is the range of the Lark?'
TEXTS = (KNOWN, 'Why is the sea salty?', KNOWN, 'Why is the sea salty?', 'Do whales sleep at night?',
         'Why do cats purr?', KNOWN, 'Why do cats purr?', 'Who built the first bridge?', KNOWN)
QUICK = {
    'speech.enabled': False, 'filler.generator': False, 'filler.mode': 'off', 'router.mode': 'static',
    'l1.knowledge': [f'{ROOT}/test/lark.yaml'],
}
CLOUD = (sys.executable, str(ROOT / 'test/spot_cloud.py'))


def stream(count: int = 10) -> tuple[Request, ...]:
    """Requests 0.15 s apart; the second asking of a question takes L0, what the knowledge has takes L1."""
    return tuple(
        Request(index, 0.15 * index, Question(f'q{index}', text, 'en-US', text, 'an answer'), 4.0,
                hypotheses=((0.2, text[:8]), (0.1, text[:14])))
        for index, text in enumerate(TEXTS[:count])
    )


def test_a_stream_is_answered_by_the_real_node_on_its_schedule(tmp_path: FilePath) -> None:
    progress: list[tuple[int, int]] = []
    run = RealRun('pace-static', stream(), 'tiny', 3, QUICK, cloud=CLOUD)
    rows = in_real_time(run, tmp_path, environment=environment(),
                    on_progress=lambda sent, ended: progress.append((sent, ended)))
    assert [row['path'] for row in rows] == ['L1', 'L2', 'L1', 'L0', 'L2', 'L2', 'L1', 'L0', 'L2', 'L1']
    assert {row['outcome'] for row in rows} == {'ANSWERED'}
    assert rows[1]['answer'] == rows[3]['answer'] == 'The sea is salty because of rivers.'
    for row in rows:
        assert 0.0 <= row['lag'] < 0.5
        assert 0.0 < row['ptfr'] < row['ptfr_client'] < 2.0
        assert 0.0 <= row['transit'] < 0.5
    assert progress[-1] == (10, 10)
    assert 'Traceback' not in (tmp_path / 'dialogue.log').read_text() + (tmp_path / 'cloud.log').read_text()


def test_the_schedule_is_that_of_the_stream() -> None:
    dues = schedule(stream(2))
    assert [(round(due.at, 2), due.index, due.partial) for due in dues] == [
        (-0.2, 0, True), (-0.1, 0, True), (-0.05, 1, True), (0.0, 0, False), (0.05, 1, True), (0.15, 1, False),
    ]
    assert [due.text for due in schedule(stream(2), hypotheses=False)] == list(TEXTS[:2])


def test_rows_join_stream_visits_and_records() -> None:
    records = [TurnRecord('t', 'spot-1', utterance_id='1', path=Path.L2, outcome=Outcome.ANSWERED, ptfr=1.2,
                          completion=2.0, answer=' Rivers. ', filler_shown=True, filler_elapsed=0.7,
                          since_speech_end=0.002)]
    visits = {0: Visit(sent=0.01), 1: Visit(sent=0.16, answered=1.37, ended=2.2)}
    lost, answered = spot_rows(stream(2), records, visits, arm='pace-full', dataset='tiny', seed=7)
    assert list(answered) == [name for name in (*COLUMNS, *EXTRA) if name not in JUDGED]
    assert (answered['part'], answered['arm'], answered['seed'], answered['concurrency']) == (
        'spot', 'pace-full', 7, 4.0)
    assert (answered['index'], answered['path'], answered['outcome'], answered['answer']) == (
        1, 'L2', 'ANSWERED', 'Rivers.')
    assert answered['lag'] == pytest.approx(0.01)
    assert answered['perceived_latency'] == 0.7
    assert answered['ptfr_client'] == pytest.approx(1.21)
    assert answered['transit'] == 0.002
    assert (lost['path'], lost['outcome'], lost['reason']) == ('UNKNOWN', 'UNKNOWN', 'no record of the turn')
    assert math.isnan(lost['ptfr'])
    assert math.isnan(lost['ptfr_client'])
    assert lost['lag'] == pytest.approx(0.01)


def test_the_parameter_file_says_what_is_not_default(tmp_path: FilePath) -> None:
    run = RealRun('a', (), 'tiny', 1, QUICK, switches=Arm(router='static'))
    write_parameters(node_config(run, tmp_path, 'http://127.0.0.1:9/v1'), tmp_path / 'parameters.yaml')
    assert yaml.safe_load((tmp_path / 'parameters.yaml').read_text())['/**']['ros__parameters'] == {
        **QUICK, 'data_dir': str(tmp_path), 'l2.base_url': 'http://127.0.0.1:9/v1', 'allow_overrides': True,
    }
    with pytest.raises(ConfigError, match=r"'router\.mode' must be one of static, adaptive, gated, not 'wild'"):
        node_config(RealRun('a', (), 'tiny', 1, {'router.mode': 'wild'}), tmp_path, '')
    assert node_config(RealRun('a', (), 'tiny', 1, {}), tmp_path, '').router == Config().router


def test_a_snapshot_comes_with_its_journal(tmp_path: FilePath) -> None:
    source = sqlite3.connect(tmp_path / 'snapshot.sqlite')
    source.execute('PRAGMA journal_mode=WAL')
    source.execute('CREATE TABLE entries (question TEXT)')
    source.execute("INSERT INTO entries VALUES ('hello')")
    source.commit()
    copy_snapshot(tmp_path / 'snapshot.sqlite', tmp_path / 'l0.sqlite')
    copied = sqlite3.connect(tmp_path / 'l0.sqlite')
    assert copied.execute('SELECT * FROM entries').fetchall() == [('hello',)]
    for each in (source, copied):
        each.close()
    with pytest.raises(ProcessError, match='There is no cache snapshot'):
        copy_snapshot(tmp_path / 'missing.sqlite', tmp_path / 'l0.sqlite')
    (tmp_path / 'text.sqlite').write_text('no database at all, but long enough to look at')
    with pytest.raises(ProcessError, match='cannot be read'):
        copy_snapshot(tmp_path / 'text.sqlite', tmp_path / 'l0.sqlite')


@pytest.mark.parametrize('program', ['print("no URL")', 'raise SystemExit("broken")'])
def test_a_cloud_that_does_not_start_is_one_sentence(tmp_path: FilePath, program: str) -> None:
    run = RealRun('a', stream(1), 'tiny', 1, QUICK, cloud=(sys.executable, '-c', program))
    with pytest.raises(ProcessError, match=r'^The simulated cloud does not start; see .*cloud\.log\.$'):
        in_real_time(run, tmp_path, environment=environment())


def test_a_node_that_dies_is_one_sentence(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = [sys.executable, '-c', 'import sys; print("listening"); sys.exit(3)']
    monkeypatch.setattr('pace_ros.ros.spot_run.executable', lambda _name: dying)
    with pytest.raises(ProcessError, match=r'^The dialogue node has ended by itself with code 3; see .*dialogue\.log'):
        in_real_time(RealRun('a', stream(1), 'tiny', 1, QUICK), tmp_path, environment=environment())
