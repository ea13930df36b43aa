from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.chat_request import RequestError, read_request
from pace_ros.serving.fleet import Limits

HELLO = [{'role': 'user', 'content': 'hello'}]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5,
)


def request(**fields: Any) -> bytes:
    return json.dumps({'messages': HELLO, **fields}).encode()


def test_what_a_replica_is_sent_is_what_it_may_be_sent() -> None:
    asked = read_request(request(
        model='gpt', temperature=0.5, stream=True, max_tokens=7, id_slot=3, filename='x', cache_prompt=False,
        n_predict=-1, slot_save_path='/', user='me', stream_options={'include_usage': True}, seed=None,
    ), Limits())
    assert asked.body == {'messages': HELLO, 'temperature': 0.5, 'max_tokens': 7}
    assert (asked.stream, asked.include_usage) == (True, True)
    assert asked.fields['user'] == 'me'


def test_what_changes_the_answer_is_passed_on_or_refused() -> None:
    sampling = {
        'temperature': 0.1, 'top_p': 0.9, 'top_k': 5, 'min_p': 0.1, 'seed': 1, 'stop': ['.'], 'presence_penalty': 0.1,
        'frequency_penalty': 0.1, 'logit_bias': {'1': -1}, 'logprobs': True, 'top_logprobs': 2,
        'grammar': 'root ::= "a"', 'json_schema': {}, 'response_format': {}, 'tools': [], 'tool_choice': 'auto',
        'parallel_tool_calls': False, 'chat_template_kwargs': {}, 'repeat_penalty': 1.1, 'repeat_last_n': 64,
        'typical_p': 0.9, 'top_n_sigma': 1.0,
        'mirostat': 2, 'mirostat_tau': 5.0, 'mirostat_eta': 0.1, 'dynatemp_range': 0.1, 'dynatemp_exponent': 1.0,
        'xtc_probability': 0.1, 'xtc_threshold': 0.1, 'dry_multiplier': 0.5, 'dry_base': 1.75, 'dry_allowed_length': 2,
        'dry_penalty_last_n': -1, 'dry_sequence_breakers': ['.'], 'samplers': ['top_k'], 'ignore_eos': True,
        'min_keep': 1,
    }
    assert read_request(request(**sampling), Limits()).body == {'messages': HELLO, **sampling}
    for name in ('reasoning_effort', 'verbosity', 'functions', 'function_call', 'audio', 'web_search_options'):
        assert read_request(request(**{name: None}), Limits()).body == {'messages': HELLO}
        with pytest.raises(RequestError, match=f"'{name}' is not served here"):
            read_request(request(**{name: 'x'}), Limits())


@pytest.mark.parametrize(('fields', 'answer'), [
    ({'max_tokens': 7}, 7), ({'max_tokens': 5000}, 100), ({'max_completion_tokens': 3, 'max_tokens': 7}, 3),
    ({}, None), ({'max_tokens': None}, None),
])
def test_an_answer_is_cut_to_the_limit(fields: dict[str, Any], answer: int | None) -> None:
    assert read_request(request(**fields), Limits(answer=100)).body.get('max_tokens') == answer


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {'items': schema}
    return schema


def test_what_is_not_too_deep_or_long_is_passed_on() -> None:
    asked = read_request(request(json_schema=nested(63), grammar='(' * 16_384), Limits())
    assert (asked.body['json_schema'], len(asked.body['grammar'])) == (nested(63), 16_384)


@pytest.mark.parametrize(('content', 'says'), [
    (b'', 'no JSON'), (b'{', 'no JSON'), (b'\xff', 'no JSON'), (b'[' * 100_000, 'no JSON'), (b'[]', 'JSON object'),
    (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', 'no JSON'),
    (request(temperature=float('nan')), 'no JSON'), (b'{"messages": 1}', "'messages' must be a list"),
    (request(messages=[]), "'messages' must be a list that is not empty"), (b'{}', "'messages'"),
    (request(messages=['hi']), r"'messages\[0\]' must be an object with a role"),
    (request(messages=[*HELLO, {'role': 'root', 'content': ''}]), r"'messages\[1\]'"),
    (request(messages=[{'role': 'user', 'content': 5}]), r"'messages\[0\].content' must be a string, a list or null"),
    (request(n=2), "'n' must be 1, not 2"), (request(stream='yes'), "'stream' must be true or false, not 'yes'"),
    (request(max_tokens=0), "'max_tokens' must be a whole number of at least 1, not 0"),
    (request(max_tokens=True), "'max_tokens'"), (request(max_completion_tokens='many'), "'max_completion_tokens'"),
    (request(temperature='hot'), "'temperature' must be a number, not 'hot'"),
    (request(temperature=True), "'temperature'"), (request(tools=5), "'tools' must be a list, not 5"),
    (request(top_k=1.5), "'top_k' must be a whole number"), (request(tool_choice=[]), "'tool_choice'"),
    (request(functions=[]), "'functions' is not served here: use 'tools'"),
    (request(reasoning_effort='low'), "'reasoning_effort' is not served here: set it in 'chat_template_kwargs'"),
    (request(top_logprobs=21), "'top_logprobs' must be from 0 to 20, not 21"),
    (request(top_logprobs=-1), "'top_logprobs' must be from 0 to 20, not -1"),
    (request(logprobs=1), "'logprobs' must be true or false"), (request(grammar={}), "'grammar' must be a string, not"),
    (request(json_schema='{}'), "'json_schema' must be an object"), (request(repeat_penalty='x'), "'repeat_penalty'"),
    (request(grammar='(' * 16_385), "'grammar' may have at most 16384 characters"),
    (request(json_schema=nested(64)), 'at most 64 objects and lists within each other'),
    (request(stop=3), "'stop' must be a string or a list"), (request(stream_options=[1]), "'stream_options'"),
    (request(logit_bias='x' * 500), r"'logit_bias' must be an object, not 'x{59}\.\.\."),
])
def test_a_bad_request_gets_a_sentence_that_names_the_field(content: bytes, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        read_request(content, Limits())


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(
    st.sampled_from(['messages', 'stream', 'n', 'max_tokens', 'stop', 'tools', 'stream_options', 'id_slot']), JSON,
) | JSON)
def test_whatever_comes_is_taken_or_refused(content: object) -> None:
    with contextlib.suppress(RequestError):
        asked = read_request(json.dumps(content).encode(), Limits())
        assert 'id_slot' not in asked.body
        json.dumps(asked.body, allow_nan=False)
