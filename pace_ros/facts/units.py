"""What a number counts: the unit beside it, reduced to one of its dimension."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMBER = 'number'  # the dimension of what has no unit
Quantity = tuple[str, float]  # a dimension and a value in its base unit

# Dimension, factor to its base unit, spellings (_ is white space).
_TABLE = (
    ('length', 1000.0, '公里 千米 kilometer kilometers kilometre kilometres km'),
    ('length', 1609.344, '英里 mile miles mi'),
    ('length', 1.0, '米 meter meters metre metres m'),
    ('length', 0.01, '厘米 公分 centimeter centimeters centimetre centimetres cm'),
    ('length', 0.001, '毫米 millimeter millimeters millimetre millimetres mm'),
    ('length', 0.0254, '英寸 寸 inch inches'),
    ('speed', 1.0, '公里每小时 公里/小时 km/h kmh kph kilometers_per_hour kilometres_per_hour km_per_hour'),
    ('speed', 1.609344, '英里每小时 miles_per_hour mph'),
    ('energy', 1.0, '千瓦时 度电 kilowatt-hour kilowatt-hours kilowatt_hour kilowatt_hours kwh'),
    ('energy', 0.001, '瓦时 wh'),
    ('power', 1.0, '千瓦 kilowatt kilowatts kw'),
    ('power', 0.001, '瓦 watt watts w'),
    ('power', 0.7355, '匹马力 匹 马力 horsepower hp'),
    ('voltage', 1.0, '伏 伏特 volt volts v'),
    ('torque', 1.0, '牛米 牛·米 nm'),
    ('loudness', 1.0, '分贝 decibel decibels db'),
    ('mass', 1.0, '公斤 千克 kilogram kilograms kilo kilos kg'),
    ('mass', 0.001, '克'),
    ('mass', 1000.0, '吨 ton tons tonne tonnes'),
    ('mass', 0.5, '斤'),
    ('volume', 1.0, '升 liter liters litre litres l'),
    ('duration', 1.0, '秒 秒钟 second seconds s'),
    ('duration', 60.0, '分钟 minute minutes min mins'),
    ('duration', 900.0, '刻钟'),
    ('duration', 3600.0, '小时 个小时 钟头 个钟头 hour hours h'),
    ('duration', 86_400.0, '天 day days'),
    ('duration', 604_800.0, '周 星期 个星期 week weeks'),
    ('duration', 2_629_800.0, '个月 月 month months'),
    ('duration', 31_557_600.0, '年 岁 周岁 year years'),
    ('working days', 1.0, '工作日 个工作日 working_day working_days business_day business_days'),
    ('money', 1.0, '元 块钱 块 人民币 yuan rmb cny'),
    ('dollars', 1.0, '美元 美金 dollar dollars usd'),
    ('euros', 1.0, '欧元 euro euros eur'),
    ('share', 1.0, '% percent 个百分点'),
    ('share', 10.0, '成'),
    ('discount', 1.0, '折'),
    ('degrees', 1.0, '度 摄氏度 °c ° degree degrees'),
    ('seats', 1.0, '座 个座 座位 个座位 seat seats seater'),
    ('people', 1.0, '个人 人 位 个大人 大人 people person persons passenger passengers adult adults'),
    ('doors', 1.0, '门 door doors'),
    ('colors', 1.0, '种颜色 个颜色 色 color colors colour colours'),
    ('items', 1.0, '个 款 台 辆 种 项 次 张 把 car cars model models trim trims time times'),
    ('items', 1.0, '支 层 部 条 套 件 场 届 圈 扇 颗 根 只 airbag airbags camera cameras'),
)
_BEFORE = {
    '百分之': ('share', 1.0), '千分之': ('share', 0.1), '时速': ('speed', 1.0), '¥': ('money', 1.0),
    'rmb': ('money', 1.0), '$': ('dollars', 1.0), '€': ('euros', 1.0),
}
_DAY = 86_400.0
COUNTS = frozenset({'people', 'items', 'seats', 'doors'})
# What follows a spelling where it is no unit but the beginning of another word.
_UNLIKE = {
    '升': '级', '秒': '杀', '成': '[年功本]', '门': '店', '人': '民', '年': '代', '匹': '马(?!力)', '色': '[调差]',
    '项': '目', '位': '置', '部': '分', '条': '件', '层': '次', '件': '套',
}
# 块 counts pieces, too: two 屏, one 12.3-inch screen. It is money where no thing follows.
_PIECE = r'(?![\d〇-鿿])|(?=左右|以[上下内]|[多的吧吗呢])'


@dataclass(frozen=True)
class Unit:
    """A dimension, and the factor to its base unit."""

    dimension: str
    factor: float = 1.0

    @property
    def counts_things(self) -> bool:
        """Whether it counts people or things, so that 一个 may be as little a number as *a* is."""
        return self.dimension in COUNTS

    @property
    def may_go_unsaid(self) -> bool:
        """Whether a single one need not be counted: a car, a month; not one kilometer."""
        return self.dimension in COUNTS or (self.dimension == 'duration' and self.factor >= _DAY)


_UNITS = {
    spelling.replace('_', ' '): Unit(dimension, factor)
    for dimension, factor, words in _TABLE for spelling in words.split()
}
_SIGNS = {spelling: Unit(*unit) for spelling, unit in _BEFORE.items()}
_FACTORS: dict[str, set[float]] = {}
for _unit in (*_UNITS.values(), *_SIGNS.values()):
    _FACTORS.setdefault(_unit.dimension, {1.0}).add(_unit.factor)


def _pattern(spelling: str) -> str:
    if spelling == '块':
        return f'块(?:{_PIECE})'
    if spelling in _UNLIKE:
        return f'{spelling}(?!{_UNLIKE[spelling]})'
    if not spelling.isascii() or not spelling[-1].isalpha():
        return re.escape(spelling)
    return spelling.replace(' ', r'\s+') + '(?![a-z])'


def _by_first() -> dict[str, re.Pattern[str]]:
    """For each character with which a spelling begins, a pattern of those spellings, the longest first."""
    found: dict[str, list[str]] = {}
    for spelling in sorted(_UNITS, key=len, reverse=True):
        found.setdefault(spelling[0], []).append(_pattern(spelling))
    return {first: re.compile(f"(?P<unit>{'|'.join(each)})(?P<half>半(?!价))?") for first, each in found.items()}


_AFTER = _by_first()
_SIGN = re.compile('(?P<sign>' + '|'.join(re.escape(each) for each in _SIGNS) + r')\s?$')
_SIGN_ENDS = frozenset(' ' + ''.join(sign[-1] for sign in _SIGNS))
_JOINTS = frozenset(' -\t\n')  # between a number and its unit
_WARM = re.compile('[温冷热冻]|零下|摄氏')


def unit_at(text: str, start: int, end: int) -> tuple[Unit, float] | None:
    """The unit of the number at [start, end) of a text in its ``plain`` form: a sign before it, or a word after it.

    The second value is what follows the unit: 0.5 in 一年半, else 0.
    """
    if start and text[start - 1] in _SIGN_ENDS:
        before = _SIGN.search(text, max(0, start - 4), start)
        if before:
            return _SIGNS[before['sign']], 0.0
    if start and 'a' <= text[start - 1] <= 'z':  # V2L, x5: part of a name
        return None
    while text[end:end + 1] in _JOINTS:
        end += 1
    pattern = _AFTER.get(text[end:end + 1])
    after = pattern.match(text, end) if pattern else None
    if after is None:
        return None
    spelling = ' '.join(after['unit'].split())
    if spelling == '度' and _is_energy(text, start, end):
        spelling = '度电'
    return _UNITS[spelling], 0.5 if after['half'] else 0.0


def _is_energy(text: str, start: int, end: int) -> bool:
    """Whether 度 is a kilowatt-hour and no degree: where electricity is spoken of, and neither warmth nor an angle."""
    if '电' not in text or text[start:end] in ('360', '0', '零'):
        return False
    return _WARM.search(text, max(0, start - 8), start) is None


def agree(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities can be the same. One without a unit can have any of the other's: the Plus 520 (km)."""
    if one[0] == other[0]:
        return math.isclose(one[1], other[1])
    if one[0] != NUMBER:
        one, other = other, one
    return one[0] == NUMBER and any(math.isclose(one[1] * factor, other[1]) for factor in _FACTORS.get(other[0], {1.0}))
