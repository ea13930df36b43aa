"""What a filler must not be: a fact, a number, a promise to look something up, an answer."""
from __future__ import annotations

import re
import unicodedata

from pace_ros.language import is_blank

_NUMBER_WORDS = re.compile(
    r'\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|'
    r'seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|half|double|dozens?|first|second|third|'
    r'fourth|fifth|sixth|seventh|eighth|ninth|tenth|once|twice|percent)\b',
    re.IGNORECASE,
)
# Idioms with a numeral character that count nothing.
_HARMLESS = re.compile(r'一下|一会儿?|一点儿?|一起|\bone moment\b|\bjust a second\b', re.IGNORECASE)
_HAN_NUMERALS = re.compile(r'[零〇一二三四五六七八九十百千万亿两半倍壹贰叁肆伍陆柒捌玖拾佰仟]')
_SEARCHING = re.compile(
    r'\b(?:check\w*|look(?:ing)?\s+(?:it|that|this|up|into)|search\w*|find\s+out|look\s+up|let me see|query|database|'
    r'consult|verify|retriev\w*|calculat\w*)\b'
    r'|查|搜|检索|看看|看一下|核实|确认|数据库|资料|算一下|找一下|问一下',
    re.IGNORECASE,
)
# Words with which one answers, asserts or denies.
_ASSERTING = re.compile(
    r'\b(?:yes|no|not|never|always|sure|certainly|absolutely|definitely|of course|correct|right|wrong|'
    r'has|have|had|can|cannot|will|won\'t|does|did|costs?|comes|offers?|includes?|supports?|available|'
    r'it\s+is|it\'s|there\s+is|there\s+are|they\s+are|the\s+car|our\s+\w+|yuan|dollars?|euros?|km|miles?|kilomet\w+)\b'
    r'|是的|不是|没有|有的|可以|不能|能够|支持|不行|对的|错|当然|肯定|一定|绝对|元|公里|价格|优惠|免费|[￥¥$€%]',
    re.IGNORECASE,
)


def rejection(text: str, max_chars: int) -> str:
    """Say why a text must not be uttered as a filler; an empty string lets it pass (design section 5)."""
    if is_blank(text) or not any(char.isalpha() for char in text):
        return 'empty'
    if len(text) > max_chars:
        return f'longer than {max_chars} characters'
    if any(unicodedata.category(char) in ('Nd', 'Nl', 'No') for char in text):
        return 'has a digit'
    if any(unicodedata.category(char) in ('Cc', 'Cs', 'Co', 'Cn') for char in text):
        return 'has a control character'
    plain = _HARMLESS.sub(' ', text)
    for reason, pattern, where in (
        ('announces a search', _SEARCHING, text),
        ('has a number word', _NUMBER_WORDS, plain),
        ('has a number word', _HAN_NUMERALS, plain),
        ('asserts something', _ASSERTING, text),
    ):
        found = pattern.search(where)
        if found:
            return f'{reason} ({found.group()})'
    return ''
