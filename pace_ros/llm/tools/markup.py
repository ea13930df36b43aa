"""The markup in which models write tool calls: how it begins, and what ends it."""
from __future__ import annotations

import re
import string
from dataclasses import dataclass

_KEYS = ('name', 'tool', 'tool_name', 'function', 'arguments', 'parameters', 'type', 'tool_calls')
_TO_THE_END = ('<|eom_id|>', '<|eot_id|>', '<|im_end|>', '</s>')
_HARMONY = ('<|call|>', '<|end|>', '<|start|>')
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # keeps every character in its place
_SPECIAL = re.compile(r'<[|｜][^|｜<>\s]{0,60}[|｜]>')
_SPECIAL_BEGUN = re.compile(r'<[|｜][^|｜<>\s]{0,60}[|｜]?')
_JSON_KEY = re.compile(r'\{\s*"(?:' + '|'.join(_KEYS) + r')"\s*:')


@dataclass(frozen=True)
class Markup:
    """A kind of markup: nothing from ``opener`` to the first of ``closers`` is for a visitor's ears; without one of
    those, nothing to the end of the answer. No closers: the opener alone. ``asks``: there is a call in it.
    """

    opener: str
    closers: tuple[str, ...]
    asks: bool = True


MARKUPS = (
    Markup('<tool_call>', ('</tool_call>',)),
    Markup('<tool_calls>', ('</tool_calls>',)),
    Markup('<toolcall>', ('</toolcall>',)),
    Markup('<minimax:tool_call>', ('</minimax:tool_call>',)),
    Markup('<function_call>', ('</function_call>',)),
    Markup('<function_calls>', ('</function_calls>',)),
    Markup('<function=', ('</function>',)),
    Markup('<invoke name=', ('</invoke>',)),
    Markup('<tool_response>', ('</tool_response>',), asks=False),
    Markup('<|tool_call>', ('<tool_call|>',)),
    Markup('<|tool_call|>', ('<|/tool_call|>', '<|end_tool_call|>', *_TO_THE_END)),
    Markup('<|tool_calls_section_begin|>', ('<|tool_calls_section_end|>',)),
    Markup('<｜tool▁calls▁begin｜>', ('<｜tool▁calls▁end｜>',)),
    Markup('<|start_action|>', ('<|end_action|>',)),
    Markup('<|python_tag|>', _TO_THE_END),
    Markup('<|channel|>commentary to=', _HARMONY),
    Markup('<|channel|>commentary', _HARMONY, asks=False),
    Markup('<|channel|>analysis', _HARMONY, asks=False),
    Markup('<|channel|>final<|message|>', ()),
    Markup('<|start|>assistant', ()),
    Markup('[tool_calls]', _TO_THE_END),
    Markup('[tool_call]', ('[/tool_call]', *_TO_THE_END)),
    Markup('```tool_code', ('```',)),
    Markup('```tool_call', ('```',)),
    Markup('```tool_outputs', ('```',), asks=False),
    *(Markup(closer, ()) for closer in (
        '</tool_call>', '</tool_calls>', '</function>', '</function_call>', '</function_calls>', '</invoke>',
        '</tool_response>',
    )),
)


def lowered(text: str) -> str:
    """The text with small Latin letters, each where it was."""
    return text.translate(_LOWER)


def markup_at(text: str, markups: tuple[Markup, ...]) -> Markup | bool | None:
    """The markup that a text begins with, None where it begins with none, True where more of it must be seen."""
    lower = lowered(text)
    found = max((each for each in markups if lower.startswith(each.opener)), key=lambda each: len(each.opener),
                default=None)
    longer = any(each.opener.startswith(lower) for each in markups if len(each.opener) > len(lower))
    if longer:
        return True
    if found is not None:
        return found
    special = _SPECIAL.match(text)
    if special:
        return Markup(special.group(), ())
    begun = _SPECIAL_BEGUN.fullmatch(text)
    return True if begun or text == '<' else None


def json_at(text: str) -> bool | None:
    """Whether a text begins with a JSON object, or a list of them, as calls have; None where more must be seen."""
    body = text[1:].lstrip() if text.startswith('[') else text
    if _JSON_KEY.match(body):
        return True
    return None if not body or _JSON_BEGUN.fullmatch(body) else False


def _prefixes(word: str) -> str:
    """A pattern for every proper beginning of a word."""
    return '|'.join(re.escape(word[:length]) for length in range(len(word), -1, -1))


_JSON_BEGUN = re.compile(r'\{\s*(?:"(?:' + '|'.join(_prefixes(f'{key}"') for key in _KEYS) + r')\s*)?')
