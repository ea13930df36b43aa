"""Chat services' logs."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from pace_ros.serving.simulator.script import Script, TurnScript, WorkloadError
from pace_ros.serving.simulator.workloads.chats import read_mooncake

TRACES = Path(__file__).parents[5] / 'shared' / 'data' / 'traces'


def mooncake(tmp_path: Path, *requests: tuple[int, int, int, list[int]]) -> Path:
    file = tmp_path / 'chat.jsonl'
    keys = ('timestamp', 'input_length', 'output_length', 'hash_ids')
    file.write_text('\n'.join(json.dumps(dict(zip(keys, each, strict=True))) for each in requests), encoding='utf-8')
    return file


def test_who_repeats_the_whole_blocks_goes_on(tmp_path: Path) -> None:
    workload = read_mooncake(mooncake(
        tmp_path,
        (1000, 1100, 50, [0, 1, 2]),  # two whole blocks and a part
        (3000, 700, 20, [0, 9]),  # repeats nothing but the common first one
        (61_000, 1700, 60, [0, 1, 5, 6]),  # goes on with the first
        (90_000, 1700, 60, [0, 1, 7, 8]),  # that one has been continued already
    ))
    assert workload.arrivals == (
        (0.0, Script('chat-1', (TurnScript(1100, 50), TurnScript(1700, 60, shared=1024, think=60.0)), 'chat', 512)),
        (2.0, Script('chat-2', (TurnScript(700, 20),), 'chat', 512)),
        (89.0, Script('chat-3', (TurnScript(1700, 60),), 'chat', 512)),
    )
    assert workload.turns == 4


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    file = tmp_path / 'wrong.jsonl'
    file.write_text('{"timestamp": 1}\n', encoding='utf-8')
    with pytest.raises(WorkloadError, match="line 1: there is no field 'input_length'"):
        read_mooncake(file)
    file.write_text('{"timestamp": 1, "input_length": 0, "output_length": 1, "hash_ids": []}\n', encoding='utf-8')
    with pytest.raises(WorkloadError, match=r'wrong\.jsonl'):
        read_mooncake(file)


@pytest.mark.skipif(not TRACES.exists(), reason='the public chat traces are not there')
def test_the_public_traces_hold_what_they_hold() -> None:
    chats = read_mooncake(TRACES / 'mooncake_conversation_trace.jsonl')
    assert chats.turns == 12_031
    assert len(chats.scripts) < 12_031
