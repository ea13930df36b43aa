"""What a request says of its conversation."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from pace_ros.serving.fleet import Identity
from pace_ros.serving.identity import IdentityError, stated

SETTINGS = Identity()


@pytest.mark.parametrize(('headers', 'body', 'key'), [
    ({}, {}, None),
    ({'x-session-id': 'a'}, {'session_id': 'b'}, 'a'),
    ({'x-conversation-id': 'c', 'x-session-id': 'a'}, {}, 'a'),
    ({'X-Session-Id': ' a '}, {}, 'a'),
    ({'x-session-id': '  '}, {'session_id': 'b'}, 'b'),
    ({}, {'conversation_id': 'a', 'session_id': 'b'}, 'a'),
    ({}, {'metadata': {'session_id': 'b'}}, 'b'),
    ({}, {'metadata': {'session_id': None}, 'prompt_cache_key': 'p'}, 'p'),
    ({}, {'metadata': None, 'prompt_cache_key': 'p'}, 'p'),
    ({}, {'metadata': ['session_id'], 'session_id': ''}, None),
    ({}, {'metadata': 'session_id', 'session_id': ' \t'}, None),
    ({}, {'metadata.session_id': 'flat'}, None),
    ({}, {'conversation_id': '访客-7'}, '访客-7'),
    ({}, {'conversation_id': 'x' * 256}, 'x' * 256),
])
def test_headers_go_before_fields_and_both_in_the_order_of_the_settings(
    headers: dict[str, str], body: dict[str, Any], key: str | None
) -> None:
    assert stated(headers, body, SETTINGS) == key
    assert stated(Headers(headers), body, SETTINGS) == key


@pytest.mark.parametrize(('headers', 'body', 'named'), [
    ({}, {'session_id': 7}, 'field session_id must be a string, not of type int'),
    ({}, {'session_id': False}, 'field session_id'),
    ({}, {'metadata': {'session_id': {'a': 1}}}, 'field metadata.session_id'),
    ({}, {'prompt_cache_key': 'x' * 257}, 'field prompt_cache_key must be printable and of at most 256'),
    ({}, {'session_id': 'a\nb'}, 'field session_id'),
    ({}, {'session_id': '\ud800'}, 'field session_id'),
    ({'x-session-id': 'a\x00b'}, {}, 'header x-session-id'),
])
def test_what_is_no_identity_is_named(headers: dict[str, str], body: dict[str, Any], named: str) -> None:
    with pytest.raises(IdentityError) as caught:
        stated(headers, body, SETTINGS)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 200


def test_names_are_a_matter_of_settings() -> None:
    own = Identity(headers=('X-Visitor',), fields=('a.b.c',))
    assert stated({'x-visitor': 'v', 'x-session-id': 's'}, {}, own) == 'v'
    assert stated({'x-session-id': 's'}, {'a': {'b': {'c': 'deep'}}}, own) == 'deep'
    assert stated({'x-session-id': 's'}, {'session_id': 's'}, own) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['metadata', 'session_id', 'conversation_id', 'x']), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(['metadata', 'session_id', 'prompt_cache_key']), json_values))
@settings(max_examples=50, deadline=None)
def test_any_body_gives_an_identity_that_can_be_used_none_or_one_sentence(body: dict[str, Any]) -> None:
    try:
        key = stated({}, body, SETTINGS)
    except IdentityError:
        return
    assert key is None or (key == key.strip() and key.isprintable() and 0 < len(key) <= SETTINGS.longest)
