from __future__ import annotations

import datetime
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.facts.dates import Moment, moments
from pace_ros.facts.numerals import plain


def found(text: str) -> list[Moment]:
    """The moments of a text in their order in it."""
    small = plain(text).lower()
    return [moment for moment, _, _ in sorted(moments(small), key=lambda each: each[1])]


def clock(hour: int, minute: int = 0, *, vague: bool = False) -> Moment:
    return Moment(minute=60 * hour + minute, vague=vague)


@pytest.mark.parametrize(('text', 'expected'), [
    ('2027年3月31日', [Moment(2027, 3, 31)]),
    ('二〇二七年三月三十一日', [Moment(2027, 3, 31)]),
    ('2027-03-31', [Moment(2027, 3, 31)]),
    ('2027/3/31', [Moment(2027, 3, 31)]),
    ('March 31, 2027', [Moment(2027, 3, 31)]),
    ('Mar 31st 2027', [Moment(2027, 3, 31)]),
    ('31 March 2027', [Moment(2027, 3, 31)]),
    ('the 31st of March', [Moment(None, 3, 31)]),
    ('3月31号', [Moment(None, 3, 31)]),
    ('十二月', [Moment(None, 12)]),
    ('5月份', [Moment(None, 5)]),
    ('from Jul 1929 to Dec 1796', [Moment(1929, 7), Moment(1796, 12)]),
    ('in May', [Moment(None, 5)]),
    ('October', [Moment(None, 10)]),
    ('2027年', [Moment(2027)]),
    ('2027款', [Moment(2027)]),
    ('一九九八年', [Moment(1998)]),
    ('每个月10号扣款', [Moment(day=10)]),
    ('on the 10th of each month', [Moment(day=10)]),
    ('周一到周六', [Moment(weekday=0), Moment(weekday=5)]),
    ('星期天', [Moment(weekday=6)]),
    ('礼拜日', [Moment(weekday=6)]),
    ('Monday to Saturdays', [Moment(weekday=0), Moment(weekday=5)]),
    ('下周一', [Moment(weekday=0, span='week', step=1)]),
    ('下个星期一', [Moment(weekday=0, span='week', step=1)]),
    ('next Monday', [Moment(weekday=0, span='week', step=1)]),
    ('今天', [Moment(span='day', step=0)]),
    ('今晚', [Moment(span='day', step=0)]),
    ('明天', [Moment(span='day', step=1)]),
    ('后天', [Moment(span='day', step=2)]),
    ('大后天', [Moment(span='day', step=3)]),
    ('昨天', [Moment(span='day', step=-1)]),
    ('tomorrow', [Moment(span='day', step=1)]),
    ('the day after tomorrow', [Moment(span='day', step=2)]),
    ('这个月', [Moment(span='month', step=0)]),
    ('上周', [Moment(span='week', step=-1)]),
    ('本季度', [Moment(span='quarter', step=0)]),
    ('明年', [Moment(span='year', step=1)]),
    ('this month', [Moment(span='month', step=0)]),
    ('last year', [Moment(span='year', step=-1)]),
    ('in the seventies', [Moment(1970)]),
    ("of the 70's", [Moment(1970)]),
    ('70年代', [Moment(1970)]),
    ('七十年代', [Moment(1970)]),
    ('1466年', [Moment(1466)]),
])
def test_a_date_is_read(text: str, expected: list[Moment]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(('text', 'expected'), [
    ('早上8点半到下午6点', [clock(8, 30), clock(18)]),
    ('half past 8 in the morning to 6 PM', [clock(8, 30), clock(18)]),
    ('三点二十', [clock(3, 20, vague=True)]),
    ('三点零五分', [clock(3, 5, vague=True)]),
    ('8点05', [clock(8, 5, vague=True)]),
    ('下午三点一刻', [clock(15, 15)]),
    ('三点钟', [clock(3, vague=True)]),
    ('一点钟', [clock(1, vague=True)]),
    ('下午一点', [clock(13)]),
    ('中午12点', [clock(12)]),
    ('中午1点', [clock(13)]),
    ('晚上12点', [clock(0)]),
    ('凌晨2点', [clock(2)]),
    ('18时30分', [clock(18, 30)]),
    ('上午9时', [clock(9)]),
    ('9时到18时30分', [clock(9, vague=True), clock(18, 30)]),
    ('18:00', [clock(18)]),
    ('下午3：30', [clock(15, 30)]),
    ('上午8:30到晚上8:00', [clock(8, 30), clock(20)]),
    ('8:30', [clock(8, 30, vague=True)]),
    ('8:30 am', [clock(8, 30)]),
    ('12 a.m.', [clock(0)]),
    ('12 pm', [clock(12)]),
    ('six PM', [clock(18)]),
    ("eight o'clock", [clock(8, vague=True)]),
    ('8 in the evening', [clock(20)]),
    ('quarter to nine', [clock(8, 45, vague=True)]),
    ('until noon', [clock(12)]),
])
def test_a_time_of_day_is_read(text: str, expected: list[Moment]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize('text', [
    '声音大一点', '快点', '有点', '12个月', '48个月', '24小时', '一周一次', '每周一次', '两周三次', '目前年利率',
    '以后天天', '低于百分之20时', '停车时',
    '时速100公里', '92号汽油', '三号线', '15月', '工作日', '上门', '周围', '车上周边', '说明书', '5年', '二十一天',
    '三点五', '2.9点',
    'May I take my hands off?', 'They march on', 'Marchioness', 'a second', 'the next model', '12 models', '8 seats',
    'Midnight Black', 'camera', 'I am 8', '3 a month', 'sundae', '25:61', '',
])
def test_what_is_no_moment_is_none(text: str) -> None:
    assert found(text) == []


@given(day=st.dates(datetime.date(1950, 1, 1), datetime.date(2049, 12, 31)))
def test_every_day_is_read_in_every_form(day: datetime.date) -> None:
    expected = [Moment(day.year, day.month, day.day)]
    for text in (
        day.isoformat(), f'{day.year}年{day.month}月{day.day}日', f'{day:%B} {day.day}, {day.year}',
        f'{day.day} {day:%b} {day.year}',
    ):
        assert found(text) == expected


@given(at=st.times())
def test_every_minute_is_read_in_every_form(at: datetime.time) -> None:
    half = '上午' if at.hour < 12 else '下午'
    noon = (at.hour + 11) % 12 + 1
    expected = [clock(at.hour, at.minute)]
    assert found(f'{noon}:{at.minute:02} {"a" if at.hour < 12 else "p"}m') == expected
    if noon < 12:
        assert found(f'{half}{noon}点{at.minute:02}分') == expected
    (vague,) = found(f'{at.hour}:{at.minute:02}')
    assert vague.may_be(expected[0])


@pytest.mark.parametrize(('one', 'other', 'possible'), [
    (Moment(2027), Moment(2027, 3, 31), True),
    (Moment(2027, 3), Moment(2028, 3), False),
    (Moment(month=3), Moment(year=2027), True),
    (Moment(weekday=0), Moment(weekday=0, span='week', step=1), True),
    (Moment(weekday=0), Moment(weekday=1), False),
    (Moment(span='day', step=0), Moment(span='day', step=1), False),
    (clock(8, vague=True), clock(20), True),
    (clock(8), clock(20), False),
    (clock(12, vague=True), clock(0), True),
    (clock(8, vague=True), clock(8, 30), False),
])
def test_moments_can_be_the_same_unless_both_say_different(one: Moment, other: Moment, *, possible: bool) -> None:
    assert one.kind == other.kind
    assert one.may_be(other) is other.may_be(one) is possible


def test_moments_of_different_kinds_are_told_apart() -> None:
    assert [moment.kind for moment in found('今天, 2027年, 周一, 8点, 下个月')] == [
        'relative day', 'date', 'weekday', 'time of day', 'relative month']


@given(text=st.text(st.characters() | st.sampled_from('0123456789年月日号周点时半刻分:- 一十两今下本'), max_size=40))
def test_any_text_can_be_read_and_places_do_not_overlap(text: str) -> None:
    places = sorted((start, end) for _, start, end in moments(plain(text).lower()))
    assert all(end <= after for (_, end), (after, _) in itertools.pairwise(places))
