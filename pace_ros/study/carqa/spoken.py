"""How a question sounds when it is spoken: openings, fillers, hesitation, tags."""
from __future__ import annotations

import random
import re

_OPENINGS = {
    'zh': ('那个，', '嗯，', '你好，', '您好，', '哎，', '对了，', '那，', '诶，', '嗯那个，', '不好意思，',
           '是这样，'),
    'en': ('Um, ', 'So, ', 'Hi, ', 'Hello, ', 'Excuse me, ', 'Okay, ', 'Uh, ', 'Sorry, ', 'Hey, ', 'Well, ',
           'Right, so ', 'Hi there, ', 'Okay so, ', 'Er, '),
}
_ASKING = {
    'zh': ('请问', '请问一下，', '我想问一下，', '麻烦问一下，', '问一下，', '打听一下，', '帮我看看，', '我就想问，',
           '想咨询一下，'),
    'en': ('I was wondering, ', 'Can I ask, ', 'May I ask, ', 'Tell me, ', 'I wanted to ask, ', 'Oh, and ',
           'Could you help me, ', 'Do you happen to know, ', 'Just wondering, '),
}
_TAGS = {
    'zh': ('啊？', '呀？', '呢？', '来着？', '，您知道吗？'),
    'en': (', please?', ', by the way?', ', do you know?', ', roughly?', ' then?', ', exactly?'),
}
_THIS = {'zh': ('你们这个', '你们家', '这个', '你们那款', '这款'), 'en': ('this ', 'that ', 'your ')}
_HESITATION = {'zh': ('，呃，', '，那个，', '，嗯，'), 'en': ('the, um, ', 'the, uh, ', 'the, er, ')}
_STATEMENT = re.compile(r"I\b|I'|My |We|Say |Could you|Can you|Do you|[我想能说请麻帮查]")


def spoken(template: str, language: str, source: random.Random, *, thing: bool, direct: bool) -> str:
    """A template of a question as one would say it, or the template where nothing fits.

    ``thing``: its ``{x}`` can be pointed at (this one). ``direct``: it is a plain question, which may get a tag.
    """
    framing = [_opened, _opened, _tagged] if direct else [_opened]
    pointing = [_hesitating, _pointed] if thing else [_hesitating]
    first = source.choice(framing)
    if source.random() < 0.45:
        return first(template, language, source)
    inside = source.choice(pointing)(template, language, source)
    return first(inside, language, source) if inside == template or source.random() < 0.3 else inside


def _opened(text: str, language: str, source: random.Random) -> str:
    asks = not _STATEMENT.match(text) and text.endswith(('?', '？'))
    opening = source.choice(_OPENINGS[language] + (_ASKING[language] if asks else ()))
    if language == 'en' and not text.startswith(('I ', "I'", '{')):
        text = text[0].lower() + text[1:]
    return opening + text


def _tagged(text: str, language: str, source: random.Random) -> str:
    if language == 'zh':
        if not text.endswith('？') or text[-2] in '吗呢啊呀吧':
            return text
        return text[:-1] + source.choice(_TAGS['zh'])
    return text[:-1] + source.choice(_TAGS['en']) if text.endswith('?') else text


def _pointed(text: str, language: str, source: random.Random) -> str:
    if language == 'zh':
        return source.choice(_THIS['zh']) + text if text.startswith('{x}') else text
    return text.replace('the {x}', source.choice(_THIS['en']) + '{x}', 1)


def _hesitating(text: str, language: str, source: random.Random) -> str:
    if language == 'zh':
        if not text.startswith('{x}') or text[3] in '的，':
            return text
        return '{x}' + source.choice(_HESITATION['zh']) + text[3:]
    return text.replace('the {x}', source.choice(_HESITATION['en']) + '{x}', 1)
