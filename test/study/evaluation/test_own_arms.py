"""Arms of one's own."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.config import Config
from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.evaluation.own_arms import ArmError, arm_of, read_arms
from pace_ros.study.evaluation.plan import Plan, PlanError


def file(folder: Path, text: str) -> Path:
    path = folder / 'arms.yaml'
    path.write_text(text)
    return path


def test_an_arm_begins_from_another_or_from_the_shipped_default(tmp_path: Path) -> None:
    text = 'patient: {from: pace-full, filler.budget_high: 2.0}\nplain: {hedge.enabled: true}\n'
    arms = {name: arm_of(name, fields) for name, fields in read_arms(file(tmp_path, text)).items()}
    patient, plain = arms['patient'].config(Config()), arms['plain'].config(Config())
    assert patient.filler.budget_high == 2.0
    assert patient.router == ARMS['pace-full'].config(Config()).router
    assert plain.hedge.enabled
    assert plain.guards == Config().guards


@pytest.mark.parametrize(('text', 'told'), [
    ('[]', 'must map names'), ('a: 1', "arm 'a' must map settings"), ('a/b: {}', "not 'a/b'"),
    ('a: {router.speed: 1}', "no parameter 'router.speed'"),
    ('a: {router.mode: fast}', "'router.mode' must be one of"), ('shipped: {}', "there is an arm 'shipped' already"),
    ('a: {from: nobody}', "no arm 'nobody'"), ('a: {', 'cannot be read'),
])
def test_a_bad_arm_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ArmError, match=r'arms\.yaml') as refusal:
        read_arms(file(tmp_path, text))
    assert told in str(refusal.value)


def test_an_arm_keeps_the_engine_and_the_events_of_the_one_it_begins_from() -> None:
    assert arm_of('mine', {'from': 'gptcache-library'}).engine == ARMS['gptcache-library'].engine
    assert arm_of('told', {'from': 'admit-all-events'}).invalidates


def test_a_plan_runs_its_own_arms_beside_the_table_s() -> None:
    plan = Plan(('campaign',), 'fixed', arms=('shipped', 'mine'), concurrencies=(4.0,), seeds=(1,),
                own=(('mine', {'hedge.enabled': True}),))
    assert [cell.arm for cell in plan.cells()] == ['shipped', 'mine']
    assert plan.arm('mine').config(Config()).hedge.enabled
    with pytest.raises(PlanError, match="no arm 'theirs'"):
        plan.arm('theirs')
