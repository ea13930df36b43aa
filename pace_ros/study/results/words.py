"""How numbers are written in the tables."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from pace_ros.study.report_tables import DASH, Table, seconds, share
from pace_ros.study.results.arms_order import title


def timed(value: float) -> str:
    """A time (s); without an answer it never came."""
    return '∞' if math.isinf(value) else seconds(value)


def plain(value: float) -> str:
    """A number with two decimals."""
    return DASH if math.isnan(value) else '∞' if math.isinf(value) else f'{value:.2f}'


def fine(value: float) -> str:
    """A ratio with three decimals."""
    return DASH if math.isnan(value) else '∞' if math.isinf(value) else f'{value:.3f}'


def brief(value: float) -> str:
    """A short time (s) to a tenth of a millisecond."""
    return DASH if math.isnan(value) else '∞' if math.isinf(value) else f'{value:.4f}'


def gap(value: float) -> str:
    """A difference of times (s); infinite where one of them never came."""
    text = timed(abs(value))
    return f'−{text}' if value < 0 and text.strip('0.') else text


def is_numeric(column: pd.Series) -> bool:
    """Whether a column of text holds numbers, with a sign or none, or what stands in their place."""
    return any(column) and all(not each or each[0].isdigit() or each[0] in '-−+–∞<' for each in column)


def signed(value: float) -> str:
    """A difference with two decimals."""
    return plain(value) if math.isnan(value) else f'{value:+.2f}'.replace('-', '−')


def counted(value: float) -> str:
    """A mean count."""
    return DASH if math.isnan(value) else f'{value:.1f}'


def p_value(value: float) -> str:
    """A p-value."""
    return DASH if math.isnan(value) else '< 0.001' if value < 0.001 else f'{value:.3f}'


def spanned(value: float, low: float, high: float, form: Callable[[float], str] = timed) -> str:
    """A value with its interval, where there is one."""
    return form(value) if math.isnan(low) or math.isnan(high) else f'{form(value)} [{form(low)}, {form(high)}]'


def spans(frame: pd.DataFrame, name: str, form: Callable[[float], str] = timed) -> list[str]:
    """A column of values with their intervals: NAME, NAME_low, NAME_high."""
    return [spanned(*each, form) for each in zip(frame[name], frame[f'{name}_low'], frame[f'{name}_high'], strict=True)]


def arms(frame: pd.DataFrame, column: str = 'arm') -> list[str]:
    """A column of titles."""
    return [title(each) for each in frame[column]]


def offered(frame: pd.DataFrame) -> list[str]:
    """A column of offered concurrencies."""
    return [f'{each:g}' for each in frame['concurrency']]


def table(name: str, heading: str, note: str, records: list[dict[str, object]],
          shown: Callable[[pd.DataFrame], Mapping[str, Iterable[object]]]) -> Table:
    """The records as numbers and, by ``shown``, as words; without records its note alone remains."""
    frame = pd.DataFrame(records)
    words = {key: [str(each) for each in values] for key, values in shown(frame).items()} if records else {}
    return Table(name, heading, note, frame, pd.DataFrame(words, dtype=object))


def begins(frame: pd.DataFrame) -> list[bool]:
    """Which rows begin a group, by their first column; none where every row would be one."""
    firsts = frame.iloc[:, 0].tolist() if frame.shape[1] else []
    found = [place > 0 and value != firsts[place - 1] for place, value in enumerate(firsts)]
    return found if sum(found) < len(found) - 1 else [False] * len(found)


def absent(name: str, heading: str, why: str) -> Table:
    """A table that says what it lacks."""
    return Table(name, heading, why, pd.DataFrame(), pd.DataFrame())


__all__ = [
    'DASH', 'Table', 'absent', 'arms', 'begins', 'brief', 'counted', 'fine', 'gap', 'is_numeric', 'offered', 'p_value',
    'plain', 'seconds', 'share', 'signed', 'spanned', 'spans', 'table', 'timed',
]
