"""What work costs: by hand, and to and from a file."""
from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.serving.simulator.costs import Accelerator, Costs, Model, read_costs, roofline
from pace_ros.settings import ConfigError

COSTS = Costs(prefill_base=0.5, prefill_token=0.01, attend=0.001, decode_base=0.02, decode_stream=0.003,
              decode_token=0.0001, save_base=1.0, save_token=0.1, restore_base=2.0, restore_token=0.2,
              transfer_latency=3.0, transfer_bandwidth=1000.0, kv_bytes=50.0)


def test_a_prompt_costs_its_base_its_tokens_and_the_pairs_that_attend() -> None:
    assert COSTS.prefill(100) == pytest.approx(0.5 + 1.0 + 0.001 * 100 * 100 / 2)
    assert COSTS.prefill(10, depth=200) == pytest.approx(0.5 + 0.1 + 0.001 * (10 * 200 + 50))


def test_a_step_costs_by_streams_and_context() -> None:
    assert COSTS.decode(4, 1000) == pytest.approx(0.02 + 0.012 + 0.1)


def test_a_hand_over_has_three_parts() -> None:
    assert (COSTS.save(10), COSTS.transfer(10), COSTS.restore(10)) == pytest.approx((2.0, 3.5, 4.0))


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 5000))
def test_reading_in_pieces_costs_the_same_but_for_the_base(one: int, other: int, depth: int) -> None:
    pieces = COSTS.reading(one, depth) + COSTS.reading(other, depth + one)
    assert pieces == pytest.approx(COSTS.reading(one + other, depth))


@pytest.mark.parametrize('costs', [COSTS, Costs(), roofline()])
def test_costs_come_back_from_their_file(costs: Costs, tmp_path: Path) -> None:
    costs.write(tmp_path / 'costs.json')
    assert read_costs(tmp_path / 'costs.json') == costs


@pytest.mark.parametrize(('content', 'named'), [
    ('{', 'cannot be read'), ('[]', 'must map costs'), ('{"prefil": 1}', "'prefil'"),
    ('{"attend": "x"}', "'attend'"), ('{"attend": true}', "'attend'"), ('{"attend": -1}', "'attend'"),
    ('{"attend": NaN}', "'attend'"), ('{"transfer_bandwidth": 0}', "'transfer_bandwidth'"),
])
def test_a_wrong_file_is_refused_by_name(content: str, named: str, tmp_path: Path) -> None:
    file = tmp_path / 'costs.json'
    file.write_text(content, encoding='utf-8')
    with pytest.raises(ConfigError, match=named) as refused:
        read_costs(file)
    assert 'costs.json' in str(refused.value)


def test_an_unbounded_bandwidth_is_written_as_null(tmp_path: Path) -> None:
    Costs().write(tmp_path / 'costs.json')
    assert json.loads((tmp_path / 'costs.json').read_text(encoding='utf-8'))['transfer_bandwidth'] is None


def test_a_data_sheet_gives_costs() -> None:
    model = Model(parameters=1e9, layers=10, width=1000, kv_width=100)
    device = Accelerator(operations=1e14, memory=1e12, link=1e10, compute_share=1.0, memory_share=1.0, step=0.0,
                         latency=0.0)
    costs = roofline(model, device)
    assert costs.prefill_token == pytest.approx(2e-5)
    assert costs.attend == pytest.approx(4 * 10 * 1000 / 1e14)
    assert costs.decode_base == pytest.approx(0.002)
    assert model.kv_bytes == 4000
    assert costs.decode_token == pytest.approx(4e-9)
    assert costs.transfer(1000) == pytest.approx(4e-4)


def test_only_a_bandwidth_may_be_infinite() -> None:
    for field in dataclasses.fields(Costs):
        if field.name != 'transfer_bandwidth':
            with pytest.raises(ConfigError, match=field.name):
                Costs(**{field.name: math.inf})
