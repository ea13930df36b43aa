"""The arms are those of the design, and each differs from its neighbour in what its name says."""
from __future__ import annotations

import pytest

from pace_ros.config import Config
from pace_ros.settings import settings_of, value_of
from pace_ros.study.evaluation.arms import ARMS, BEYOND, COLD, PAPER, RAMP, STEADY, TRANSFER, VOLATILITY

SWITCHES = ('router.mode', 'filler.mode', 'volatility.policy', 'l0.enabled', 'l1.enabled', 'l2.rag', 'l2.persona')
ROWS = {  # design section 8
    'pure-llm': ('static', 'off', 'off', False, False, False, False),
    'standard-rag': ('static', 'off', 'off', False, False, True, True),
    'gptcache': ('static', 'off', 'off', True, False, True, True),
    'gptcache-library': ('static', 'off', 'off', True, False, True, True),
    'pace-static': ('static', 'fixed', 'off', True, True, True, True),
    'pace-full': ('adaptive', 'adaptive', 'ttl', True, True, True, True),
    'pace-gated': ('gated', 'adaptive', 'ttl', True, True, True, True),
    'a1': ('static', 'adaptive', 'ttl', True, True, True, True),
    'a2-off': ('adaptive', 'off', 'ttl', True, True, True, True),
    'a2-fixed': ('adaptive', 'fixed', 'ttl', True, True, True, True),
    'a3-off': ('adaptive', 'adaptive', 'off', True, True, True, True),
    'a4': ('adaptive', 'adaptive', 'ttl', True, False, True, True),
    'shipped': ('gated', 'adaptive', 'deny', True, True, True, True),
}


def differing(one: str, other: str) -> set[str]:
    """The settings in which two arms differ."""
    configs = [ARMS[name].config(Config()) for name in (one, other)]
    return {each.name for each in settings_of(Config) if len({value_of(config, each.name) for config in configs}) > 1}


@pytest.mark.parametrize('name', ROWS)
def test_switches_are_those_of_the_design(name: str) -> None:
    config = ARMS[name].config(Config())
    assert tuple(value_of(config, switch) for switch in SWITCHES) == ROWS[name]


@pytest.mark.parametrize('name', [*PAPER, 'pace-gated', 'gptcache-library'])
def test_the_paper_s_arms_have_no_guards(name: str) -> None:
    guards = ARMS[name].config(Config()).guards
    assert (guards.facts, guards.scope, guards.personal, guards.unknowing) == (False, False, False, False)


def test_the_shipped_default_is_the_configuration_as_it_comes() -> None:
    assert ARMS['shipped'].config(Config()) == Config()


@pytest.mark.parametrize(('arm', 'switch'), [
    ('a1', 'router.mode'), ('a2-off', 'filler.mode'), ('a2-fixed', 'filler.mode'), ('a3-off', 'volatility.policy'),
    ('a4', 'l1.enabled'),
])
def test_an_ablation_is_one_switch_from_pace_full(arm: str, switch: str) -> None:
    assert differing('pace-full', arm) == {switch}


def test_the_gate_counts_requests_as_an_hour_lasts_minutes() -> None:
    assert differing('pace-full', 'pace-gated') == {'router.mode', 'gate.window_requests'}


def test_each_part_of_pace_plus_stands_alone_too() -> None:
    parts = ('plus-thresholds', 'plus-speculation', 'plus-hedge', 'plus-ceiling')
    alone = [differing('shipped', name) for name in parts]
    assert all(alone)
    assert set.union(*alone) == differing('shipped', 'pace-plus')
    assert sum(map(len, alone)) == len(set.union(*alone)), 'two parts share a setting'
    assert differing('pace-static', 'plus-guards') == {
        'guards.facts', 'guards.scope', 'guards.personal', 'guards.unknowing'}


def test_every_arm_is_run_by_some_part() -> None:
    assert set(ARMS) == {*PAPER, *BEYOND, *VOLATILITY}
    assert {*RAMP, *COLD, *STEADY, *TRANSFER} <= set(ARMS)
    assert len(PAPER) == 10
    assert len(TRANSFER) == 5
