"""The catalogue's values: drawn from a seed within the limits that a template gives, and said in two languages."""
from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]
Value = float | int | str | datetime.date
_WEEKDAYS = {
    'zh': '周一 周二 周三 周四 周五 周六 周日', 'en': 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday',
}
_MONTHS = (
    'January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November',
    'December',
)
_YEAR = 2027


class Weekday(int):
    """A day of the week, Monday = 0."""


class Hour(float):
    """A time of day, hours since midnight."""


def draw(spec: Spec, source: random.Random, *, size: float, drive: str, drawn: Mapping[str, Value]) -> Value:
    """A value by its specification.

    ``{from, to, step, grows, bend}``: on a grid; grows = 1 follows ``size``, -1 falls with it, and bend > 1 favours the
    low end. ``plus``: as much more than another value. ``{times, by}``: a share of another value. ``{pick}``: one of a
    list, which may grow, too. ``{date}``, ``{hour}``, ``{weekday}``: moments. There may be one for each ``drive``.
    """
    if drive in spec:
        spec = spec[drive]
    if 'pick' in spec:
        choices = spec['pick']
        return _plain(choices[min(int(_share(spec, source, size) * len(choices)), len(choices) - 1)])
    if 'date' in spec:
        first, last = (datetime.date.fromisoformat(f'{_YEAR}-{day}') for day in spec['date'])
        return first + datetime.timedelta(days=source.randint(0, (last - first).days))
    if 'hour' in spec:
        low, high = spec['hour']
        return Hour(low + 0.5 * source.randint(0, round(2 * (high - low))))
    if 'weekday' in spec:
        return Weekday(source.randint(0, 4))
    if 'times' in spec:
        low, high = spec['by']
        exact = float(drawn[spec['times']]) * source.uniform(low, high)  # type: ignore[arg-type]
        return _plain(round(exact / spec['step']) * spec['step'])
    base = float(drawn[spec['plus']]) if 'plus' in spec else 0.0  # type: ignore[arg-type]
    return _plain(round(base + _on_grid(spec, source, size), 6))


def _on_grid(spec: Spec, source: random.Random, size: float) -> float:
    low, high, step = float(spec['from']), float(spec['to']), float(spec['step'])
    share = _share(spec, source, size)
    return low + min(int(share * ((high - low) / step + 1)), round((high - low) / step)) * step


def _share(spec: Spec, source: random.Random, size: float) -> float:
    """Where between its limits a value lies, in [0, 1]."""
    share: float = source.random()
    if grows := spec.get('grows', 0):
        share = 0.8 * (size if grows > 0 else 1 - size) + 0.2 * share
    return math.pow(share, spec.get('bend', 1))


def _plain(value: Any) -> Value:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value  # type: ignore[no-any-return]


def said(value: Value, language: str) -> str:
    """A value in the words of a language (zh, en)."""
    if isinstance(value, Weekday):
        return _WEEKDAYS[language].split()[value]
    if isinstance(value, Hour):
        return _hour(value, language)
    if isinstance(value, datetime.date):
        if language == 'zh':
            return f'{value.month}月{value.day}日'
        return f'{_MONTHS[value.month - 1]} {value.day}'
    if isinstance(value, int) and language == 'en':
        return f'{value:,}'
    return str(value)


def _hour(value: float, language: str) -> str:
    hour, half = int(value), value % 1 == 0.5
    if language == 'en':
        shown = hour if hour <= 12 else hour - 12
        return f"{shown}{':30' if half else ''} {'AM' if hour < 12 else 'PM'}"
    part = '早上' if hour < 10 else '上午' if hour < 12 else '中午' if hour < 13 else '下午' if hour < 18 else '晚上'
    return f"{part}{hour if hour <= 12 else hour - 12}点{'半' if half else ''}"
