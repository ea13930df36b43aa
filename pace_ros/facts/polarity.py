"""Which side of a pair of opposites a text is on: open or closed, with or without, 能 or 不能."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pace_ros.facts.lexicon import AntonymError, Lexicon, Side, read_lexicon
from pace_ros.language import detect_locale, language
from pace_ros.wording import read_by_language

STANCE = 'stance'
_FARTHEST = 30  # characters between a negation and what it turns round


class Sides(NamedTuple):
    """The sides a text takes; of these the ``marked`` ones, which do not go without saying; how often it says *not*.

    *has* and *can* add nothing to a question and are not marked, *has no* is.
    """

    taken: frozenset[Side] = frozenset()
    marked: frozenset[Side] = frozenset()
    negations: int = 0


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
        taken, negations = _read(lexicon, lexicon.read_questions(text))
        marked = frozenset((pair, sign) for pair, sign in taken if sign < 0 or pair not in lexicon.unmarked)
        return Sides(frozenset(taken), marked, negations)

    def stated(self, text: str, locale: str) -> frozenset[Side]:
        """The sides that a ``plain`` text in small letters takes in what it states: what it asks is left out."""
        lexicon = self._lexicon(text, locale)
        return frozenset(_read(lexicon, lexicon.without_questions(text))[0])

    def _lexicon(self, text: str, locale: str) -> Lexicon:
        written = language(detect_locale(text, locale))
        name = language(locale) if written != 'zh' and language(locale) != 'zh' else written
        return self._lexicons.get(name) or self._lexicons['en']


def _read(lexicon: Lexicon, text: str) -> tuple[set[Side], int]:
    """The sides and the number of negations. A stance (yes, no) counts only where the text opens with it."""
    sides: set[Side] = set()
    negations = 0
    negated_from = -1  # the end of a negation that has turned nothing round yet
    for term, start, end in lexicon.terms(text):
        turned = 0 <= negated_from >= start - _FARTHEST and lexicon.reaches(text, negated_from, start)
        for pair, sign in term.sides:
            if pair != STANCE:
                sides.add((pair, -sign if turned and not term.negates else sign))
            elif lexicon.pauses(text, end) and not text[:start].strip():
                sides.add((pair, sign))
        if term.negates:
            negations, negated_from = negations + 1, end
        elif turned and term.sides:
            negated_from = -1
    return sides, negations
