"""Light paraphrases for data sets that have none: what a visitor says around a question, and its punctuation lost."""
from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from pace_ros.language import language

DERIVED = 'derived'
"""The kind of these wordings."""

_OPENERS = {'zh': ('你好，请问', '嗯，我想问一下，', '那个，'), 'en': ('Um, ', 'Hi there, ', 'Okay, so ')}
_POLITE = {'zh': ('麻烦告诉我，{}，谢谢。', '能不能告诉我，{}？', '{}，麻烦您了。'),
           'en': ('{}, please?', 'Could you tell me: {}?', '{}? Thank you!')}
_END = ' ?？。.!！'
_PUNCTUATION = re.compile(r"(?<!\d)[.,:](?!\d)|[;!?\"“”‘’，。？！；：、《》「」]|(?<!\w)'|'(?!\w)")
_COMMON = re.compile(
    r'(?:what|who|whose|whom|which|when|where|why|how|is|are|was|were|does?|did|can|could|will|would|in|on|at|of|the|my'
    r')\b', re.IGNORECASE,
)


_CHATTER = re.compile(r'(?:(?:好的?|嗯+|您好|你好|OK|可以|不错)[吧啊呀的]?[，,。！]\s*)+')
"""What a Chinese question from a dialogue begins with; it is not said twice."""


def derived(text: str, locale: str) -> Iterator[str]:
    """A spoken opener, a polite form, and the text without punctuation; the same ones for the same text."""
    chatter = _CHATTER.match(text)
    text = text[chatter.end() :] if chatter and chatter.end() < len(text) else text
    tongue = 'zh' if language(locale) == 'zh' else 'en'
    choice = zlib.crc32(text.encode())
    stem = text.rstrip(_END) or text
    inner = text[0].lower() + text[1:] if _COMMON.match(text) else text
    polite = _POLITE[tongue][choice // 3 % 3]
    yield _OPENERS[tongue][choice % 3] + inner
    yield polite.format(stem if polite.startswith('{}') else inner.rstrip(_END) or inner)
    yield ' '.join(_PUNCTUATION.sub('', text).split())
