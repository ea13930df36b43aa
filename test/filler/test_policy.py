import pytest

from pace_ros.config import Filler
from pace_ros.filler import FillerPlan, plan


@pytest.mark.parametrize('budget', [0.0, 0.9, 10.0])
def test_fixed_launches_always_and_waits_the_budget(budget: float) -> None:
    assert plan('fixed', Filler(budget=budget)) == FillerPlan(True, budget, 'fixed')


def test_off_launches_never() -> None:
    decided = plan('off', Filler())
    assert (decided.launch, decided.reason) == (False, 'off')


def test_the_paper_s_fixed_budget_is_the_default() -> None:
    assert plan('fixed', Filler()).budget == 0.9
