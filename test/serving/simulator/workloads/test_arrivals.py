"""When conversations begin."""
from __future__ import annotations

import pytest

from pace_ros.serving.simulator.script import Script, TurnScript, Workload, WorkloadError
from pace_ros.serving.simulator.workloads.arrivals import poisson

SCRIPTS = [Script(name, (TurnScript(1, 1),)) for name in 'abc']


def test_poisson_has_its_rate_and_its_seed() -> None:
    workload = poisson('p', SCRIPTS, 2.0, 4000, seed=1)
    times = [at for at, _ in workload.arrivals]
    assert times[-1] == pytest.approx(2000.0, rel=0.05)
    assert len({each.key for each in workload.scripts}) == 4000
    assert poisson('p', SCRIPTS, 2.0, 4000, seed=1) == workload
    assert poisson('p', SCRIPTS, 2.0, 4000, seed=2) != workload


def test_enough_scripts_come_once_each() -> None:
    workload = poisson('p', SCRIPTS, 1.0, 3, seed=1)
    assert sorted(each.key.split('#')[0] for each in workload.scripts) == ['a', 'b', 'c']


@pytest.mark.parametrize('rate', [0.0, -1.0, float('nan')])
def test_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(WorkloadError, match='conversations'):
        poisson('p', SCRIPTS, rate, 3, seed=1)


def test_what_is_no_workload_is_refused() -> None:
    with pytest.raises(WorkloadError, match='no turn'):
        Script('x', ())
    for arrivals in ((), ((1.0, SCRIPTS[0]), (0.0, SCRIPTS[1]))):
        with pytest.raises(WorkloadError, match='one after another'):
            Workload('w', arrivals)
    with pytest.raises(WorkloadError, match='one key'):
        Workload('w', ((0.0, SCRIPTS[0]), (1.0, SCRIPTS[0])))
    for wrong in ({'prompt': 0, 'answer': 1}, {'prompt': 1, 'answer': 0}, {'prompt': 1, 'answer': 1, 'shared': -1},
                  {'prompt': 1, 'answer': 1, 'think': float('inf')}):
        with pytest.raises(WorkloadError):
            TurnScript(**wrong)
