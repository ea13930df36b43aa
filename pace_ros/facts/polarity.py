"""Which side of a pair of opposites a text is on: open or closed, with or without, 能 or 不能."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from pace_ros.language import language
from pace_ros.wording import read_by_language

Side = tuple[str, int]  # pair and sign, such as ('open', -1) for closed
_REACH_EN = r'(?:\W+(?!but\b|and\b|or\b)\w+){0,2}?\W+'  # a negation reaches over two words at most
_STANCE = 'stance'


class AntonymError(ValueError):
    """A file of opposites that cannot be used; the message names file and field."""


@dataclass(frozen=True)
class _Lexicon:
    words: Mapping[str, Side]
    pattern: re.Pattern[str]


class Polarity:
    """Opposites by language; a language without any has no polarity."""

    def __init__(self, lexicons: Mapping[str, _Lexicon]) -> None:
        self._lexicons = dict(lexicons)

    @classmethod
    def read(cls, path: Path) -> Polarity:
        """Read the pairs by language. Raises AntonymError naming file and field."""
        content = read_by_language(path, 'opposites', AntonymError)
        return cls({key: _lexicon(fields, f"{path}, field '{key}", key) for key, fields in content.items()})

    def find(self, text: str, locale: str) -> frozenset[Side]:
        """Every side the text takes. A stance (yes, no) counts only where the text opens with it."""
        lexicon = self._lexicons.get(language(locale))
        if lexicon is None:
            return frozenset()
        sides = set()
        for match in lexicon.pattern.finditer(text):
            pair, sign = lexicon.words[match['word'].casefold()]
            if pair == _STANCE and text[: match.start()].strip():
                continue
            sides.add((pair, -sign if match['negation'] else sign))
        return frozenset(sides)


def _lexicon(fields: object, where: str, name: str) -> _Lexicon:
    pairs = fields.get('pairs') if isinstance(fields, dict) else None
    negations = fields.get('negations') if isinstance(fields, dict) else None
    if not isinstance(pairs, dict) or not _texts(negations):
        raise AntonymError(f"{where}': must have 'negations', a list of words, and 'pairs', a mapping.")
    words: dict[str, Side] = {}
    for pair, sides in pairs.items():
        if not isinstance(sides, list) or len(sides) != 2 or not all(_texts(side) for side in sides):
            raise AntonymError(f"{where}.pairs.{pair}': must be two lists of words.")
        for sign, side in zip((1, -1), sides, strict=True):
            for word in side:
                if words.setdefault(word.casefold(), (str(pair), sign)) != (str(pair), sign):
                    raise AntonymError(f"{where}.pairs.{pair}': {word!r} is on another side too.")
    return _Lexicon(words, _pattern(words, negations, spaced=name != 'zh'))


def _pattern(words: Mapping[str, Side], negations: Sequence[str], *, spaced: bool) -> re.Pattern[str]:
    """One of the words, with the negation that reaches it, if there is one."""
    word = '|'.join(re.escape(each) for each in sorted(words, key=len, reverse=True))
    negation = '|'.join(re.escape(each) for each in sorted(negations, key=len, reverse=True))
    if spaced:
        before = rf"(?P<negation>(?:\b|(?<=\w)(?=n't))(?:{negation})\b{_REACH_EN})?"
        return re.compile(rf'{before}\b(?P<word>{word})\b', re.IGNORECASE)
    return re.compile(rf'(?P<negation>(?:{negation})(?:太|很|是|怎么|那么)?)?(?P<word>{word})')


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) and item.strip() for item in value)
