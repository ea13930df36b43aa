"""Dates, weekdays and times of day, in Chinese and English; what is not said stays open."""
from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

_MONTHS = {name: 1 + place for place, name in enumerate((
    'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec',
))}
_DAYS = {name: place for place, name in enumerate(('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'))}
_DAYS |= {char: place for place, char in enumerate('一二三四五六日')} | {'天': 6}
_HOURS = {word: 1 + place for place, word in enumerate((
    'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve',
))}
_HAN = {char: value for value, char in enumerate('零一二三四五六七八九')} | {'〇': 0, '两': 2}
_NEAR = {
    '大前天': ('day', -3), '前天': ('day', -2), '昨': ('day', -1), '今': ('day', 0), '明': ('day', 1),
    '后天': ('day', 2), '大后天': ('day', 3), '前年': ('year', -2), '去年': ('year', -1), '今年': ('year', 0),
    '明年': ('year', 1), '后年': ('year', 2), 'today': ('day', 0), 'tonight': ('day', 0), 'tomorrow': ('day', 1),
    'day after tomorrow': ('day', 2), 'yesterday': ('day', -1), 'day before yesterday': ('day', -2),
}
_STEPS = {
    '这': 0, '本': 0, 'this': 0, 'current': 0, '下': 1, 'next': 1, 'coming': 1, '上': -1, 'last': -1, 'previous': -1,
}
_LATE = frozenset(('下午', '傍晚', '晚上', '夜里', 'p', 'afternoon', 'evening', 'night'))
_NIGHT = frozenset(('晚上', '夜里', '半夜', '凌晨', 'a', 'night', 'morning'))
_SPANS = {'周': 'week', '星期': 'week', '礼拜': 'week', '月': 'month', '季度': 'quarter', '年': 'year'}
_NUMERAL = '[0-9]{1,2}|[一二三四五六七八九十两]{1,3}'
_MINUTES = '[0-5][0-9]|[二三四五]?十[一二三四五六七八九]?|(?:零?[一二三四五六七八九]|[0-9])(?=分)'
_YEAR = '(?:1[0-9]|20)[0-9]{2}|[一二][零〇一二三四五六七八九]{3}'
_MONTH = (
    r'(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?'
    r'|nov(?:ember)?|dec(?:ember)?)\b\.?'
)
_HOUR = r'(?<![\d.:])(?P<h>\d{1,2}|' + '|'.join(f'{word}\\b' for word in _HOURS) + ')'
_TH = 'st|nd|rd|th'

_ISO = r'(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)'
_DATE_ZH = (
    rf'(?:(?P<y>{_YEAR})\s*年\s*)?(?<![\d.])(?P<m>{_NUMERAL})\s*月(?:份|(?:\s*(?P<d>{_NUMERAL})\s*[日号])?)'
)
_YEAR_ZH = rf'(?<![\d.])(?P<y>{_YEAR})\s*(?:年|款)'
_DAY_ZH = (
    r'(?<![\d.第一二三四五六七八九十])(?P<d>\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]'
    r'(?![线楼店门院码桌车汽油])'
)
_DATES_EN = (
    rf'\b(?P<name>{_MONTH})\s+(?P<d>\d{{1,2}})(?:{_TH})?(?![\d:])(?:,?\s+(?P<y>\d{{4}})\b)?',
    rf'\b(?P<d>\d{{1,2}})(?:{_TH})?\s+(?:of\s+)?(?P<name>{_MONTH})(?:,?\s+(?P<y>\d{{4}})\b)?',
    rf'\b(?P<name>{_MONTH}),?\s+(?:of\s+)?(?P<y>\d{{4}})\b',
    rf'\b(?:in|of|since|until|by|from|to|before|after|this|next|last)\s+(?P<name>{_MONTH})',
    rf'\b(?!ma[ry]\b|march|...\b)(?P<name>{_MONTH})',  # may and march alone are verbs, dec and sep no words
)
_TENS = {word: 20 + 10 * place for place, word in enumerate((
    'twenties', 'thirties', 'forties', 'fifties', 'sixties', 'seventies', 'eighties', 'nineties',
))}
_DECADE_EN = rf"(?<!\d)(?:in|of|from|since) the '?(?P<tens>[2-9]0(?='?s\b)|(?:{'|'.join(_TENS)})\b)"
_DECADE_ZH = r'(?<!\d)(?P<tens>[2-9]0|[二三四五六七八九]十)年代'
_DAY_EN = rf'\bon the (?P<d>\d{{1,2}})(?:{_TH})\b'
_WEEKDAY_ZH = (
    r'(?:(?P<step>[这本下上])个?|(?<![0-9一二两三四五六七八九十几个]))(?:周|星期|礼拜)(?P<w>[一二三四五六日天])(?![次个趟回])'
)
_SPAN_ZH = (
    r'(?<![晚早以路马网线车])(?P<step>[这本下上])个?(?P<span>周(?![围边到])|星期|礼拜|月(?![供球])|季度|年(?![代头龄级纪轻]))'
)
_WEEKDAY_EN = (
    r'(?:\b(?P<step>this|next|last|coming|previous)\s+)?'
    r'\b(?P<w>mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)s?\b'
)
_SPAN_EN = r'\b(?P<step>this|current|next|coming|last|previous)\s+(?P<span>week|month|quarter|year)(?:end)?\b'
_NEAR_EN = r'\b(?P<near>(?:day after )?tomorrow|today|tonight|(?:day before )?yesterday)\b'
_NEAR_ZH = (
    r'(?P<near>(?<![目以之今最过提])(?:大?[前后]天|[前去后]年)|[今明]年|[今明昨](?=[天日晚早]))[天日晚早]?'
)
_PART_ZH = '(?P<half>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜)'
_DIGITS_ZH = rf'{_PART_ZH}\s*(?P<h>\d{{1,2}}):(?P<min>[0-5]\d)(?!\d)'
_CLOCK_ZH = (
    rf'{_PART_ZH}?'
    rf'(?<![\d.第])(?P<h>{_NUMERAL})\s*(?:点(?:(?P<plain>钟|整)|(?P<half_past>半)|(?P<quarter>[一三])刻'
    rf'|(?P<min>{_MINUTES})分?|(?![零〇一二三四五六七八九\d]))'
    rf'|时(?:(?P<min2>{_MINUTES})分|(?=[到至-])|(?(half)(?![间候速])|(?!))))'  # 停车时 is no time of day
)
_CLOCK_EN = (
    rf'(?:\b(?P<past>half|quarter)\s+(?P<way>past|to)\s+)?{_HOUR}(?::(?P<min>[0-5]\d)(?![\d:]))?'
    r"(?P<clock>\s*o'?clock)?"
    r'(?:\s*(?P<half>[ap])\.?\s?m\b\.?|\s+(?:in\s+the|at)\s+(?P<part>morning|afternoon|evening|night))?'
)
_NOON = r'\b(?:at|until|till|to|by|before|after|around)\s+(?P<name>noon|midnight)\b'


def _patterns(*groups: tuple[str, tuple[str, ...]]) -> tuple[tuple[list[str], tuple[re.Pattern[str], ...]], ...]:
    """Patterns, each with needles: one of them must be in a text for the pattern to be tried."""
    return tuple((needles.split(','), tuple(map(re.compile, patterns))) for needles, patterns in groups)


# Where two overlap, the earlier one counts.
_ZH = _patterns(
    ('月', (_DATE_ZH,)),
    ('年代', (_DECADE_ZH,)),
    ('年,款', (_YEAR_ZH,)),
    ('日,号', (_DAY_ZH,)),
    ('周,星期,礼拜', (_WEEKDAY_ZH,)),
    ('这,本,下,上', (_SPAN_ZH,)),
    ('今,明,昨,前天,后天,前年,去年,后年', (_NEAR_ZH,)),
    ('点,时', (_CLOCK_ZH,)),
)
_EN = _patterns(
    (','.join(_MONTHS), _DATES_EN),
    ('on the ', (_DAY_EN,)),
    ("0s,0's,ties", (_DECADE_EN,)),
    ('day', (_WEEKDAY_EN,)),
    ('week,month,quarter,year', (_SPAN_EN,)),
    ('to,yesterday', (_NEAR_EN,)),
    ('clock,past ,quarter to,am,pm,a.m,p.m,a m,p m,noon,ning,night', (_CLOCK_EN,)),
    ('noon,midnight', (_NOON,)),
)
_BOTH = _patterns(('19,20', (_ISO,)), (':', (_DIGITS_ZH, _CLOCK_EN)))
_LATIN = re.compile('[a-z]')


class Moment(NamedTuple):
    """A point in the calendar or the day; None is what the text leaves open.

    ``weekday`` counts from Monday = 0, ``minute`` from midnight; a ``vague`` minute may be twelve hours later as well.
    ``span`` and ``step`` are what is told from now: ('day', 1) is tomorrow, ('week', -1) last week.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minute: int | None = None
    vague: bool = False
    span: str | None = None
    step: int | None = None

    @property
    def kind(self) -> str:
        """What may be compared with what."""
        if self.minute is not None:
            return 'time of day'
        if self.weekday is not None:
            return 'weekday'
        return 'date' if self.span is None else f'relative {self.span}'

    def may_be(self, other: Moment) -> bool:
        """Whether both, of one kind, can be the same: no part that both give differs."""
        if self.minute is not None and other.minute is not None:
            return (self.minute - other.minute) % (720 if self.vague or other.vague else 1440) == 0
        mine, theirs = (*self[:4], self.step), (*other[:4], other.step)
        return all(a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True))


def moments(text: str) -> Iterator[tuple[Moment, int, int]]:
    """Every moment of a ``plain`` text in small letters, with its place [start, end); places do not overlap."""
    taken = bytearray(len(text))
    spoken = (() if text.isascii() else _ZH) + (_EN if _LATIN.search(text) else ())
    for needles, patterns in _BOTH + spoken:
        for needle in needles:  # a loop, since any() takes ten times as long
            if needle in text:
                break
        else:
            continue
        for match in chain.from_iterable(pattern.finditer(text) for pattern in patterns):
            start, end = match.span()
            if 1 not in taken[start:end] and (moment := _moment(match.groupdict())) is not None:
                taken[start:end] = b'\1' * (end - start)
                yield moment, start, end


def _moment(found: dict[str, str | None]) -> Moment | None:
    if found.get('h'):
        return _time_of_day(found)
    step = _STEPS.get(found.get('step') or '')
    if weekday := found.get('w'):
        return Moment(weekday=_DAYS[weekday], span='week' if step is not None else None, step=step)
    if span := found.get('span'):
        return Moment(span=_SPANS.get(span, span), step=step) if step is not None else None
    if near := found.get('near'):
        return Moment(span=_NEAR[near][0], step=_NEAR[near][1])
    return _date(found)


def _date(found: dict[str, str | None]) -> Moment | None:
    name = found.get('name')
    if name in ('noon', 'midnight'):
        return Moment(minute=720 if name == 'noon' else 0)
    month = _MONTHS[name[:3]] if name else _numeral(found.get('m'))
    day, year = _numeral(found.get('d')), _numeral(found.get('y'))
    if tens := found.get('tens'):  # of the last century
        return Moment(1900 + (_TENS.get(tens) or _numeral(tens) or 0))
    if not (month is None or 1 <= month <= 12) or not (day is None or 1 <= day <= 31):
        return None
    return Moment(year, month, day)


def _time_of_day(found: dict[str, str | None]) -> Moment | None:
    marked = any(value for key, value in found.items() if key != 'h')
    if not marked and ('clock' in found or found['h'] == '一'):  # *8* and 快一点 are no times
        return None
    hour = _numeral(found['h'])
    if hour is None or hour > 24:
        return None
    at = 60 * hour + (_numeral(found.get('min') or found.get('min2')) or 0) + _quarters(found)
    part = found.get('half') or found.get('part')
    if part is None:
        return Moment(minute=at % 1440, vague=1 <= hour <= 12)
    if (hour < 12 and part in _LATE) or (hour < 3 and part == '中午') or (hour == 12 and part in _NIGHT):
        at += 720
    return Moment(minute=at % 1440)


def _quarters(found: dict[str, str | None]) -> int:
    """Minutes: half past eight, 八点三刻, quarter to nine."""
    if found.get('half_past'):
        return 30
    if quarter := found.get('quarter'):
        return 15 * _HAN[quarter]
    minutes = {'half': 30, 'quarter': 15}.get(found.get('past') or '', 0)
    return -minutes if found.get('way') == 'to' else minutes


def _numeral(text: str | None) -> int | None:
    if not text:
        return None
    if text in _HOURS:
        return _HOURS[text]
    if text.isdigit():
        return int(text)
    if '十' in text:
        tens, _, ones = text.partition('十')
        return 10 * (_HAN.get(tens, 1)) + _HAN.get(ones, 0)
    return int(''.join(str(_HAN[char]) for char in text))
