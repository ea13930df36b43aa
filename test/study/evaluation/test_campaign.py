"""A study from the command line to its table: real worker processes, real encoder, simulated cloud."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from study_showroom import write

from pace_ros.study.evaluation.campaign import Campaign
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.evaluation.plan import Plan
from pace_ros.study.main import main


def study(folder: Path, *words: str) -> int:
    """Run ``study`` and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*words, '--out', str(folder)])
    return int(ended.value.code or 0)


def elsewhere(folder: Path, *words: str) -> int:
    """The same in a process of its own."""
    command = [sys.executable, '-m', 'pace_ros.study.main', *words, '--out', str(folder)]
    return subprocess.run(command, env={**os.environ, 'PYTHONHASHSEED': '1'}, check=False, timeout=120).returncode


def test_a_study_runs_is_resumed_and_is_the_same_to_the_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(write(tmp_path))
    words = ('run', 'campaign', '--costs', 'fixed', '--dataset', own, '--language', 'en', '--concurrency', '4',
             '--seeds', '1', '--requests', '30', '--warm-up', '10', '--workers', '1', '--arms', 'pure-llm', 'pace-plus')
    one, two = tmp_path / 'one', tmp_path / 'two'
    assert study(one, *words) == 0
    rows = pd.read_parquet(one / 'requests.parquet')
    assert list(rows.columns) == list(COLUMNS)
    assert rows.groupby('arm').size().to_dict() == {'pace-plus': 40, 'pure-llm': 40}
    assert set(rows['outcome']) == {'ANSWERED'}
    assert set(rows.loc[rows['arm'] == 'pure-llm', 'path']) == {'L2'}
    instant = rows[(rows['arm'] == 'pace-plus') & rows['path'].isin(['L0', 'L1'])]
    assert len(instant) > 10
    assert instant['ptfr'].max() < 0.05  # nobody waits for anybody: s of fixed cost
    assert rows['lag'].max() < 0.05
    pairs = rows.pivot_table(index='index', columns='arm', values='at')
    assert (pairs['pure-llm'] == pairs['pace-plus']).all()

    (one / 'cells' / 'campaign-own-pure-llm-c4-s1.parquet').unlink()
    kept = (one / 'cells' / 'campaign-own-pace-plus-c4-s1.parquet').stat().st_mtime_ns
    before = (one / 'requests.parquet').read_bytes()
    assert study(one, *words) == 0
    assert (one / 'requests.parquet').read_bytes() == before
    assert (one / 'cells' / 'campaign-own-pace-plus-c4-s1.parquet').stat().st_mtime_ns == kept

    assert elsewhere(two, *words) == 0
    for name in ('requests.parquet', 'requests.csv.gz', 'plan.json'):
        assert (two / name).read_bytes() == (one / name).read_bytes(), name
    plan = json.loads((one / 'plan.json').read_text())
    assert plan['plan']['time'] == 'fixed'
    assert plan['arms']['pace-plus']['hedge.enabled'] is True
    assert plan['data'].keys() == {own}
    assert 0.5 < plan['completion'] < 10.0

    capsys.readouterr()
    assert study(one, *words[:-1], 'pace-full') == 2
    assert 'holds a study with other settings: arms' in capsys.readouterr().err


def test_a_trace_that_has_changed_is_other_settings(tmp_path: Path) -> None:
    trace = tmp_path / 'trace.csv'

    def kept() -> dict[str, object]:
        plan = Plan(('campaign',), 'fixed', dataset=str(write(tmp_path)), arms=('pure-llm',), trace=str(trace))
        return dict(Campaign(tmp_path / 'out', plan, workers=1).settings()['data'])

    trace.write_text('one')
    before = kept()
    assert kept() == before
    trace.write_text('two')
    assert kept()['trace'] != before['trace']


PARENT = """
import multiprocessing, os, time
from pace_ros.study.evaluation.worker import end_with_parent

if __name__ == '__main__':
    worker = multiprocessing.get_context('spawn').Process(target=end_with_parent)
    worker.start()
    print(worker.pid, flush=True)
    time.sleep(60)
"""


def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / 'parent.py').write_text(PARENT)
    with subprocess.Popen([sys.executable, str(tmp_path / 'parent.py')], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        os.kill(worker, 0)  # it is there
        parent.kill()
        assert parent.stdout.read() == ''  # comes when the last process that holds it has ended: the worker


@pytest.mark.parametrize(('words', 'told'), [
    (('--arms', 'pace-extra'), "There is no arm 'pace-extra'"),
    (('--base-url', 'http://127.0.0.1:9/v1'), 'needs --clock real'),
    (('--concurrency', '0'), 'concurrencies above 0'),
    (('--seeds', '-1'), 'seeds of at least 0'),
    (('--requests', '0'), 'at least one measured request'),
    (('--arms', 'admit-all'), 'No part of campaign has an arm of admit-all'),
    (('--workers', '0'), 'a worker at least'),
    (('--trace', 'none.csv', '--dataset', 'none.jsonl'), 'none.jsonl'),
    (('--dataset', 'none.jsonl'), 'none.jsonl'), (('--dataset', 'here/cmrc2018.jsonl'), 'Two data sets of one name'),
])
def test_what_cannot_be_run_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert study(tmp_path / 'out', 'run', 'campaign', '--workers', '1', *words) == 2
    error = capsys.readouterr().err
    assert told in error
    assert 'Traceback' not in error
