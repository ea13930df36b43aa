"""The nominal capacity, by hand."""
from __future__ import annotations

import dataclasses

import pytest

from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.script import Script, TurnScript
from pace_ros.study.serving.nominal import CACHES, DECODERS, PREFILLERS, SLOTS, nominal

COSTS = Costs(prefill_token=0.001, decode_base=0.08)  # eight streams share a step: 10 ms of it each
SCRIPT = Script('one', (TurnScript(1000, 10), TurnScript(1110, 20, shared=1010, think=4.0)))


def test_prefillers_read_first_prompts_decoders_do_the_rest_caches_hold_it_all() -> None:
    found = nominal([SCRIPT], COSTS, prefillers=2, decoders=3, kv=10_000, slots=100)
    assert found.bounds[PREFILLERS] == pytest.approx(2 / 1.0)
    assert found.bounds[DECODERS] == pytest.approx(3 / (0.1 + 30 * 0.01))
    held = (1.0 + 10 * 0.08) * 1010 + (4.0 + 0.1 + 20 * 0.08) * 1130
    assert found.bounds[CACHES] == pytest.approx(3 * 10_000 / held)
    assert found.binding == PREFILLERS
    assert found.capacity == pytest.approx(2.0)


def test_a_prefiller_is_busy_until_the_cache_has_arrived() -> None:
    moving = dataclasses.replace(COSTS, save_base=0.1, transfer_latency=0.2, restore_token=0.0007)
    found = nominal([SCRIPT], moving, prefillers=2, decoders=3, kv=10_000, slots=100)
    assert found.bounds[PREFILLERS] == pytest.approx(2 / (1.0 + 0.1 + 0.2 + 0.7))


def test_little_cache_binds_first() -> None:
    assert nominal([SCRIPT], COSTS, prefillers=2, decoders=3, kv=1000, slots=100).binding == CACHES


def test_few_slots_bind_first() -> None:
    found = nominal([SCRIPT], COSTS, prefillers=2, decoders=3, kv=10_000, slots=1)
    assert found.binding == SLOTS
    assert found.capacity == pytest.approx(3 / (1.0 + 0.8 + 4.0 + 0.1 + 1.6))
