"""Dates, weekdays and times of day, in Chinese and English; what is not said stays open."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = {name: 1 + place for place, name in enumerate((
    'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec',
))}
_DAYS = {name: place for place, name in enumerate(('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'))}
_DAYS |= {char: place for place, char in enumerate('一二三四五六日')} | {'天': 6}
_HAN = {char: value for value, char in enumerate('零一二三四五六七八九')} | {'〇': 0, '两': 2}
_NUMERAL = '[0-9]{1,2}|[一二三四五六七八九十两]{1,3}'
_YEAR = '(?:19|20)[0-9]{2}|[一二][零〇一二三四五六七八九]{3}'
_MONTH_NAME = (
    r'(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?'
    r'|nov(?:ember)?|dec(?:ember)?)\b'
)
_CLOCK_HAN = (
    rf'(?P<half>上午|早上|下午|晚上|中午)?(?P<h>{_NUMERAL})\s*(?:点钟?(?![零〇一二三四五六七八九])|时(?![间候]))'
    rf'(?:(?P<half_past>半)|(?P<min>{_NUMERAL})\s*分)?'
)
_PATTERNS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (
    r'(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)',
    rf'(?:(?P<y>{_YEAR})\s*年\s*)?(?P<m>{_NUMERAL})\s*月(?:份)?(?:\s*(?P<d>{_NUMERAL})\s*[日号])?',
    rf'(?P<y>{_YEAR})\s*(?:年|款)',
    rf'\b(?P<name>{_MONTH_NAME})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<y>(?:19|20)\d\d))?',
    rf'\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_MONTH_NAME})\.?(?:,?\s+(?P<y>(?:19|20)\d\d))?',
    rf'\b(?:in|of|since|until|by)\s+(?P<name>{_MONTH_NAME})(?:,?\s+(?P<y>(?:19|20)\d\d))?',
    r'(?<![\d.,-])(?P<y>(?:19|20)\d\d)(?![\d.,]\d|\d|\s*(?:km|kwh|kg|元|块|公里|米|yuan|miles?))',
    r'(?:星期|礼拜|周)(?P<w>[一二三四五六日天])',
    r'\b(?P<w>mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)s?\b',
    _CLOCK_HAN,
    r'(?<![\d.])(?P<h>\d{1,2})(?::(?P<min>\d{2}))?\s*(?P<ampm>[ap])\.?\s?m\b\.?',
    r'(?<![\d.])(?P<h>\d{1,2}):(?P<min>\d{2})(?![\d:])',
    r"\b(?P<h>\d{1,2})\s+o'?clock\b",
))


@dataclass(frozen=True)
class Moment:
    """A point in the calendar or the day; None is what the text leaves open. ``weekday`` counts from Monday = 0."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minute: int | None = None

    @property
    def kind(self) -> str:
        """What may be compared with what."""
        if self.minute is not None:
            return 'time of day'
        return 'weekday' if self.weekday is not None else 'date'

    def may_be(self, other: Moment) -> bool:
        """Whether both can be the same: no part that both give differs."""
        mine = (self.year, self.month, self.day, self.weekday, self.minute)
        theirs = (other.year, other.month, other.day, other.weekday, other.minute)
        return all(a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True))


def moments(text: str) -> Iterator[tuple[Moment, int, int]]:
    """Every moment of a text in its plain form, with its place [start, end); where two overlap, the first pattern's."""
    taken: list[tuple[int, int]] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            moment = _moment(match.groupdict())
            if moment is None or any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append(match.span())
            yield moment, match.start(), match.end()


def _moment(found: dict[str, str | None]) -> Moment | None:
    if weekday := found.get('w'):
        return Moment(weekday=_DAYS[weekday.lower()])
    if hour := found.get('h'):
        return _time_of_day(_numeral(hour), found)
    name = found.get('name')
    month = _MONTHS[name.lower()[:3]] if name else _numeral(found.get('m'))
    day, year = _numeral(found.get('d')), _numeral(found.get('y'))
    if not (month is None or 1 <= month <= 12) or not (day is None or 1 <= day <= 31):
        return None
    return Moment(year, month, day) if (year, month, day) != (None, None, None) else None


def _time_of_day(hour: int | None, found: dict[str, str | None]) -> Moment | None:
    minute = 30 if found.get('half_past') else _numeral(found.get('min')) or 0
    if hour is None or hour > 24 or minute > 59:
        return None
    late = found.get('half') in ('下午', '晚上') or (found.get('ampm') or '').lower() == 'p'
    if late and hour < 12:
        hour += 12
    if (found.get('ampm') or '').lower() == 'a' and hour == 12:
        hour = 0
    return Moment(minute=hour * 60 + minute)


def _numeral(text: str | None) -> int | None:
    if not text:
        return None
    if text.isdigit():
        return int(text)
    if '十' in text:
        tens, _, ones = text.partition('十')
        return 10 * (_HAN[tens] if tens else 1) + (_HAN[ones] if ones else 0)
    return int(''.join(str(_HAN[char]) for char in text))
