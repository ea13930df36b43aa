"""Arrival patterns of public traces."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.workload import MEASURED, WARM_UP, TraceError, read_trace, scaled, traced

TRACES = Path(__file__).resolve().parents[4] / 'shared/data/traces'

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.0000000,374,44
2023-11-16 18:15:50.5000000,396,109
2023-11-16 18:15:48.2500000,1,2
"""
MOONCAKE = '{"timestamp": 1000, "input_length": 5}\n\n{"timestamp": 1000}\n{"timestamp": 4000, "hash_ids": [0]}\n'


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding='utf-8')
    return path


def test_azure_times_are_read_and_put_in_order(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path, 'a.csv', AZURE)) == pytest.approx([0.0, 2.25, 4.5], abs=1e-6)


def test_mooncake_times_are_milliseconds(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path, 'm.jsonl', MOONCAKE)).tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(('name', 'text', 'message'), [
    ('a.csv', 'TIME,x\n1,2\n', "line 2, field 'TIMESTAMP': no time"),
    ('a.csv', AZURE + 'soon,1,2\n', "line 5, field 'TIMESTAMP': no time"),
    ('a.csv', AZURE + ',1,2\n', "line 5, field 'TIMESTAMP': no time"),
    ('a.jsonl', MOONCAKE + '{"time": 1}\n', "line 5, field 'timestamp': no time in ms"),
    ('a.jsonl', MOONCAKE + '{"timestamp": NaN}\n', "line 5, field 'timestamp': no time in ms"),
    ('a.jsonl', MOONCAKE + '[1\n', "line 5, field 'timestamp': no time in ms"),
    ('a.jsonl', '{"timestamp": 1}\n{"timestamp": 1}\n', 'has no two requests at different times'),
    ('a.csv', '', 'has no two requests'),
    ('a.txt', '1\n', 'must be .csv'),
])
def test_a_broken_trace_is_refused_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message) as refused:
        read_trace(written(tmp_path, name, text))
    assert str(tmp_path / name) in str(refused.value)


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r'gone\.csv: cannot be read'):
        read_trace(tmp_path / 'gone.csv')


def test_a_pattern_keeps_its_shape_at_another_rate() -> None:
    assert scaled(np.array([10.0, 11.0, 11.0, 16.0]), 0.5).tolist() == [2.0, 3.0, 3.0, 8.0]
    for times, wanted in ((np.array([1.0]), 1.0), (np.array([1.0, 1.0]), 1.0), (np.array([1.0, 2.0]), 0.0)):
        with pytest.raises(ValueError, match='cannot be brought to'):
            scaled(times, wanted)


@given(gaps=st.lists(st.floats(0.0, 100.0), min_size=2, max_size=60).filter(lambda gaps: sum(gaps[1:]) > 1e-3),
       wanted=st.floats(0.01, 50.0))
def test_scaling_gives_the_mean_rate_and_keeps_the_order(gaps: list[float], wanted: float) -> None:
    times = scaled(np.cumsum(gaps), wanted)
    assert np.all(np.diff(times) >= 0)
    assert len(times) / times[-1] == pytest.approx(wanted)


def test_a_stretch_of_a_trace_by_seed(tmp_path: Path) -> None:
    path = written(tmp_path, 'm.jsonl', '\n'.join(f'{{"timestamp": {n * n}}}' for n in range(400)))
    schedule = traced(path, 8, 2.0, seed=1, warm_up=2, measured=4)
    assert [each.phase for each in schedule] == [WARM_UP] * 2 + [MEASURED] * 4
    assert schedule[-1].at == pytest.approx(6 / 4.0)
    assert schedule == traced(path, 8, 2.0, seed=1, warm_up=2, measured=4)
    assert schedule != traced(path, 8, 2.0, seed=2, warm_up=2, measured=4)
    with pytest.raises(TraceError, match='has 400 requests, 600 are needed'):
        traced(path, 8, 2.0, seed=1)


@pytest.mark.parametrize(('name', 'count'), [
    ('AzureLLMInferenceTrace_conv.csv', 19_000), ('mooncake_conversation_trace.jsonl', 12_000),
])
def test_the_public_traces_are_read_where_they_lie(name: str, count: int) -> None:
    path = TRACES / name
    if not path.is_file():
        pytest.skip(f'needs the public trace {path}')
    times = read_trace(path)
    assert len(times) > count
    assert 3_500 < times[-1] < 3_600
    assert traced(path, 4, 2.0, seed=0)[-1].at == pytest.approx(300.0)
