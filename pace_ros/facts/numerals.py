"""Numbers as people write and speak them, in Chinese and English: 12,500 = 1.25万 = twelve thousand five hundred."""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

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
_ORDINALS = {word: value for value, word in enumerate((
    'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'), start=3)} | {'first': 1}
_SECOND = (  # a unit, too
    r'(?:(?<=the )|(?<=\'s )|(?<=and )|(?<=or ))second(?=\s[a-z])'
    r'|second(?=\s(?:[a-z]+est|most|row|floor|phase|stage|generation|half|gear|motor|level|owner|year|day|version)\b)'
)
_SCALE = {'百': 1e2, '千': 1e3, '万': 1e4, '亿': 1e8, '百万': 1e6, '千万': 1e7, 'k': 1e3, **_SCALES}
_LONE = frozenset('一两万千百亿十壹贰叁肆伍陆柒捌玖拾佰仟')  # alone these are mostly parts of other words
_LONGEST = 24  # characters or words of one number; what is longer is none

_D = '[' + ''.join(_DIGITS) + ']'
_HAN = '[' + ''.join([*_DIGITS, *_TENS, *_MYRIADS]) + ']'
_WORD = '(?:' + '|'.join(sorted([*_WORDS, *_SCALES], key=len, reverse=True)) + r')\b'
# Words with a numeral character that count nothing.
_IDIOMS = '|'.join((
    '一下|一会|一起|一些|一样|一定|一般|一直|一共|一键|一点(?![零一二三四五六七八九])|(?<=[统唯之哪])一|(?<=进)一步',
    r'(?<=从)[零0](?=到|加速|开始)|0(?=\s?[-~到]\s?100)|(?:zero|0)(?= to )',
    '第一(?:次(?=[来见去到买看,。!?]|$)|时间|印象|反应|手)',
    '二手|三电|三元|[四两]驱|四周|四季|[三两]厢|十分(?!钟|之)|百分百|千万[不别要]|千[米克瓦]|万一',
    '零下|零部?件|零配件|零售|零食|(?<=[大登着])陆|陆[续地]|four-wheel|4s店',
    r'(?<![^,.!?] )first(?![\s-](?:year|row|service|maintenance|owner)\b)|first(?![\s-][a-z])',
    r"first[\s-](?:time|name|aid|impression|few|of all|class|hand)|(?<=')s|two-tone|one-(?:touch|pedal)",
))
_SCALED = r'\s*(?:千万|百万|万|亿|千(?!米|克|瓦)|百(?!分)|k\b|(?:hundred|thousand|million|billion)\b)'
_AND = r'(?:(?:(?<=hundred )|(?<=thousand )|(?<=million )|(?<=billion ))and\s+)?'
# 12,500; 10th; 1.25万; 12万8 and 12万8千
_DIGITAL = (
    r'(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)(?:(?P<nth>st|nd|rd|th)\b'
    rf'|(?P<scale>{_SCALED})(?:(?P<tail>\d{{1,4}})(?P<tail_scale>[千百])?(?![\d.,年个座月天小]))?)?'
)
# 两三天, 十五六万
_APPROXIMATE = (
    rf'(?P<head>{_HAN}{{0,9}}[十百千])?(?P<low>[一两二三四五六七八])(?P<high>[两二三四五六七八九])'
    r'(?(head)|(?=[十百千万个天年周小公里米块元度岁位口台辆种次分秒成人]))(?P<pair_scale>[十百千万]*)'
)
_NUMBER = re.compile('|'.join((
    rf'(?P<idiom>{_IDIOMS})',
    rf'第\s?(?P<place>\d+|{_HAN}+)',
    r'(?P<denominator>[二三四五六七八九十]|[1-9]\d?)分之(?P<numerator>[一二三四五六七八九]|\d{1,2})(?![\d.])',
    _DIGITAL,
    _APPROXIMATE,
    rf'(?P<han>{_HAN}+(?:点{_D}+[百千万亿]*)?)',
    r'半(?=个?小时|个?钟头|个月|个?星期|[天年日里米升度吨])',
    rf'(?<![a-z])(?P<words>{_WORD}(?:[\s-]+{_AND}{_WORD})*(?:\s+point(?:\s+{_WORD})+)?)',
    rf"(?<![a-z])(?P<ordinal>{'|'.join(_ORDINALS)}|{_SECOND})\b",
    '(?P<prime>首(?=[次个位款辆台任保年]))',
    r'(?<![a-z])half(?:\s+an?\b)?',
)))
# Where a number may begin: only there is the pattern above tried.
_BEGIN_ZH = re.compile('[' + r'\d半第首' + ''.join([*_DIGITS, *_TENS, *_MYRIADS]) + ']')
_BEGIN = re.compile(rf'{_BEGIN_ZH.pattern}|(?<![a-z])(?:[zfn]|on|t[whe]|s[ei]|e[il]|h[ua]|mi|bi)')
_LATIN = re.compile('[a-z]{3}')
_ROMAN_DIGITS = {'I': 1, 'V': 5, 'X': 10}
_ROMAN = re.compile(r'\b(?=[IVX]{2,}\b)X{0,3}(?:IX|IV|V?I{0,3})(?<=[IVX])\b')
_MINUS = re.compile(r'(?:(?<![^\W_])-|负|零下|minus )$')  # a stroke between two is a range or a joint
_HALF_BEGINS = frozenset('个 \t\n')
_HALF = re.compile(r'个半(?=小时|月|钟头|星期)|\s+and\s+a\s+half\b')


class Number(NamedTuple):
    """A number at [start, end) of the text.

    ``bare`` is a lone word such as 一 or *one*, which may count nothing; an ``ordinal`` is a place in an order.
    """

    value: float
    start: int
    end: int
    bare: bool = False
    ordinal: bool = False


def plain(text: str) -> str:
    """The form in which texts are searched: NFKC, so that full-width digits and signs are the usual ones."""
    return unicodedata.normalize('NFKC', text).replace('’', "'")


def in_digits(text: str) -> str:
    """A ``plain`` text with its Roman numerals, of two letters at least, in digits: Mark III = Mark 3."""
    return _ROMAN.sub(_arabic, text) if 'I' in text or 'XX' in text else text


def _arabic(match: re.Match[str]) -> str:
    values = [_ROMAN_DIGITS[letter] for letter in match.group()]
    following = [*values[1:], 0]
    return str(sum(-value if value < after else value for value, after in zip(values, following, strict=True)))


def numbers(text: str) -> Iterator[Number]:
    """Every number of a ``plain`` text in small letters, in order. Of an approximation (两三天) both, at one place."""
    position = 0
    beginning = _BEGIN if _LATIN.search(text) else _BEGIN_ZH
    while begin := beginning.search(text, position):
        position = begin.start() + 1
        match = _NUMBER.match(text, begin.start())
        if match is None:
            continue
        position = match.end()
        if match.lastgroup != 'idiom' and position - match.start() <= 10 * _LONGEST:
            for number in _read(text, match):
                position = number.end
                yield number


def _read(text: str, match: re.Match[str]) -> tuple[Number, ...]:
    """What the pattern found; nothing if it is too long to be a number."""
    if match['digits']:
        return (_in_digits(text, match),)
    if match['low']:
        return _pair(text, match)
    if han := match['han']:
        return (_counted(text, match, _han(han), bare=han in _LONE),) if len(han) <= _LONGEST else ()
    if words := match['words']:
        if len(words.split()) > _LONGEST:
            return ()
        return (_counted(text, match, _english(words), bare=words in ('one', *_SCALES)),)
    if match['denominator']:
        return (Number(_rounded(_small(match['numerator']) / _small(match['denominator'])), *match.span()),)
    if place := match['place']:
        return (Number(_small(place), *match.span(), ordinal=True),) if len(place) <= _LONGEST else ()
    if match['prime']:  # 首次 = 第一次
        return (Number(1.0, *match.span(), ordinal=True),)
    if match['ordinal']:
        return (Number(float(_ORDINALS.get(match['ordinal'], 2)), *match.span(), ordinal=True),)
    return (Number(0.5, *match.span(), bare=True),)


def _in_digits(text: str, match: re.Match[str]) -> Number:
    value = float(match['digits'].replace(',', ''))
    if match['nth']:
        return Number(value, *match.span(), ordinal=True)
    scale = _SCALE[match['scale'].strip()] if match['scale'] else 1.0
    value *= scale
    if tail := match['tail']:  # 12万8 = 12万8千 = 128000
        if match['tail_scale']:
            value += float(tail) * _SCALE[match['tail_scale']]
        else:
            value += float(tail) * (scale / 10 if len(tail) == 1 else 1.0)
    return _counted(text, match, value)


def _counted(text: str, match: re.Match[str], value: float, *, bare: bool = False) -> Number:
    """With its sign before it and a half after it: 零下20, 两个半."""
    start, end = match.span()
    if text[end:end + 1] in _HALF_BEGINS and (half := _HALF.match(text, end)):
        value, end, bare = value + 0.5, half.end(), False
    if start and text[start - 1] in '-负下 ' and _MINUS.search(text, max(0, start - 6), start):
        value = -value
    return Number(_rounded(value), start, end, bare)


def _pair(text: str, match: re.Match[str]) -> tuple[Number, ...]:
    """两三天 is two or three days, 三四十 thirty or forty; 九五号 stays ninety-five."""
    low, high = match['low'], match['high']
    if _DIGITS[high] - _DIGITS[low] != 1:
        return (_counted(text, match, _han(match.group())),)
    head, scale = match['head'] or '', match['pair_scale']
    return tuple(Number(_rounded(_han(head + digit + scale)), *match.span()) for digit in (low, high))


def _rounded(value: float) -> float:
    return round(value, 6)


def _small(text: str) -> float:
    return float(text) if text.isdigit() else _han(text)


def _han(text: str) -> float:
    whole, _, decimals = text.partition('点')
    if not decimals:
        return float(_han_whole(whole))
    digits = decimals.rstrip('百千万亿')
    value = _han_whole(whole) + float('0.' + ''.join(str(_DIGITS[char]) for char in digits))
    for unit in decimals[len(digits):]:
        value *= _SCALE[unit]
    return value


def _han_whole(text: str) -> int:
    """十二万三千 = 123000; a last digit without its unit counts a tenth of the unit before it: 三万五 = 35000.

    Without any unit it is read digit by digit: 二〇二七 = 2027.
    """
    total = part = section = digit = 0  # above 亿, above 万, below it, the last digit
    last_unit = 1
    zero = False
    for char in text:
        if char in _DIGITS:
            digit = digit * 10 + _DIGITS[char]
            zero = zero or digit == 0
            continue
        if char in _TENS:
            section += (digit or 1) * _TENS[char]
            last_unit = _TENS[char]
        elif char == '万':
            part += (section + digit or 1) * 10_000
            last_unit, section = 10_000, 0
        else:
            total = (total + part + section + digit or 1) * 100_000_000
            last_unit, part, section = 100_000_000, 0, 0
        digit, zero = 0, False
    if digit and last_unit > 10 and not zero:
        digit *= last_unit // 10
    return total + part + section + digit


def _english(text: str) -> float:
    """Twelve thousand five hundred = 12500; twenty twenty-seven = 2027; two point five = 2.5."""
    whole, _, decimals = text.partition('point')
    number = float(_english_whole([word for word in whole.replace('-', ' ').split() if word != 'and']))
    if decimals:
        words = decimals.replace('-', ' ').split()
        number += float('0.' + ''.join(str(_WORDS[word]) for word in words if word in _WORDS))
        for word in words:
            number *= _SCALES.get(word, 1)
    return number


def _english_whole(words: list[str]) -> int:
    if len(words) > 1 and all(_WORDS.get(word, 10) < 10 for word in words):  # two zero two seven
        return int(''.join(str(_WORDS[word]) for word in words))
    total = current = 0
    for word in words:
        if word == 'hundred':
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0
        else:
            value = _WORDS[word]
            # A pair beside a pair is a year: nineteen ninety, twenty twenty-seven.
            joined = value >= 10 and 0 < current < 100
            current = current * 100 + value if joined else current + value
    return total + current
