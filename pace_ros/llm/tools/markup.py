"""The marks that models write around tool calls: names in brackets, whose words say what they are."""
from __future__ import annotations

import re
import string
from dataclasses import dataclass
from enum import Enum

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_CALL = re.compile(
    r'(?<![a-z0-9])(?:tools?(?:calls?)?|functions?(?:calls?)?|invoke|parameters?|arg_key|arg_value)(?![a-z0-9])'
)
_TOKEN_OF_CALL = re.compile(r'(?<![a-z0-9])(?:action|plugin|python_tag)(?![a-z0-9])')
_BRACKET_OF_CALL = re.compile(r'(?:\w+_)?tool_?(?:calls?|requests?|results?|outputs?|use)|available_tools')
_RESULT = re.compile(r'(?:response|result|output|observation)s?(?![a-z0-9])')
_END = re.compile(r'^[|｜]?/|(?<![a-z0-9])(?:end|suffix)(?![a-z0-9])|^[^|｜].*[|｜]$')
_SPECIAL = re.compile(r'[|｜].*[|｜]')


class Kind(Enum):
    """What begins at a place: a call, from where on nothing is said; an aside that is not said up to its end, as a
    result the model made up; a mark that alone is not said; or what cannot be told before more is seen.
    """

    CALL = 'call'
    ASIDE = 'aside'
    MARK = 'mark'
    WAIT = 'wait'


@dataclass(frozen=True)
class Found:
    """``length`` characters of it have been read; an aside goes on to the end of ``closer``."""

    kind: Kind
    length: int = 0
    closer: re.Pattern[str] | None = None


CALL, WAIT = Found(Kind.CALL), Found(Kind.WAIT)


def in_tag(match: re.Match[str]) -> Found | None:
    """What ``<name`` and the next character are: tags as in XML, and special tokens, with thin or wide bars; not
    autolinks.
    """
    name, last = match['name'].translate(_SMALL), match['last']
    token = _SPECIAL.fullmatch(name)
    if '//' in name or (last == '@' and not token):
        return None
    special = last == '>' and token
    length = match.end() if last == '>' else match.start('last')
    if not (_CALL.search(name) or (special and _TOKEN_OF_CALL.search(name))):
        return Found(Kind.MARK, length) if special else None
    if _END.search(name):
        return Found(Kind.MARK, length)
    if _RESULT.search(name):
        core = re.escape(name.strip('|｜').replace('begin', 'end').replace('start', 'end'))
        return Found(Kind.ASIDE, length, re.compile(rf'<[/|｜]{{0,2}}{core}[|｜]?\s?>', re.IGNORECASE))
    return CALL


def in_square_brackets(match: re.Match[str]) -> Found | None:
    """What ``[NAME]`` is."""
    name = match['name'].translate(_SMALL)
    if match['name'] in ('ARGS', 'CALL_ID'):
        return CALL
    core = name.lstrip('/').removeprefix('end_')
    if not _BRACKET_OF_CALL.fullmatch(core):
        return None
    if core != name:
        return Found(Kind.MARK, match.end())
    if _RESULT.search(name):
        return Found(Kind.ASIDE, match.end(), re.compile(rf'\[(?:/|END_){re.escape(name)}\]', re.IGNORECASE))
    return CALL


def in_header(match: re.Match[str]) -> Found:
    """What the head of a Harmony message says of its body."""
    head = match.group()
    if head.endswith('to='):
        return CALL
    if 'analysis' in head or 'commentary' in head:
        return Found(Kind.ASIDE, match.end(), re.compile(
            r'<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)'
        ))
    return Found(Kind.MARK, match.end())


def in_fence(language: str, length: int) -> Found | None:
    """What the language of a fence says of its body."""
    name = language.translate(_SMALL)
    if not _CALL.search(name):
        return None
    return Found(Kind.ASIDE, length, re.compile('```')) if _RESULT.search(name) else CALL
