from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.facts.numerals import numbers, plain
from pace_ros.facts.units import NUMBER, Quantity, agree, unit_at

DAY = 86_400.0
MONTH = 2_629_800.0
YEAR = 31_557_600.0


def measured(text: str) -> list[Quantity]:
    """What the numbers of a text measure, in base units."""
    small = plain(text).lower()
    found = []
    for number in numbers(small):
        counted = unit_at(small, number.start, number.end)
        if counted is not None:
            unit, rest = counted
            found.append((unit.dimension, round((number.value + rest) * unit.factor, 6)))
    return found


@pytest.mark.parametrize(('text', 'quantity'), [
    ('520公里', ('length', 520_000)),
    ('520 km', ('length', 520_000)),
    ('520 kilometres', ('length', 520_000)),
    ('300 miles', ('length', 482_803.2)),
    ('4.15米', ('length', 4.15)),
    ('2.88-meter wheelbase', ('length', 2.88)),
    ('21厘米', ('length', 0.21)),
    ('15.6英寸', ('length', 0.39624)),
    ('a 15.6-inch screen', ('length', 0.39624)),
    ('一块12.3英寸屏', ('length', 0.31242)),
    ('19寸轮毂', ('length', 0.4826)),
    ('一百公里', ('length', 100_000)),
    ('百公里加速', ('length', 100_000)),
    ('时速100公里', ('speed', 100)),
    ('100 kilometers per hour', ('speed', 100)),
    ('100 km/h', ('speed', 100)),
    ('60 mph', ('speed', 96.56064)),
    ('11.9度电', ('energy', 11.9)),
    ('电池是45度', ('energy', 45)),
    ('45 kilowatt-hour battery', ('energy', 45)),
    ('45 kWh', ('energy', 45)),
    ('七千瓦时', ('energy', 7)),
    ('7千瓦', ('power', 7)),
    ('七千瓦', ('power', 7)),
    ('7 kilowatt charger', ('power', 7)),
    ('800-volt', ('voltage', 800)),
    ('800伏', ('voltage', 800)),
    ('65分贝', ('loudness', 65)),
    ('2000公斤', ('mass', 2000)),
    ('2 tons', ('mass', 2000)),
    ('三千克', ('mass', 3)),
    ('340升', ('volume', 340)),
    ('340 liters', ('volume', 340)),
    ('1.5L', ('volume', 1.5)),
    ('9.8秒', ('duration', 9.8)),
    ('30分钟', ('duration', 1800)),
    ('十分钟', ('duration', 600)),
    ('一刻钟', ('duration', 900)),
    ('1.5小时', ('duration', 5400)),
    ('两个半小时', ('duration', 9000)),
    ('half an hour', ('duration', 1800)),
    ('two and a half hours', ('duration', 9000)),
    ('半天', ('duration', DAY / 2)),
    ('half a day', ('duration', DAY / 2)),
    ('3天', ('duration', 3 * DAY)),
    ('3 days', ('duration', 3 * DAY)),
    ('4周', ('duration', 28 * DAY)),
    ('12个月', ('duration', 12 * MONTH)),
    ('36-month lease', ('duration', 36 * MONTH)),
    ('两个半月', ('duration', 2.5 * MONTH)),
    ('5年', ('duration', 5 * YEAR)),
    ('一年半', ('duration', 1.5 * YEAR)),
    ('18岁', ('duration', 18 * YEAR)),
    ('10个工作日', ('working days', 10)),
    ('10 working days', ('working days', 10)),
    ('99800元', ('money', 99_800)),
    ('12.98万元', ('money', 129_800)),
    ('¥ 99,800', ('money', 99_800)),
    ('￥99800', ('money', 99_800)),
    ('RMB 99,800', ('money', 99_800)),
    ('99,800 yuan', ('money', 99_800)),
    ('三块钱', ('money', 3)),
    ('三块左右', ('money', 3)),
    ('5万美元', ('dollars', 50_000)),
    ('$50,000', ('dollars', 50_000)),
    ('€20', ('euros', 20)),
    ('百分之70', ('share', 70)),
    ('百分之三十', ('share', 30)),
    ('70%', ('share', 70)),
    ('70 percent', ('share', 70)),
    ('八成', ('share', 80)),
    ('千分之五', ('share', 0.5)),
    ('零下20度', ('degrees', -20)),
    ('气温7度，电池', ('degrees', 7)),
    ('20 degrees', ('degrees', 20)),
    ('360度全景，电动', ('degrees', 360)),
    ('5座', ('seats', 5)),
    ('five seats', ('seats', 5)),
    ('两个大人', ('people', 2)),
    ('two adults', ('people', 2)),
    ('5种颜色', ('colors', 5)),
    ('5 colors', ('colors', 5)),
    ('六个气囊', ('items', 6)),
    ('6 airbags', ('items', 6)),
    ('三款车', ('items', 3)),
    ('3 times', ('items', 3)),
])
def test_a_unit_is_reduced_to_the_base_of_its_dimension(text: str, quantity: Quantity) -> None:
    assert measured(text) == [quantity]


@pytest.mark.parametrize('text', [
    '99800', 'version 3.2', '92号汽油', '两块屏', '80年代', '3.2升级', '5门店', '2人民', '三匹马', '10 kings',
    '5 minds',
    '3 Lark', 'V2L', 'x5 m', '4 speakers',
])
def test_a_number_without_a_unit_has_none(text: str) -> None:
    assert measured(text) == []


def test_only_what_counts_people_or_things_may_be_an_article() -> None:
    found = {text: unit_at(text, 0, 1) for text in ('1个', '1位', '1座', '1年', '1元')}
    assert {text: counted[0].counts_things for text, counted in found.items() if counted} == {
        '1个': True, '1位': True, '1座': True, '1年': False, '1元': False}


@pytest.mark.parametrize(('one', 'other', 'agreeing'), [
    (('length', 520_000.0), ('length', 520_000.0), True),
    (('length', 520_000.0), ('length', 500_000.0), False),
    (('length', 520_000.0), ('duration', 520_000.0), False),
    ((NUMBER, 520.0), ('length', 520_000.0), True),
    ((NUMBER, 9.0), ('duration', 32_400.0), True),
    ((NUMBER, 9.0), ('duration', 32_401.0), False),
    ((NUMBER, 3.0), ('ordinal', 3.0), True),
    ((NUMBER, 3.0), (NUMBER, 3.0), True),
    ((NUMBER, 3.0), (NUMBER, 4.0), False),
])
def test_a_bare_number_can_have_any_unit_of_the_other(one: Quantity, other: Quantity, *, agreeing: bool) -> None:
    assert agree(one, other) is agree(other, one) is agreeing


@given(value=st.integers(1, 999_999))
def test_kilometers_and_meters_are_one_length(value: int) -> None:
    assert measured(f'{value}公里') == measured(f'{value * 1000}米') == measured(f'{value} km')


@given(text=st.text(st.characters() | st.sampled_from('0123456789kmhs度块半个月年百分之 -/'), max_size=40))
def test_any_text_can_be_measured(text: str) -> None:
    assert all(math.isfinite(value) and dimension for dimension, value in measured(text))
