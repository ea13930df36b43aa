from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.facts.numerals import in_digits, numbers, plain

DIGITS = '零一二三四五六七八九'
ONES = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve',
        'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen']
TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
BELOW_A_BILLION = st.integers(0, 999_999_999) | st.integers(0, 99_999) | st.integers(0, 999)


def values(text: str) -> list[float]:
    """The numbers of a text but for lone words such as *one*, which may count nothing."""
    return [number.value for number in numbers(plain(text).lower()) if not number.bare]


def all_values(text: str) -> list[float]:
    return [number.value for number in numbers(plain(text).lower())]


def group_in_chinese(number: int) -> str:
    """A number below ten thousand: 1005 = 一千零五, 1050 = 一千零五十."""
    text, gap = '', False
    for power, unit in ((1000, '千'), (100, '百'), (10, '十'), (1, '')):
        digit = number // power % 10
        if digit == 0:
            gap = bool(text)
            continue
        text += ('零' if gap else '') + DIGITS[digit] + unit
        gap = False
    return text


def in_chinese(number: int) -> str:
    """A number below 10^9, as it is read aloud."""
    text = ''
    for power, unit in ((10**8, '亿'), (10**4, '万'), (1, '')):
        group = number // power % (10**4 if power < 10**8 else 10)
        if group:
            gap = text and group < 1000
            text += ('零' if gap else '') + group_in_chinese(group) + unit
    return (text[1:] if text.startswith('一十') else text) or '零'


def group_in_english(number: int, joint: str, link: str) -> str:
    words = []
    if number >= 100:
        words.append(f'{ONES[number // 100]} hundred')
        number %= 100
        if number and link:
            words.append(link)
    if number >= 20:
        words.append(TENS[number // 10] + (joint + ONES[number % 10] if number % 10 else ''))
    elif number:
        words.append(ONES[number])
    return ' '.join(words)


def in_english(number: int, joint: str = '-', link: str = 'and') -> str:
    """A number below 10^9: seventy-five thousand one hundred and two."""
    words = [
        f'{group_in_english(number // power % 1000, joint, link)} {unit}'.strip()
        for power, unit in ((10**6, 'million'), (10**3, 'thousand'), (1, '')) if number // power % 1000
    ]
    return ' '.join(words) or 'zero'


def test_the_helpers_of_this_test_spell() -> None:
    assert [in_chinese(n) for n in (0, 7, 12, 105, 1005, 1050, 20_007, 120_000, 100_000_300)] == [
        '零', '七', '十二', '一百零五', '一千零五', '一千零五十', '二万零七', '十二万', '一亿零三百']
    assert in_english(1_075_102) == 'one million seventy-five thousand one hundred and two'


@given(number=BELOW_A_BILLION)
def test_every_number_in_chinese_numerals_is_read_back(number: int) -> None:
    assert all_values(in_chinese(number)) == [number]


@given(number=BELOW_A_BILLION)
def test_two_may_be_read_either_way(number: int) -> None:
    text = in_chinese(number).replace('二千', '两千').replace('二万', '两万').replace('二亿', '两亿')
    assert all_values(text) == [number]


@given(number=BELOW_A_BILLION)
def test_formal_numerals_are_read_back(number: int) -> None:
    formal = str.maketrans('一二三四五六七八九十百千', '壹贰叁肆伍陆柒捌玖拾佰仟')
    assert all_values(in_chinese(number).translate(formal)) == [number]


@given(number=BELOW_A_BILLION, joint=st.sampled_from('- '), link=st.sampled_from(['and', '']), upper=st.booleans())
def test_every_number_in_english_words_is_read_back(number: int, joint: str, link: str, *, upper: bool) -> None:
    text = in_english(number, joint, link)
    assert all_values(text.upper() if upper else text) == [number]


@given(number=BELOW_A_BILLION)
def test_every_number_in_digits_is_read_back_with_and_without_commas(number: int) -> None:
    assert values(f'{number}') == values(f'{number:,}') == [number]


@given(number=st.integers(0, 9_999), digits=st.text('0123456789', min_size=1, max_size=4))
def test_decimals_in_chinese_are_those_in_digits(number: int, digits: str) -> None:
    spoken = ''.join(DIGITS[int(digit)] for digit in digits)
    assert all_values(f'{in_chinese(number)}点{spoken}') == values(f'{number}.{digits}')


@given(digits=st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_a_number_spelt_digit_by_digit_is_read_as_one(digits: list[int]) -> None:
    assert all_values(' '.join(ONES[digit] for digit in digits)) == [int(''.join(map(str, digits)))]


@pytest.mark.parametrize(('text', 'expected'), [
    ('12,500', [12_500]),
    ('１２，５００', [12_500]),
    ('2026,2027', [2026, 2027]),
    ('1,2,3', [1, 2, 3]),
    ('12.98万', [129_800]),
    ('1.25万', [12_500]),
    ('3万', [30_000]),
    ('3千万', [30_000_000]),
    ('12万8', [128_000]),
    ('12万8千', [128_000]),
    ('12万8500', [128_500]),
    ('三万五', [35_000]),
    ('三千五', [3_500]),
    ('一万零五', [10_005]),
    ('一点五万', [15_000]),
    ('二〇二七', [2027]),
    ('九五号汽油', [95]),
    ('200k', [200_000]),
    ('20 km', [20]),
    ('1.5 million', [1_500_000]),
    ('12 thousand', [12_000]),
    ('a hundred and twenty', [120]),
    ('two point five million', [2_500_000]),
    ('two point five', [2.5]),
    ('nineteen ninety', [1990]),
    ('twenty twenty-seven', [2027]),
    ('twelve hundred', [1200]),
    ('five and seven', [5, 7]),
    ('five or seven', [5, 7]),
    ('ten, twenty', [10, 20]),
    ('百分之三十', [30]),
    ('四分之三', [0.75]),
    ('3分之1', [0.333333]),
    ('两三天', [2, 3]),
    ('三四十公里', [30, 40]),
    ('十五六万', [150_000, 160_000]),
    ('二十七八', [27, 28]),
    ('一两个月', [1, 2]),
    ('零下20度', [-20]),
    ('-20 degrees', [-20]),
    ('minus twenty degrees', [-20]),
    ('负五度', [-5]),
    ('100-200', [100, 200]),
    ('24-month', [24]),
    ('两个半小时', [2.5]),
    ('two and a half hours', [2.5]),
    ('7千瓦', [7]),
    ('第三排', [3]),
    ('第二十一届', [21]),
    ('the third row', [3]),
    ("the Bison's second row", [2]),
    ('front and second row', [2]),
    ('on the 10th', [10]),
])
def test_a_number_is_read(text: str, expected: list[float]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize('text', [
    '请等一下', '等一会儿', '我们一起聊聊', '声音大一点', '唯一', '统一价', '哪一年', '第一次', '万一坏了',
    '十分感谢', '百分百', '三元锂', '三电系统',
    '四驱', '四季胎', '二手车', '千万别急', '零部件', '零配件', '陆续', '大陆', '每千瓦', '4S店', '进一步',
    'one moment', 'Someone', 'tension', 'a thousand thanks', 'just a second', 'second to none', 'no one',
    'four-wheel drive',
    'freight', 'Wait a second please', '',
])
def test_what_counts_nothing_is_no_number(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize(('text', 'places'), [
    ('the first service', [1.0]), ('first service', [1.0]), ('first-year insurance', [1.0]), ('首次保养', [1.0]),
    ('第一次保养', [1.0]), ('第 33 届', [33.0]), ('second largest', [2.0]), ('the second row', [2.0]),
    ('first, make sure', []), ('at first', []), ('my first time here', []), ('首付', []), ('wait a second', []),
])
def test_a_place_in_an_order_is_told_from_a_manner_of_speaking(text: str, places: list[float]) -> None:
    assert [number.value for number in numbers(text) if number.ordinal] == places


@pytest.mark.parametrize(('text', 'digits'), [
    ('Mark III', 'Mark 3'), ('Super Bowl XXXIII', 'Super Bowl 33'), ('XIV', '14'), ('Block II', 'Block 2'),
    ('I have a VW', 'I have a VW'), ('IIII', 'IIII'), ('VX', 'VX'), ('ii', 'ii'), ('XXL', 'XXL'), ('', ''),
])
def test_roman_numerals_are_written_in_digits(text: str, digits: str) -> None:
    assert in_digits(text) == digits


def test_a_number_has_its_place() -> None:
    text = plain('about 1.5 hours, 两万公里').lower()
    assert [text[number.start:number.end] for number in numbers(text)] == ['1.5', '两万']


def test_places_in_an_order_are_marked() -> None:
    text = plain('第三排, the 3rd row, 3 rows').lower()
    assert [(number.value, number.ordinal) for number in numbers(text)] == [(3, True), (3, True), (3, False)]


@pytest.mark.parametrize('text', [
    '9' * 5000, '九' * 5000, '亿' * 5000, 'one ' * 5000, 'million ' * 5000, '第' + '九' * 5000])
def test_what_is_too_long_to_be_a_number_is_none(text: str) -> None:
    assert values(text) == []


@given(text=st.text(st.characters(exclude_categories=())
                    | st.sampled_from('零一二两十百千万亿点半第分之0123456789,. -') , max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    for number in numbers(plain(text).lower()):
        assert number.start < number.end
        assert number.value == number.value
