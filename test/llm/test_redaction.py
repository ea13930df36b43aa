"""The key never shows in what is kept, and nothing else changes."""
from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.llm.redaction import SHORTEST, Redaction

KEY = 'sk-secret-0123456789'
PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
KEYS = st.text(PRINTABLE, min_size=SHORTEST, max_size=60)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """The body in pieces, cut at the places."""
    bounds = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[begin:end] for begin, end in itertools.pairwise(bounds)]


def test_a_key_is_hidden_and_everything_else_stays() -> None:
    assert Redaction([KEY]).body(f'Incorrect key: {KEY}.'.encode()) == b'Incorrect key: ' + b'*' * 20 + b'.'


def test_a_key_cut_between_chunks_is_hidden_in_both() -> None:
    hidden = Redaction([KEY]).chunks([b'Wrong: sk-secret', b'-01234', b'56789, sorry'])
    assert hidden == (b'Wrong: *********', b'******', b'*****, sorry')


@given(key=KEYS, before=st.binary(max_size=40), after=st.binary(max_size=40), places=st.lists(st.integers(0, 200)))
def test_no_cut_lets_a_key_through_or_changes_a_length(
    key: str, before: bytes, after: bytes, places: list[int]
) -> None:
    pieces = cut(before + key.encode() + after, places)
    hidden = Redaction([key]).chunks(pieces)
    assert key.encode() not in b''.join(hidden)
    assert [len(each) for each in hidden] == [len(each) for each in pieces]


@given(key=KEYS, spelling=st.sampled_from(['json', 'unicode', 'url']))
def test_an_escaped_key_is_hidden_too(key: str, spelling: str) -> None:
    written = {
        'json': json.dumps(key)[1:-1].replace('/', '\\/'),
        'unicode': ''.join(f'\\u{ord(character):04X}' for character in key),
        'url': ''.join(f'%{ord(character):02X}' for character in key),
    }[spelling].encode()
    assert Redaction([key]).body(b'{"a": "' + written + b'"}') == b'{"a": "' + b'*' * len(written) + b'"}'


@pytest.mark.parametrize('shown', range(SHORTEST, len(KEY)))
def test_a_key_that_the_end_cuts_off_is_hidden(shown: int) -> None:
    assert Redaction([KEY]).body(b'Key ' + KEY[:shown].encode()) == b'Key ' + b'*' * shown


@pytest.mark.parametrize('key', ['aaaaaaaab', '12345678\\\\9', '12345678\\u005c9', '\\\\\\\\\\\\\\\\x', '12345678%5C'])
def test_keys_that_look_like_escapes_or_like_themselves(key: str) -> None:
    assert key not in Redaction([key]).text(f'{key[0]}{key}{key[-1]}')
    assert key[1:] not in Redaction([key]).text(f'{key[0]}{key}{key[-1]}')


def test_several_keys_one_the_beginning_of_the_other() -> None:
    longer = KEY + '-and-more'
    assert Redaction([KEY, longer, KEY]).text(f'{longer} {KEY}') == '*' * 29 + ' ' + '*' * 20


@pytest.mark.parametrize('placeholder', ['', 'none', 'EMPTY', 'local'])
def test_a_placeholder_is_no_secret(placeholder: str) -> None:
    assert Redaction([placeholder]).text('none of the local ones is EMPTY') == 'none of the local ones is EMPTY'


@given(st.text(), st.lists(st.binary(), max_size=5))
def test_without_a_key_nothing_changes(text: str, chunks: list[bytes]) -> None:
    assert Redaction([]).text(text) == text
    assert Redaction([]).chunks(chunks) == tuple(chunks)


def test_any_text_is_taken() -> None:
    assert Redaction([KEY]).text(f'你\ud83d{KEY}é') == '你\ud83d' + '*' * 20 + 'é'
