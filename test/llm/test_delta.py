from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import chunk

from pace_ros.language import is_blank
from pace_ros.llm.delta import AnswerText, Delta, parse_delta
from pace_ros.llm.errors import L2Malformed, L2Refused
from pace_ros.llm.tools.call import CallDelta


def delta_of(payload: object) -> Delta:
    return parse_delta(json.dumps(payload))


@pytest.mark.parametrize(
    ('payload', 'delta'),
    [
        pytest.param(chunk('Hello'), Delta('Hello'), id='text'),
        pytest.param(chunk('你好\u2028'), Delta('你好\u2028'), id='not-ascii'),
        pytest.param(chunk(''), Delta(), id='empty-text'),
        pytest.param(chunk(role='assistant'), Delta(), id='role-only'),
        pytest.param(chunk(content=None), Delta(), id='null-text'),
        pytest.param(chunk(content=['x']), Delta(), id='text-of-another-type'),
        pytest.param(chunk(reasoning_content='Hmm.'), Delta(), id='reasoning_content'),
        pytest.param(chunk(content=None, reasoning='Hmm.'), Delta(), id='reasoning'),
        pytest.param(chunk(tool_calls=[{'index': 0, 'function': {'arguments': '{}'}}]),
                     Delta(calls=(CallDelta(0, arguments='{}'),)), id='tool-call'),
        pytest.param(chunk(refusal='No.'), Delta(), id='refusal'),
        pytest.param(chunk('end', finish='stop'), Delta('end', 'stop'), id='text-and-finish'),
        pytest.param(chunk(finish='length'), Delta('', 'length'), id='finish'),
        pytest.param({}, Delta(), id='empty-object'),
        pytest.param({'choices': []}, Delta(), id='no-choices'),
        pytest.param({'choices': None}, Delta(), id='null-choices'),
        pytest.param({'choices': [None]}, Delta(), id='null-choice'),
        pytest.param({'choices': [{'index': 0}]}, Delta(), id='no-delta'),
        pytest.param({'choices': [{'delta': None, 'finish_reason': 'stop'}]}, Delta('', 'stop'), id='null-delta'),
        pytest.param({'choices': [{'delta': {'content': 'x'}}], 'error': None}, Delta('x'), id='null-error'),
        pytest.param({**chunk('x'), 'usage': None}, Delta('x'), id='null-usage'),
        pytest.param(
            {'choices': [], 'usage': {'prompt_tokens': 7, 'completion_tokens': 3}}, Delta('', '', 7, 3), id='usage',
        ),
        pytest.param({'choices': [], 'usage': {'prompt_tokens': '7'}}, Delta(), id='usage-of-another-type'),
        pytest.param({'choices': [], 'prompt_filter_results': [{}]}, Delta(), id='filter-results-first'),
    ],
)
def test_a_chunk_is_reduced_to_its_answer_text(payload: object, delta: Delta) -> None:
    assert delta_of(payload) == delta


@pytest.mark.parametrize('separator', ['\u2028', '\u2029', '\u0085', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e'])
def test_raw_separators_inside_the_text_are_text(separator: str) -> None:
    payload = json.dumps(chunk('|')).replace('|', f'before{separator}after')
    assert parse_delta(payload).text == f'before{separator}after'


@pytest.mark.parametrize(
    ('error', 'words'),
    [({'message': 'too busy', 'code': 503}, 'too busy'), ('out of memory', 'out of memory'), ({'code': 500}, '500')],
)
def test_an_error_object_is_a_refusal_in_its_own_words(error: object, words: str) -> None:
    with pytest.raises(L2Refused, match=words) as caught:
        delta_of({'error': error})
    assert caught.value.retry_after is None


def test_a_long_error_is_cut() -> None:
    with pytest.raises(L2Refused) as caught:
        delta_of({'error': {'message': 'x' * 10_000}})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize('payload', ['', 'hello', '{"choices": [', '[1]', '3', 'null', '"text"', '[' * 100_000])
def test_what_is_no_chunk_is_malformed(payload: str) -> None:
    with pytest.raises(L2Malformed) as caught:
        parse_delta(payload)
    assert len(str(caught.value)) < 200


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    keys = st.sampled_from(['choices', 'delta', 'content', 'usage', 'prompt_tokens', 'error', 'finish_reason'])
    return LEAF | st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3)


@settings(deadline=None, max_examples=100)
@given(nested(nested(nested(LEAF))))
def test_no_json_surprises_the_reader(payload: object) -> None:
    try:
        delta = delta_of(payload)
    except (L2Malformed, L2Refused):
        return
    assert isinstance(delta.text, str)
    assert isinstance(delta.finish_reason, str)


def said(*pieces: str) -> list[str]:
    answer = AnswerText()
    return [*(text for text in map(answer.feed, pieces) if text), *filter(None, [answer.flush()])]


@pytest.mark.parametrize(
    ('pieces', 'spoken'),
    [
        pytest.param(['Hello', ' there'], ['Hello', ' there'], id='plain'),
        pytest.param(['', '\n', ' ', 'Hello'], ['Hello'], id='leading-blanks'),
        pytest.param([' \n Hello '], ['Hello '], id='trailing-blanks-stay'),
        pytest.param(['a', '  ', 'b'], ['a', '  ', 'b'], id='inner-blanks-stay'),
        pytest.param(['<think>hm</think>Yes'], ['Yes'], id='think-in-one-piece'),
        pytest.param(['<think>', 'hm', '</think>', '\n\n', 'Yes'], ['Yes'], id='think-in-pieces'),
        pytest.param(['\n', '<', 'thi', 'nk', '>h', 'm</', 'thi', 'nk', '>', ' Yes'], ['Yes'], id='tags-cut'),
        pytest.param(['<think>\n\n</think>\n\n', 'Yes'], ['Yes'], id='empty-think'),
        pytest.param(['<think>a < b</think>Yes'], ['Yes'], id='angle-bracket-inside'),
        pytest.param(['<think>never closed', ' at all'], [], id='think-without-end'),
        pytest.param(['<think>hm</think>', '  '], [], id='think-and-nothing'),
        pytest.param(['<th', 'ree>'], ['<three>'], id='not-the-tag'),
        pytest.param(['<th'], ['<th'], id='the-end-decides-the-doubt'),
        pytest.param(['< think>x'], ['< think>x'], id='another-tag'),
        pytest.param(['Use <think>', 'x</think>'], ['Use <think>', 'x</think>'], id='not-leading'),
        pytest.param(['', ' ', '\n'], [], id='only-blanks'),
        pytest.param([], [], id='nothing'),
    ],
)
def test_only_informative_text_is_let_through(pieces: list[str], spoken: list[str]) -> None:
    assert said(*pieces) == spoken


@pytest.mark.parametrize('text', ['\ufeff', '\u200b', '\u2060', '\x00', '\u3000', '\u00a0'])
def test_invisible_characters_are_no_informative_text(text: str) -> None:
    assert said(text, 'Hello')[-1].endswith('Hello')
    assert not is_blank(said(text, 'Hello')[0])
    assert said(text) == []


def expected(text: str) -> str:
    text = text.lstrip()
    if not text.startswith('<think>'):
        return text
    return text[text.index('</think>') + len('</think>'):].lstrip() if '</think>' in text else ''


PARTS = ['<think>', '</think>', '<', '/', 'think', '>', 'thi', 'nk', ' ', '\n', 'a', 'b.', '你', '']
TEXT = st.lists(st.sampled_from(PARTS), max_size=12)


@settings(deadline=None, max_examples=300)
@given(TEXT)
@example(['<think>', '</think>', '<think>'])
@example(['<', ' '])
def test_any_split_says_the_same_and_begins_with_no_blank(pieces: list[str]) -> None:
    whole = ''.join(pieces)
    spoken = said(*pieces)
    assert ''.join(spoken) == ''.join(said(*whole)) == expected(whole)
    assert not spoken or spoken[0].strip()


@settings(deadline=None)
@given(st.lists(st.sampled_from(['a', ' ', '\n', 'b<', 'think>', '你']), max_size=12))
def test_what_is_no_think_block_is_never_delayed(pieces: list[str]) -> None:
    answer, spoken, fed = AnswerText(), '', ''
    for piece in pieces:
        spoken += answer.feed(piece)
        fed += piece
        assert spoken == fed.lstrip()
    assert answer.flush() == ''
