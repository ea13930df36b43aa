"""What a number counts: the unit beside it, reduced to one of its dimension."""
from __future__ import annotations

import re
from dataclasses import dataclass

# Dimension, factor to its base unit, spellings.
_TABLE = (
    ('length', 1000.0, '公里 千米 kilometer kilometers kilometre kilometres km'),
    ('length', 1609.344, '英里 mile miles'),
    ('length', 1.0, '米 meter meters metre metres m'),
    ('length', 0.01, '厘米 公分 centimeter centimeters centimetre centimetres cm'),
    ('length', 0.001, '毫米 millimeter millimeters millimetre millimetres mm'),
    ('length', 0.0254, '英寸 寸 inch inches'),
    ('speed', 1.0, '公里每小时 公里/小时 km/h kmh kph'),
    ('energy', 1.0, '千瓦时 度电 度 kilowatt-hour kilowatt-hours kwh'),
    ('power', 1.0, '千瓦 kilowatt kilowatts kw'),
    ('power', 0.7355, '匹马力 马力 horsepower hp'),
    ('voltage', 1.0, '伏 伏特 volt volts v'),
    ('torque', 1.0, '牛米 牛·米 nm'),
    ('mass', 1.0, '公斤 千克 kilogram kilograms kilo kilos kg'),
    ('mass', 1000.0, '吨 ton tons tonne tonnes'),
    ('mass', 0.5, '斤'),
    ('volume', 1.0, '升 liter liters litre litres l'),
    ('duration', 1.0, '秒 秒钟 second seconds s'),
    ('duration', 60.0, '分钟 minute minutes min mins'),
    ('duration', 3600.0, '小时 个小时 钟头 个钟头 hour hours h'),
    ('duration', 86_400.0, '天 day days'),
    ('duration', 604_800.0, '周 星期 个星期 week weeks'),
    ('duration', 2_629_800.0, '个月 month months'),
    ('duration', 31_557_600.0, '年 year years'),
    ('money', 1.0, '元 块钱 块 人民币 yuan rmb cny'),
    ('dollars', 1.0, '美元 美金 dollar dollars usd'),
    ('euros', 1.0, '欧元 euro euros eur'),
    ('share', 1.0, '% percent 个百分点'),
    ('share', 10.0, '成'),
    ('temperature', 1.0, '摄氏度 ℃ °c degree degrees'),
    ('seats', 1.0, '座 个座 座位 个座位 seat seats seater'),
    ('people', 1.0, '个人 人 位 people person persons passenger passengers adult adults'),
    ('doors', 1.0, '门 door doors'),
    ('colours', 1.0, '种颜色 个颜色 色 color colors colour colours'),
    ('items', 1.0, '个 款 台 辆 种 项 次 张 把 car cars model models trim trims time times airbag airbags camera'),
)
_BEFORE = {'¥': 'money', '￥': 'money', '$': 'dollars', '€': 'euros', 'rmb': 'money', '百分之': 'share'}


@dataclass(frozen=True)
class Unit:
    """A dimension, and the factor to its base unit."""

    dimension: str
    factor: float = 1.0


_UNITS = {spelling: Unit(dimension, factor) for dimension, factor, words in _TABLE for spelling in words.split()}


def _pattern(spelling: str) -> str:
    latin = spelling[-1].isascii() and spelling[-1].isalpha()
    return re.escape(spelling) + ('(?![a-z])' if latin else '')


_ANY = '|'.join(_pattern(each) for each in sorted(_UNITS, key=len, reverse=True))
_AFTER = re.compile(rf'[\s-]*(?P<unit>{_ANY})(?P<half>半(?!价))?', re.IGNORECASE)
_SIGN = re.compile('(?:' + '|'.join(re.escape(each) for each in _BEFORE) + r')\s*$', re.IGNORECASE)


def unit_at(text: str, start: int, end: int) -> tuple[Unit, float] | None:
    """The unit of the number at [start, end): a sign before it, or a word after it.

    The second value is what follows the unit: 0.5 in 一年半, else 0.
    """
    before = _SIGN.search(text, max(0, start - 4), start)
    if before:
        return Unit(_BEFORE[before.group().strip().lower()]), 0.0
    after = _AFTER.match(text, end)
    if after is None:
        return None
    return _UNITS[after['unit'].lower()], 0.5 if after['half'] else 0.0
