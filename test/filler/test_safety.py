"""A filler states no fact, has no number, and promises no search (design section 5)."""
from __future__ import annotations

import itertools
import unicodedata

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.filler import rejection

ACCEPTED = [
    'Good question!',
    'Hm, one moment, please.',
    'Just a second.',
    'Thank you for asking.',
    'Glad you ask!',
    'Let me think for a moment.',
    'Someone is curious!',
    'Oh, often asked.',
    'Wonderful.',
    'Café, anyone?',
    '好问题，请稍等。',
    '嗯，请稍等一下。',
    '您等一会儿。',
    '我们一起聊聊。',
    '您问得真仔细！',
    '欢迎光临！',
    'x' * 30,
]
NUMBERS = [
    'About 5 minutes.',
    'In ５ minutes.',
    '²',
    'Number ①!',
    'Chapter Ⅳ.',
    '½ a moment.',
    '٣ أسئلة',
    'Two moments, please.',
    'My first thought!',
    'Seventeen people ask that.',
    'Twenty-one!',
    'Half a moment.',
    'Once more!',
    'A hundred thanks!',
    'Hundreds of thanks!',
    'Thousands ask that!',
    'Dozens ask that!',
    'The fourth visitor!',
    'DOUBLE thanks!',
    '三位顾客都问过。',
    '等十分钟。',
    '第一次有人问。',
    '百分之百赞同。',
    '两位好！',
    '〇',
    '几千人问过。',
    '壹位顾客问过。',
    '叁位顾客问过。',
]
SEARCHES = [
    'Let me check that.',
    'Checking, one moment.',
    'Let me look it up.',
    'I am looking into it.',
    'Let me look that up.',
    'Searching now.',
    'Let me find out.',
    'Let me see.',
    'I will query that.',
    'Let me verify.',
    'Retrieving...',
    'Calculating...',
    '我查一下。',
    '让我搜搜。',
    '我看看。',
    '我看一下。',
    '我核实一下。',
    '我确认一下。',
    '帮您找一下。',
    '我问一下同事。',
]
FACTS = [
    'Yes, it does.',
    'No.',
    'Of course!',
    'Certainly!',
    'You are right.',
    'It is electric.',
    "It's electric.",
    'The car drives itself.',
    'Our battery lasts.',
    'It costs much.',
    'It has heated seats.',
    'There are some.',
    'Sunroof available!',
    '是的！',
    '没有。',
    '可以的。',
    '当然！',
    '价格很好。',
    '免费的。',
    '不支持。',
    '$',
    '100 %',
]
NOTHING = ['', ' ', '\n', '!!!', '…', '。', '🙂', '\u200b']
SPECIAL = ['Good\x07 question!', 'Good\nquestion!', 'Good \ud83d question!', 'Good \ue000 one']


@pytest.mark.parametrize('text', ACCEPTED)
def test_social_phrases_pass(text: str) -> None:
    assert rejection(text, 30) == ''


@pytest.mark.parametrize('text', NUMBERS)
def test_numbers_in_any_script_or_in_words_are_rejected(text: str) -> None:
    assert rejection(text, 30).startswith(('has a digit', 'has a number word', 'empty'))


@pytest.mark.parametrize('text', SEARCHES)
def test_announcing_a_search_is_rejected(text: str) -> None:
    assert rejection(text, 30).startswith('announces a search')


@pytest.mark.parametrize('text', FACTS)
def test_facts_and_answers_are_rejected(text: str) -> None:
    assert rejection(text, 30)


@pytest.mark.parametrize('text', NOTHING)
def test_nothing_to_say_is_rejected(text: str) -> None:
    assert rejection(text, 30) == 'empty'


@pytest.mark.parametrize('text', SPECIAL)
def test_what_cannot_be_spoken_is_rejected(text: str) -> None:
    assert rejection(text, 30) == 'has a control character'


@pytest.mark.parametrize(('text', 'limit', 'passes'), [
    ('x' * 30, 30, True), ('x' * 31, 30, False), ('好' * 30, 30, True), ('好' * 31, 30, False), ('Hm', 1, False)])
def test_length_counts_characters(text: str, limit: int, passes: bool) -> None:
    assert (rejection(text, limit) == '') is passes


DIGITS = st.characters(categories=('Nd', 'Nl', 'No'))
SHORT = st.text(st.characters(categories=('L', 'P', 'Zs')), max_size=14)


@given(before=SHORT, digit=DIGITS, after=SHORT)
def test_any_text_with_a_digit_is_rejected(before: str, digit: str, after: str) -> None:
    assert unicodedata.category(digit).startswith('N')
    assert rejection(f'{before}{digit}{after}', 30)


@given(text=st.text(st.characters(exclude_categories=()), max_size=60), limit=st.integers(1, 40))
def test_what_passes_is_short_and_without_digits(text: str, limit: int) -> None:
    if rejection(text, limit) == '':
        assert 0 < len(text) <= limit
        assert text.isprintable() or any(unicodedata.category(char) in ('Cf', 'Zl', 'Zp', 'Zs') for char in text)
        assert not any(unicodedata.category(char).startswith('N') for char in text)


@given(word=st.sampled_from(['seven', 'twelve', 'hundred', 'check', 'search', 'yes', 'not', '查', '三']),
       upper=st.booleans())
def test_case_hides_nothing(word: str, upper: bool) -> None:
    assert rejection(f'Oh {word.upper() if upper else word.title()} oh', 30)


def test_every_shipped_filler_passes() -> None:
    book = yaml.safe_load((packaged.config_dir() / 'fillers.yaml').read_text(encoding='utf-8'))
    texts = [text for fields in book.values() for text in [
        *fields['placeholders'], *map(''.join, itertools.product(*fields['pieces']))]]
    assert len(texts) > 30
    assert {text: rejection(text, 30) for text in texts if rejection(text, 30)} == {}
