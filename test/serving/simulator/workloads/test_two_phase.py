"""Synthetic conversations."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.simulator.script import TurnScript
from pace_ros.serving.simulator.workloads.two_phase import TwoPhase


def test_without_spread_every_draw_is_the_mean() -> None:
    [script] = TwoPhase(first=100, append=20, answer=10, turns=3, think=2.0, spread=0.0).scripts(1, seed=0)
    assert script.turns == (
        TurnScript(100, 10), TurnScript(130, 10, shared=110, think=2.0), TurnScript(160, 10, shared=140, think=2.0))


def test_the_means_are_those_asked_for() -> None:
    turns = [turn for each in TwoPhase(append=300).scripts(3000, seed=1) for turn in each.turns]
    assert np.mean([each.prompt - each.shared for each in turns if each.shared]) == pytest.approx(300, rel=0.03)
    assert np.mean([each.answer for each in turns]) == pytest.approx(150, rel=0.03)
    assert len(turns) / 3000 == pytest.approx(5.0, rel=0.05)


@settings(max_examples=30)
@given(st.integers(2, 20_000), st.integers(0, 99))
def test_none_is_longer_than_allowed(longest: int, seed: int) -> None:
    for script in TwoPhase().scripts(5, seed=seed, longest=longest):
        assert max(each.prompt + each.answer for each in script.turns) <= longest
