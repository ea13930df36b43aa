"""Measurements that lie in a folder are fitted without any replica."""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd
import pytest

from pace_ros.serving.simulator.costs import read_costs
from pace_ros.study.serving.calibration import COSTS, FITS, MEASUREMENTS, add_arguments, run
from pace_ros.study.serving.probes import KINDS, READ, RESTORE, SAVE, STEP


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
