"""What keeps a near question's answer from being given: another number, date, name, side or direction."""
from __future__ import annotations

import dataclasses
import functools

from pace_ros.facts import FactExtractor, Facts, difference
from pace_ros.facts.names import Name
from pace_ros.language import language

_REMEMBERED = 4096  # questions whose facts are kept, so that no turn reads one twice: more than a cache has by default


class Guards:
    """Compares questions fact by fact, in one language or two, at any similarity."""

    def __init__(self, facts: FactExtractor) -> None:
        self._known = functools.lru_cache(_REMEMBERED)(facts.facts)

    def asked(self, question: str, locale: str, subject: tuple[Name, ...] = ()) -> Facts:
        """The facts of a question; names of kinds that it does not name come from ``subject``, which is in focus."""
        facts = self._known(question, language(locale))
        named = {kind for kind, _ in facts.names}
        filled = [name for name in subject if name[0] not in named]
        if not filled:
            return facts
        return dataclasses.replace(facts, names=tuple(sorted((*facts.names, *filled), key=lambda name: name[0])))

    def differs(self, asked: Facts, candidate: str, locale: str) -> str:
        """The kind of fact in which a candidate question asks for something else, empty if in none."""
        return difference(asked, self._known(candidate, language(locale)))
