"""Streamed calls, cut and counted as servers do it."""
from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.llm.delta import parse_delta
from pace_ros.llm.tools.assembler import MOST_CALLS, CallAssembler
from pace_ros.llm.tools.call import CallDelta


def assembled(*deltas: CallDelta) -> list[tuple[str, str, str]]:
    assembler = CallAssembler()
    for delta in deltas:
        assembler.feed((delta,))
    return [(call.call_id, call.name, call.arguments) for call in assembler.calls()]


def test_openai_head_then_arguments_by_index() -> None:
    assert assembled(
        CallDelta(0, 'a', 'price'), CallDelta(0, arguments='{"m":'), CallDelta(1, 'b', 'stock'),
        CallDelta(1, arguments='{}'), CallDelta(0, arguments=' 1}'),
    ) == [('a', 'price', '{"m": 1}'), ('b', 'stock', '{}')]


def test_id_and_name_in_every_piece() -> None:
    assert assembled(CallDelta(0, 'a', 'price', '{"m"'), CallDelta(0, 'a', 'price', ': 1}')) == [
        ('a', 'price', '{"m": 1}')
    ]


def test_every_call_with_index_0_and_an_id_of_its_own() -> None:
    assert assembled(CallDelta(0, 'a', 'price', '{"m": 1}'), CallDelta(0, 'b', 'price', '{"m": 2}')) == [
        ('a', 'price', '{"m": 1}'), ('b', 'price', '{"m": 2}')
    ]


def test_neither_index_nor_id() -> None:
    assert assembled(
        CallDelta(name='price', arguments='{"m": 1}'), CallDelta(name='price', arguments='{"m"'),
        CallDelta(arguments=': 2}'),
    ) == [('', 'price', '{"m": 1}'), ('', 'price', '{"m": 2}')]


def test_an_id_that_comes_late_and_a_name_in_pieces() -> None:
    assert assembled(CallDelta(0, '', 'pri'), CallDelta(0, 'a', 'ce'), CallDelta(0, arguments='{}')) == [
        ('a', 'price', '{}')
    ]


def test_arguments_as_an_object_and_a_null_id() -> None:
    payload = {'choices': [{'delta': {'tool_calls': [
        {'id': None, 'function': {'name': 'price', 'arguments': {'m': 'é'}}}, 'x', {'function': 3},
    ]}}]}
    assert parse_delta(json.dumps(payload)).calls[0] == CallDelta(None, '', 'price', '{"m": "é"}')


def test_a_runaway_model_is_bounded() -> None:
    assert len(assembled(*[CallDelta(index, f'{index}', 'f', '{}') for index in range(100)])) == MOST_CALLS


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(['price', 'stock']), st.dictionaries(st.text(max_size=3), st.text(max_size=5))),
             min_size=1, max_size=5),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_any_cut_of_the_arguments_gives_the_same_calls(calls: list[tuple[str, dict[str, str]]], cuts: list[int]
                                                       ) -> None:
    deltas, expected = [], []
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        expected.append((f'id{index}', name, text))
        deltas.append(CallDelta(index, f'id{index}', name))
        places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
        deltas += [CallDelta(index, arguments=text[begin:end]) for begin, end in pairwise(places)]
    assert assembled(*deltas) == expected
