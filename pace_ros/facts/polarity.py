"""Which side of a pair of opposites a text is on: open or closed, with or without, 能 or 不能."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pace_ros.facts.lexicon import AntonymError, Classes, Lexicon, Side, read_lexicon
from pace_ros.language import detect_locale, language
from pace_ros.wording import read_by_language

STANCE = 'stance'
_FARTHEST = 30  # characters between a negation and what it turns round


class Sides(NamedTuple):
    """The sides a text takes, and what of it makes a question another one: ``marked``, ``degrees`` and ``loose`` sides
    (as the pairs' Classes say), and how often it says *not* beside that.

    *has* and *can* add nothing to a question and are not marked, *has no* is. Of other opposites the words themselves
    count: *not cheap* does not ask for what is expensive, but says *cheap*, and *not* once. *can't* is a *not*, too.
    """

    taken: frozenset[Side] = frozenset()
    marked: frozenset[Side] = frozenset()
    degrees: frozenset[Side] = frozenset()
    loose: frozenset[Side] = frozenset()
    negations: int = 0

    def asks_as(self, other: Sides, *, one_language: bool) -> bool:
        """Whether a question of these sides asks for what one of the others does, but for mere *not*s."""
        if self.marked != other.marked or opposed(self.loose, other.loose):
            return False
        if one_language:
            return self.degrees == other.degrees
        return not opposed(self.degrees, other.degrees)


def opposed(one: frozenset[Side], other: frozenset[Side]) -> bool:
    """Whether they take one pair on different sides, neither of them both."""
    return any(
        (pair, -sign) in other and (pair, sign) not in other and (pair, -sign) not in one for pair, sign in one
    )


class Polarity:
    """Opposites by language. A text in Chinese characters is judged by the Chinese ones whatever its locale.

    Any other text is judged by those of its locale, or by the English ones where that has none.
    """

    def __init__(self, lexicons: Mapping[str, Lexicon]) -> None:
        self._lexicons = dict(lexicons)

    @classmethod
    def read(cls, path: Path) -> Polarity:
        """Read the pairs by language. Raises AntonymError naming file and field."""
        content = read_by_language(path, 'opposites', AntonymError)
        return cls({key: read_lexicon(fields, f"{path}, field '{key}", key) for key, fields in content.items()})

    def find(self, text: str, locale: str) -> Sides:
        """The sides that a ``plain`` text in small letters takes, in statements and questions."""
        lexicon = self._lexicon(text, locale)
        return _read(lexicon, lexicon.read_questions(text))

    def stated(self, text: str, locale: str) -> frozenset[Side]:
        """The sides that a ``plain`` text in small letters takes in what it states: what it asks is left out."""
        lexicon = self._lexicon(text, locale)
        return _read(lexicon, lexicon.without_questions(text)).taken

    def _lexicon(self, text: str, locale: str) -> Lexicon:
        written = language(detect_locale(text, locale))
        name = language(locale) if written != 'zh' and language(locale) != 'zh' else written
        return self._lexicons.get(name) or self._lexicons['en']


def _read(lexicon: Lexicon, text: str) -> Sides:
    """The sides of a text. A stance (yes, no) counts only where the text opens with it."""
    taken: set[Side] = set()
    asked: set[Side] = set()
    classes = lexicon.classes
    negations = 0
    denied_from = -1  # the end of a negation that has turned nothing round yet
    alone = False  # whether it is a mere *not*, of no side
    for term, start, end in lexicon.terms(text):
        turned = 0 <= denied_from >= start - _FARTHEST and lexicon.reaches(text, denied_from, start)
        for pair, sign in term.sides:
            if pair == STANCE and (text[:start].strip() or not lexicon.pauses(text, end)):
                continue
            flips = turned and not term.negates and pair != STANCE
            if pair not in classes.asking:
                taken.add((pair, -sign if flips else sign))
            asks = sign
            if flips and alone and pair in classes.unmarked:  # has not: a side, and no *not* beside it
                alone, negations, asks = False, negations - 1, -sign
            if pair in classes.denials:
                negations += asks < 0
            else:
                asked.add((pair, asks))
        if term.negates:
            denied_from, alone = end, all(pair == STANCE for pair, _ in term.sides)
            negations += alone
        elif turned and term.sides:
            denied_from = -1
    return Sides(frozenset(taken), *_sorted(asked, classes), negations) if taken or asked or negations else Sides()


def _sorted(asked: set[Side], classes: Classes) -> tuple[frozenset[Side], frozenset[Side], frozenset[Side]]:
    """The marked sides, degrees and loose ones."""
    telling = {(pair, sign) for pair, sign in asked if sign < 0 or pair not in classes.unmarked}
    loosely = classes.loose | classes.asking
    degrees, loose = ({side for side in telling if side[0] in kind} for kind in (classes.degrees, loosely))
    return frozenset(telling - degrees - loose), frozenset(degrees), frozenset(loose)
