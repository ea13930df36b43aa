"""Agent conversations from a log."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pace_ros.serving.simulator.script import TurnScript, WorkloadError
from pace_ros.serving.simulator.workloads.agent import read_agent

TRACE = Path(__file__).parents[5] / 'shared' / 'data' / 'traces' / 'agentic_turns_kv_cache_tester.jsonl'
TURNS = [
    {'in': 100, 'out': 30, 'reuse': 0, 'ot': ['thinking', 'text', 'tool_use'], 'think': 9.0},
    {'in': 150, 'out': 10, 'reuse': 128, 'ot': ['tool_use'], 'think': 4.0},
    {'in': 900, 'out': 20, 'reuse': 500, 'ot': [], 'think': 1.0},
]


def written(tmp_path: Path, *records: object) -> Path:
    file = tmp_path / 'trace.jsonl'
    file.write_text('\n'.join(each if isinstance(each, str) else json.dumps(each) for each in records) + '\n\n',
                    encoding='utf-8')
    return file


def test_turn_by_turn(tmp_path: Path) -> None:
    [script] = read_agent(written(tmp_path, {'id': 'a', 'turns': TURNS}))
    assert script.turns == (
        TurnScript(100, 30, hidden=10),
        TurnScript(150, 10, shared=128, hidden=10, think=4.0),
        TurnScript(900, 20, shared=160, think=1.0),  # no more than there was before
    )


def test_a_conversation_ends_before_it_is_too_long(tmp_path: Path) -> None:
    file = written(tmp_path, {'id': 'a', 'turns': TURNS}, {'id': 'b', 'turns': TURNS[2:]})
    assert [(each.key, len(each.turns)) for each in read_agent(file, longest=200)] == [('a', 2)]
    with pytest.raises(WorkloadError, match='at most 50 tokens'):
        read_agent(file, longest=50)


@pytest.mark.parametrize(('line', 'named'), [
    ('{', 'line 2'), ('{"id": "x"}', "line 2: there is no field 'turns'"), ('[]', 'line 2'),
    ('{"id": "x", "turns": [{"in": 0, "out": 1, "reuse": 0, "ot": []}]}', 'line 2'),
    ('{"id": "x", "turns": [{"in": "many", "out": 1, "reuse": 0, "ot": []}]}', 'line 2'),
])
def test_a_wrong_line_is_named(line: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=named):
        read_agent(written(tmp_path, {'id': 'a', 'turns': TURNS}, line))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r'none\.jsonl'):
        read_agent(tmp_path / 'none.jsonl')


@pytest.mark.skipif(not TRACE.exists(), reason='the public agent trace is not there')
def test_the_public_trace_is_as_described() -> None:
    scripts = read_agent(TRACE)
    appends = [turn.prompt - turn.known for script in scripts for turn in script.turns[1:]]
    assert (len(scripts), sum(len(each.turns) for each in scripts)) == (166, 4674)
    assert np.median([each.turns[0].prompt for each in scripts]) == pytest.approx(18_100, rel=0.01)
    assert np.quantile(appends, [0.5, 0.95]) == pytest.approx([800, 10_700], rel=0.02)
