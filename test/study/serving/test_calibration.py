"""Measurements that lie in a folder are fitted without any replica."""
from __future__ import annotations

import argparse
import contextlib
import json
import signal
from pathlib import Path

import pandas as pd
import pytest

from pace_ros.serving.simulator.costs import read_costs
from pace_ros.study.serving import calibration, tool
from pace_ros.study.serving.calibration import COSTS, FITS, MEASUREMENTS, add_arguments, run
from pace_ros.study.serving.probes import KINDS, READ, RESTORE, SAVE, STEP, ProbeError
from pace_ros.study.serving.tool import COMMANDS


def test_costs_and_errors_are_written_for_the_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(READ, n, d, 0, 0.01 * n, 0) for n, d in ((10, 0), (100, 0), (50, 200), (400, 0))]
    rows += [(STEP, 0, d, b, 0.02 * b, 0) for b in (1, 2) for d in (10, 100)]
    rows += [(kind, n, 0, 0, 0.001 * n, 5 * n) for kind in (SAVE, RESTORE) for n in (10, 20, 40)]
    pd.DataFrame(rows, columns=['kind', 'tokens', 'depth', 'batch', 'seconds', 'size']).to_csv(
        tmp_path / MEASUREMENTS, index=False)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args(['--out', str(tmp_path), '--fit-only'])) == 0
    costs = read_costs(tmp_path / COSTS)
    assert costs.prefill(100) == pytest.approx(1.0, rel=1e-3)
    assert costs.decode(2, 50) == pytest.approx(0.04, rel=1e-3)
    assert costs.kv_bytes == 5
    assert [each['kind'] for each in json.loads((tmp_path / FITS).read_text())] == list(KINDS)
    assert 'restore' in capsys.readouterr().out


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize('core', ['-1', '99999'])
def test_a_core_that_is_none_is_named_and_nothing_is_left(tmp_path: Path, core: str) -> None:
    with pytest.raises(ProbeError, match=rf'--core must be from 0 to \d+ on this machine, not {core}'):
        run(options('--out', str(tmp_path / 'new'), '--core', core))
    assert [*tmp_path.iterdir()] == []


def test_a_server_that_is_not_there_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=r'^http://127\.0\.0\.1:1/.*: ConnectError'):
        run(options('--out', str(tmp_path / 'new'), '--url', 'http://127.0.0.1:1'))
    with pytest.raises(FileNotFoundError):
        run(options('--out', str(tmp_path / 'new'), '--fit-only'))
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_cannot_be_is_refused_before_minutes_go_by(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(ProbeError, match=r'--out .*: .*file is no folder that may be written to'):
        run(options('--out', str(tmp_path / 'file' / 'new'), '--url', 'http://127.0.0.1:1'))


def test_without_a_terminal_it_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.ExitStack() as stack:
        progress = calibration._progress(stack, 25)
        for done in range(1, 26):
            progress(done, 25)
    assert capsys.readouterr().err.splitlines() == ['10 of 25 measured', '20 of 25 measured', '25 of 25 measured']


def test_told_to_end_it_ends_what_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    before, ended = signal.getsignal(signal.SIGTERM), []

    def measures(_options: argparse.Namespace) -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            ended.append('replica')
        return 0

    for module in COMMANDS.values():
        monkeypatch.setattr(f'{module[0]}.run', measures)
    try:
        for command in COMMANDS:
            with pytest.raises(KeyboardInterrupt):
                tool.run(argparse.Namespace(serving=command))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(ended) == len(COMMANDS)
