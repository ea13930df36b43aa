from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.language import count_tokens
from pace_ros.llm.delta import parse_delta
from pace_ros.llm.sse import SseParser
from pace_ros.study.cloud.pieces import deltas, ending, limited, streamed, whole

ANY = st.text(st.characters(exclude_categories=['Cs']), max_size=200)
LIKELY = st.text('云雀的价格是199800元，。! ab\n\u2028"\\', max_size=80)


@given(ANY | LIKELY, st.integers(1, 40))
def test_deltas_joined_are_the_text(text: str, most: int) -> None:
    cut = deltas(text, most)
    assert ''.join(cut) == text
    assert len(cut) <= most
    assert all(cut) or not text


@given(ANY | LIKELY, st.integers(1, 40))
def test_the_robot_reads_the_text_from_the_events(text: str, most: int) -> None:
    pieces = streamed(text, most)
    parser = SseParser()
    *payloads, done = parser.feed(b''.join(pieces.payloads) + ending('stop', (5, 7)))
    read = [parse_delta(payload) for payload in payloads]
    assert done == '[DONE]'
    assert ''.join(each.text for each in read) == text.replace('\0', '')
    assert (read[-2].finish_reason, read[-1].tokens_in, read[-1].tokens_out) == ('stop', 5, 7)
    assert len(pieces.payloads) == len(pieces.tokens)


def test_words_and_a_few_characters_are_deltas() -> None:
    assert deltas('How far, then?', 99) == ('How', ' far,', ' then?')
    assert deltas('云雀多少钱？199元。', 99) == ('云雀多', '少钱？', '199', '元。')
    assert deltas('one two three four five', 3) == ('one', ' two three', ' four five')
    assert deltas('', 5) == ()
    assert deltas('one two', 1) == ('one two',)


@given(LIKELY, st.integers(1, 30))
def test_a_limit_is_kept_at_a_word(text: str, limit: int) -> None:
    said = limited(text, limit)
    assert text.startswith(said)
    assert count_tokens(said) <= limit or said == deltas(text, 1000)[0]


def test_without_wish_there_is_no_usage() -> None:
    assert b'usage' not in ending('stop', None)


@pytest.mark.parametrize('text', ['', '云雀"', 'a\nb'])
def test_a_whole_answer_is_one_completion(text: str) -> None:
    fields = json.loads(whole(text, 'stop', (3, 4)))
    assert fields['object'] == 'chat.completion'
    assert fields['choices'][0]['message'] == {'role': 'assistant', 'content': text}
    assert fields['usage'] == {'prompt_tokens': 3, 'completion_tokens': 4, 'total_tokens': 7}
