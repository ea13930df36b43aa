from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pace_ros.language import (
    SentenceSplitter,
    chunks,
    detect_locale,
    is_blank,
    is_encodable,
    is_locale,
    language,
    normal_form,
    spoken_locale,
)

# -- locales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('text', 'locale', 'expected'), [
    ('云雀能跑多远？', 'en-US', 'zh-CN'), ('云雀能跑多远？', 'zh-TW', 'zh-TW'), ('東京', 'ja-JP', 'ja-JP'),
    ('The Lark goes far.', 'zh-CN', 'en-US'), ('The Lark goes far.', 'en-GB', 'en-GB'), ('Bonjour.', 'fr-FR', 'fr-FR'),
    ('云雀 Lark', 'zh-CN', 'zh-CN'), ('云雀 Lark', 'de', 'zh-CN'), ('410', 'zh-CN', 'zh-CN'), ('410', 'en', 'en'),
])
def test_a_sentence_is_read_by_a_voice_of_its_script(text: str, locale: str, expected: str) -> None:
    assert spoken_locale(text, locale) == expected


@pytest.mark.parametrize(
    ('text', 'locale'),
    [
        ('这车多少钱', 'zh-CN'),
        ('Orvane 的价格?', 'zh-CN'),
        ('𠮷', 'zh-CN'),  # beyond the basic plane
        ('How far?', 'en-US'),
        ('4 x 4', 'en-US'),
        ('123 ?!', 'default'),
        ('', 'default'),
        ('。，', 'default'),
        ('🚗', 'default'),
    ],
)
def test_the_locale_is_told_by_the_script(text: str, locale: str) -> None:
    assert detect_locale(text, 'default') == locale


@pytest.mark.parametrize('tag', ['zh', 'zh-CN', 'en_US', 'zh-Hans-CN', 'sr-Latn-RS', 'fil', 'en-US-x-lvariant'])
def test_the_shape_of_a_locale_is_known(tag: str) -> None:
    assert is_locale(tag)


@pytest.mark.parametrize('tag', ['', 'z', 'english', 'zh-', '-CN', 'zh CN', 'zh-CN\n', '中文', 'en-123456789', '12'])
def test_what_has_not_the_shape_of_a_locale_is_known(tag: str) -> None:
    assert not is_locale(tag)


@pytest.mark.parametrize(
    ('locale', 'expected'), [('zh-CN', 'zh'), ('EN_us', 'en'), ('zh-Hans-CN', 'zh'), ('fil', 'fil'), ('', '')]
)
def test_the_language_is_the_first_subtag(locale: str, expected: str) -> None:
    assert language(locale) == expected


# -- normal form, blanks, encoding ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'form'),
    [
        ('  How   far\tdoes\nit go?! ', 'how far does it go'),
        ('ＡＢＣ１２３', 'abc123'),
        ('多远？', '多远'),
        ('……多远～', '多远'),
        ('STRASSE', 'strasse'),
        ('Straße', 'strasse'),
        ('3.5 litres.', '3.5 litres'),
        ('Is it "good"?', 'is it "good"'),
        ('?!。', ''),
        ('', ''),
    ],
)
def test_the_normal_form(text: str, form: str) -> None:
    assert normal_form(text) == form


@pytest.mark.parametrize(
    ('one', 'other'), [('model 3', 'model 4'), ('3.5', '35'), ('-5', '5'), ('不贵', '贵'), ('c#', 'c')]
)
def test_different_questions_have_different_normal_forms(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


@given(st.text(alphabet=st.characters(max_codepoint=0x9FFF, exclude_categories=('Cs',)), max_size=40))
def test_case_width_and_outer_space_do_not_matter(text: str) -> None:
    form = normal_form(text)
    assert normal_form(f' \n{text}\t ') == form
    assert normal_form(f'{text}?') == form
    assert '  ' not in form
    assert form == form.strip()


@pytest.mark.parametrize('text', ['', ' ', '\n\t', '\u3000', '\u200b\ufeff', '\x00\x1b', '\u2028'])
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize('text', ['.', '。', 'a', '0', '多', '🚗', ' - '])
def test_what_shows_something_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_encodable_is_what_utf8_takes_and_c_strings_hold(text: str) -> None:
    try:
        text.encode()
        writable = '\0' not in text
    except UnicodeEncodeError:
        writable = False
    assert is_encodable(text) is writable


def test_halves_of_an_emoji_are_not_encodable() -> None:
    assert not is_encodable('\ud83d')
    assert not is_encodable('\ud83d\ude97')  # two halves from two chunks do not make a whole
    assert not is_encodable('a\0b')
    assert is_encodable('🚗')


# -- chunks ---------------------------------------------------------------------------------------------------------


def marks(text: str) -> int:
    """The longest run of combining marks, which stay with their letter."""
    longest = run = 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        longest = max(longest, run)
    return longest


@given(
    text=st.text(alphabet=st.one_of(st.sampled_from('ab e\u0301\u0302多远。,\n '), st.characters()), max_size=120),
    size=st.integers(1, 30),
)
def test_joined_the_chunks_are_the_text(text: str, size: int) -> None:
    pieces = list(chunks(text, size))
    assert ''.join(pieces) == text
    assert all(pieces)
    assert all(len(piece) <= size + marks(text) for piece in pieces)
    assert not any(unicodedata.combining(piece[0]) for piece in pieces[1:])


def test_chunks_are_cut_at_white_space_where_there_is_some() -> None:
    assert list(chunks('the quick brown fox jumps', 10)) == ['the quick ', 'brown fox ', 'jumps']
    assert list(chunks('a longestwordofall', 10)) == ['a longestw', 'ordofall']  # too early a cut is none
    assert list(chunks('这车能跑六百公里', 3)) == ['这车能', '跑六百', '公里']
    assert list(chunks('short', 10)) == ['short']
    assert list(chunks('', 10)) == []


# -- sentences ------------------------------------------------------------------------------------------------------


def sentences(*pieces: str, longest: int = 90) -> list[str]:
    splitter = SentenceSplitter(longest)
    return [sentence for piece in pieces for sentence in splitter.feed(piece)] + splitter.flush()


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('Hello there. It goes far! Does it? Yes.', ['Hello there.', 'It goes far!', 'Does it?', 'Yes.']),
        ('您好。它能跑六百公里！真的吗？', ['您好。', '它能跑六百公里！', '真的吗？']),
        ('真的；不骗您…好。', ['真的；', '不骗您…', '好。']),
        ('It costs 3.5 million. Really.', ['It costs 3.5 million.', 'Really.']),
        ('百公里12.5度电。', ['百公里12.5度电。']),
        ('Version 2.0.1 is out. Good.', ['Version 2.0.1 is out.', 'Good.']),
        ('Ask Mr. Li or Dr. Wang. They know.', ['Ask Mr. Li or Dr. Wang.', 'They know.']),
        ('Mrs. Li and Ms. Wu drive approx. 10 km. Ok.', ['Mrs. Li and Ms. Wu drive approx. 10 km.', 'Ok.']),
        ('Take one, e.g. the Lark, i.e. the small one. Ok.', ['Take one, e.g. the Lark, i.e. the small one.', 'Ok.']),
        ('Lark vs. Heron, No. 5. Ok.', ['Lark vs. Heron, No. 5.', 'Ok.']),
        ('1. Charge it. Drive it.', ['1. Charge it.', 'Drive it.']),
        ('1. Charge it.\n2. Drive it.', ['1. Charge it.', '2. Drive it.']),
        ('Two steps. 1. Charge it. 2. Drive it.', ['Two steps.', '1. Charge it.', '2. Drive it.']),
        ('One line\nanother line\n\nlast', ['One line', 'another line', 'last']),
        ('他说：“很好！”然后走了。', ['他说：“很好！”', '然后走了。']),
        ('(Really?!) Yes.', ['(Really?!)', 'Yes.']),
        ('Well... yes. ', ['Well...', 'yes.']),
        ('no end', ['no end']),
        ('!!! ... 。', []),
        ('', []),
    ],
)
def test_sentences_of_a_whole_text(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    'text', ['We open at 9 a.m. every day. Come in.', 'From 9 a.m. to 6 p.m. on weekdays. Come in.']
)
def test_the_hours_of_a_day_do_not_end_a_sentence(text: str) -> None:
    assert sentences(text) == [text.removesuffix(' Come in.'), 'Come in.']


@pytest.mark.parametrize('answer', ['No.', 'Sadly no.'])
def test_a_no_that_is_an_answer_ends_its_sentence(answer: str) -> None:
    assert sentences(f'{answer} We do not sell it.') == [answer, 'We do not sell it.']
    assert sentences(f'Is it here? {answer} Not yet.') == ['Is it here?', answer, 'Not yet.']


def test_a_sentence_comes_as_soon_as_it_is_known_to_be_complete() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed('您好。') == ['您好。']
    assert splitter.feed('It costs 3.') == []
    assert splitter.feed('5') == []
    assert splitter.feed(' million.') == []
    assert splitter.feed(' And') == ['It costs 3.5 million.']
    assert splitter.feed(' why?') == []  # more of it may follow
    assert splitter.feed('!') == []
    assert splitter.feed(' Because') == ['And why?!']
    assert splitter.flush() == ['Because']
    assert splitter.flush() == []


def test_a_long_sentence_is_cut_at_its_last_clause_so_that_speech_can_begin() -> None:
    splitter = SentenceSplitter(longest=20)
    assert splitter.feed('A short clause, ') == []
    assert splitter.feed('another one, and then') == ['A short clause, another one,']
    assert splitter.flush() == ['and then']
    assert sentences('这是一个很长的句子，', '还有第二个分句，', '最后', longest=10) == [
        '这是一个很长的句子，还有第二个分句，', '最后'
    ]


def test_a_long_sentence_is_never_cut_inside_a_number() -> None:
    assert sentences('The whole price is 1,000,000 yuan and 3:30 h', longest=10) == [
        'The whole price is 1,000,000 yuan and 3:30 h'
    ]


def cut(text: str, places: list[int]) -> list[str]:
    bounds = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[begin:end] for begin, end in itertools.pairwise(bounds)]


def spoken(text: str) -> str:
    return ''.join(char for char in text if char.isalnum())


LATIN = st.lists(
    st.sampled_from([
        'Hello', ' there', ' car', '. ', '.', '? ', '!', '?!', '; ', ', ', ': ', '\n', '3.5', ' 12', 'Mr. ', ' e.g. ',
        ' No. 5', '1. ', '...', '… ', '(', ') ', '"', '-', '3:30',
    ]),
    max_size=30,
).map(''.join)
HAN = st.lists(
    st.sampled_from([
        '您好', '汽车', '。', '！', '？', '；', '，', '：', '、', '…', '12.5', '\n', '“', '”', '》', '3', ' ',
        '!', '1. ',
    ]),
    max_size=30,
).map(''.join)
PLACES = st.lists(st.integers(0, 400), max_size=60)


@given(text=st.one_of(LATIN, HAN, st.text(max_size=60)), places=PLACES, longest=st.integers(5, 90))
def test_no_letter_and_no_digit_is_lost(text: str, places: list[int], longest: int) -> None:
    said = sentences(*cut(text, places), longest=longest)
    assert spoken(''.join(said)) == spoken(text)
    assert all(spoken(sentence) for sentence in said)
    assert all(sentence == sentence.strip() for sentence in said)


@settings(max_examples=400)
@given(text=LATIN, places=PLACES)
@example(text='Wow! )" Yes.', places=[4])
def test_any_split_of_a_latin_stream_gives_the_same_sentences(text: str, places: list[int]) -> None:
    """Where nothing is too long. What is spoken must be the same; a closing quote may come late."""
    whole, streamed = sentences(text, longest=10_000), sentences(*cut(text, places), longest=10_000)
    assert [spoken(each) for each in streamed] == [spoken(each) for each in whole]


@settings(max_examples=400)
@given(text=HAN, places=PLACES)
@example(text='您好。”1. 汽车。', places=[3])
def test_any_split_of_a_chinese_stream_gives_the_same_sentences(text: str, places: list[int]) -> None:
    """Likewise. A full stop is spoken at once, before the quote that may follow it."""
    whole, streamed = sentences(text, longest=10_000), sentences(*cut(text, places), longest=10_000)
    assert [spoken(each) for each in streamed] == [spoken(each) for each in whole]


@pytest.mark.parametrize(
    'text',
    [
        'Hello there! It costs 3.5 million. Ask Mr. Li?! "Really?" (Yes.) Well... ok.',
        '您好！它能跑612.5公里。真的吗？是的；不骗您…好。\n再见',
    ],
)
def test_every_single_cut_gives_the_very_same_sentences(text: str) -> None:
    whole = sentences(text)
    for place in range(len(text) + 1):
        assert sentences(text[:place], text[place:]) == whole
    assert sentences(*text) == whole
