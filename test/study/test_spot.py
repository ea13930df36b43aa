"""Agreement of a run in real time with one in virtual time, on rows made up by hand."""
from __future__ import annotations

import argparse
import math
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from pace_ros.study.spot import AGREEMENT, SpotError, compared, run, spot_frame, spot_table

NAN = math.nan


def rows(ptfrs: list[float], paths: list[str], *, warm_up: int = 0, **fields: Any) -> pd.DataFrame:
    return pd.DataFrame([
        {'dataset': 'tiny', 'arm': 'pace-full', 'concurrency': 4.0, 'seed': 1, 'index': index, 'text': f'q{index}',
         'phase': 'warm-up' if index < warm_up else 'measured', 'ptfr': ptfr, 'perceived_latency': min(ptfr, 0.5),
         'path': path, 'lag': 0.0, 'transit': 0.001, **fields}
        for index, (ptfr, path) in enumerate(zip(ptfrs, paths, strict=True))
    ])


def figure(agreement: Any, name: str) -> Any:
    return next(each for each in agreement.figures if each.name == name)


TIMES = [0.1 + 0.01 * number for number in range(100)]
L2 = ['L2'] * 100


def test_a_run_agrees_with_itself_but_for_a_millisecond_now_and_then() -> None:
    jitter = [0.001 if number % 2 else -0.001 for number in range(100)]
    real = [each + late for each, late in zip(TIMES, jitter, strict=True)]
    (found,) = compared(rows(real, L2), rows(TIMES, L2))
    assert (found.arm, found.concurrency, found.count) == ('pace-full', 4.0, 100)
    assert found.outside == ()
    assert found.rerouted == ()
    assert found.shift == pytest.approx(0.0)
    assert found.transit == pytest.approx(0.001)
    middle = figure(found, 'PTFR P50')
    assert middle.virtual == pytest.approx(0.595), 'the middle of 0.10, 0.11 .. 1.09'
    assert middle.real == pytest.approx(0.595)
    assert middle.agrees
    assert figure(found, 'L2').virtual == 1.0
    assert figure(found, 'L2').agrees is None, 'a share is told, and not judged'


def test_what_lies_outside_is_named() -> None:
    (found,) = compared(rows([2 * each for each in TIMES], ['L0'] * 30 + ['L2'] * 70), rows(TIMES, L2))
    assert {each.name for each in found.outside} == {'PTFR P50', 'PTFR P95'}
    ratio = figure(found, 'PTFR P95').ratio
    assert (ratio.low, ratio.estimate, ratio.high) == pytest.approx((2.0, 2.0, 2.0))
    assert (figure(found, 'L0').real, figure(found, 'L0').virtual) == (0.3, 0.0)
    assert [each.index for each in found.rerouted] == list(range(30))
    assert (found.rerouted[0].virtual, found.rerouted[0].real) == ('L2', 'L0')
    assert found.shift == pytest.approx(0.745), 'over the 70 requests on the same path, 0.40 to 1.09'


def test_no_answer_counts_as_infinite() -> None:
    gone = [NAN] * 20
    (found,) = compared(rows(TIMES[:80] + gone, L2[:80] + ['UNKNOWN'] * 20), rows(TIMES, L2))
    assert math.isinf(figure(found, 'PTFR P95').real)
    assert figure(found, 'PTFR P95') in found.outside
    assert figure(found, 'no answer').real == pytest.approx(0.2)
    (same,) = compared(rows(TIMES[:80] + gone, L2), rows(TIMES[:80] + gone, L2))
    assert figure(same, 'PTFR P95').agrees, 'infinite in both'


def test_warm_up_and_requests_of_one_run_alone_are_left_out() -> None:
    (found,) = compared(rows(TIMES[:40], L2[:40], warm_up=10), rows(TIMES, L2, warm_up=10))
    assert found.count == 30
    assert figure(found, 'PTFR P50').virtual == pytest.approx(0.345), 'of 0.20 to 0.49'


def test_cells_are_compared_apart() -> None:
    real = pd.concat([rows(TIMES, L2), rows(TIMES, L2, concurrency=16.0)])
    virtual = pd.concat([rows(TIMES, L2), rows([3 * each for each in TIMES], L2, concurrency=16.0)])
    calm, busy = compared(real, virtual)
    assert not calm.outside
    assert busy.outside
    frame = spot_frame([calm, busy])
    assert set(frame['concurrency']) == {4.0, 16.0}
    assert frame.loc[frame['concurrency'] == 4.0, 'agrees'].dropna().all()


@pytest.mark.parametrize(('virtual', 'message'), [
    (rows(TIMES, L2, arm='pure-llm'), 'dataset tiny, arm pace-full, concurrency 4.0, seed 1: the virtual run has no'),
    (pd.concat([rows(TIMES, L2)] * 2), 'the virtual run has a request twice'),
    (rows(TIMES, L2, text='another'), "not the same stream, request 0 is 'q0' in real time and 'another'"),
])
def test_runs_that_cannot_be_compared_are_refused(virtual: pd.DataFrame, message: str) -> None:
    with pytest.raises(SpotError, match=message):
        compared(rows(TIMES, L2), virtual)


def test_the_table_says_where_not() -> None:
    found = compared(rows([2 * each for each in TIMES], ['L0', *L2[1:]]), rows(TIMES, L2))
    console = Console(file=StringIO(), width=160)
    console.print(spot_table(found))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert 'Other paths (virtual to real): 0: L2 to L0.' in text
    line = next(each for each in text.splitlines() if 'PTFR P50' in each)
    assert 'pace-full' in line
    assert '1.190' in line
    assert 'no' in line


def test_resampling_is_reproducible() -> None:
    first, second = (compared(rows(TIMES, L2), rows(TIMES, L2), resampling=5) for _ in range(2))
    assert first == second


def test_the_command_compares_what_a_spot_check_has_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SpotError, match=r'`spot_check .*` writes it'):
        run(argparse.Namespace(study=tmp_path))
    for arm in ('pace-static', 'pace-full'):
        (tmp_path / 'cells').mkdir(exist_ok=True)
        (tmp_path / 'spot' / arm).mkdir(parents=True)
        rows(TIMES, L2, arm=arm).to_parquet(tmp_path / 'cells' / f'spot-{arm}.parquet')
        rows(TIMES, L2, arm=arm).to_parquet(tmp_path / 'spot' / arm / 'virtual.parquet')
    assert run(argparse.Namespace(study=tmp_path)) == 0
    assert 'PTFR P95' in capsys.readouterr().out
    assert set(pd.read_csv(tmp_path / AGREEMENT)['arm']) == {'pace-static', 'pace-full'}
