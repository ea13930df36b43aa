"""Numbers as people write and speak them, in Chinese and English: 12,500 = 1.25万 = twelve thousand five hundred."""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_DIGITS = {char: value for value, chars in enumerate(
    ('零〇', '一壹', '二贰两', '三叁', '四肆', '五伍', '六陆', '七柒', '八捌', '九玖')) for char in chars}
_TENS = {'十': 10, '拾': 10, '百': 100, '佰': 100, '千': 1000, '仟': 1000}
_MYRIADS = {'万': 10_000, '亿': 100_000_000}
_WORDS = {word: value for value, word in enumerate((
    'zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve',
    'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen',
))} | {word: 10 * (2 + place) for place, word in enumerate((
    'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety',
))}
_SCALES = {'hundred': 100, 'thousand': 1000, 'million': 1_000_000, 'billion': 1_000_000_000}
_WORD = '|'.join(sorted([*_WORDS, *_SCALES], key=len, reverse=True))
_LONE = frozenset('一两万千百亿十')
_HAN = ''.join([*_DIGITS, *_TENS, *_MYRIADS])
# Words with a numeral character that count nothing.
_IDIOMS = (
    '一下|一会儿?|一点儿?|一起|一些|一样|一定|一般|一直|一共|一键|第一|唯一|统一|之一|万一|十分|百分百|三电|四驱|两驱|三厢|两厢|进一步'
    '|(?:星期|周|礼拜)[一二三四五六]'
)
_NUMBER = re.compile(
    rf'(?P<idiom>{_IDIOMS})'
    r'|(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)'
    r'(?P<scale>\s*(?:千万|百万|万|亿|千(?!米|克|瓦)|百(?!分)|k\b|(?:hundred|thousand|million|billion)\b))?'
    rf'|(?P<han>[{_HAN}]+(?:点[{"".join(_DIGITS)}]+)?)'
    rf'|\b(?P<words>(?:{_WORD})(?:(?:[\s-]+(?:and\s+)?)(?:{_WORD}))*(?:\s+point(?:\s+(?:{_WORD}))+)?)\b',
    re.IGNORECASE,
)
_SCALE = {'万': 1e4, '亿': 1e8, '千': 1e3, '百': 1e2, '百万': 1e6, '千万': 1e7, 'k': 1e3, **_SCALES}


@dataclass(frozen=True)
class Number:
    """A number at [start, end) of the text; ``bare`` is a lone word such as 一 or *one*, which may count nothing."""

    value: float
    start: int
    end: int
    bare: bool = False


def plain(text: str) -> str:
    """The form in which texts are searched: NFKC, so that full-width digits and signs are the usual ones."""
    return unicodedata.normalize('NFKC', text)


def numbers(text: str) -> Iterator[Number]:
    """Every number of a text in its ``plain`` form, in order."""
    for match in _NUMBER.finditer(text):
        if match['digits']:
            scale = (match['scale'] or '').strip().lower()
            value = float(match['digits'].replace(',', '')) * _SCALE.get(scale, 1.0)
            yield Number(_rounded(value), match.start(), match.end())
        elif match['han']:
            value = _han(match['han'])
            yield Number(_rounded(value), match.start(), match.end(), bare=match['han'] in _LONE)
        elif match['words']:
            words = match['words'].lower()
            yield Number(_rounded(_english(words)), match.start(), match.end(), bare=words in ('one', *_SCALES))


def _rounded(value: float) -> float:
    return round(value, 6)


def _han(text: str) -> float:
    whole, _, decimals = text.partition('点')
    if not any(char in _TENS or char in _MYRIADS for char in whole):  # read digit by digit: 二〇二七
        value = float(int(''.join(str(_DIGITS[char]) for char in whole) or '0'))
    else:
        value = float(_han_whole(whole))
    if decimals:
        value += float('0.' + ''.join(str(_DIGITS[char]) for char in decimals))
    return value


def _han_whole(text: str) -> int:
    """十二万三千 = 123000; a last digit without its unit counts a tenth of the unit before it: 三万五 = 35000."""
    total = section = digit = 0
    last_unit = 1
    zero = False
    for char in text:
        if char in _DIGITS:
            digit = digit * 10 + _DIGITS[char] if digit and not section else _DIGITS[char]
            zero = zero or _DIGITS[char] == 0
        elif char in _TENS:
            section += (digit or 1) * _TENS[char]
            last_unit, digit, zero = _TENS[char], 0, False
        else:
            total = (total + section + digit or 1) * _MYRIADS[char]
            last_unit, section, digit, zero = _MYRIADS[char], 0, 0, False
    if digit and last_unit > 10 and not zero:
        digit *= last_unit // 10
    return total + section + digit


def _english(text: str) -> float:
    """Twelve thousand five hundred = 12500; twenty twenty-seven = 2027; two point five = 2.5."""
    whole, _, decimals = text.partition(' point ')
    scale = next((_SCALES[word] for word in decimals.split() if word in _SCALES), 1)
    total = current = 0
    for word in re.split(r'[\s-]+', whole):
        if word == 'and':
            continue
        if word == 'hundred':
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0
        else:
            value = _WORDS[word]
            # A pair beside a pair is a year: nineteen ninety, twenty twenty-seven.
            joined = current and (value >= 10 and current % 100 and current < 100)
            current = current * 100 + value if joined else current + value
    number = float(total + current)
    if decimals:
        digits = (str(_WORDS[word]) for word in re.split(r'[\s-]+', decimals) if word in _WORDS)
        number += float('0.' + ''.join(digits))
    return number * scale
