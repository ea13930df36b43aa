"""What a text states that another can contradict: quantities, moments, products, polarity."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pace_ros.facts.dates import Moment, moments
from pace_ros.facts.names import Name, ProductNames
from pace_ros.facts.numerals import numbers, plain
from pace_ros.facts.polarity import Polarity, Side
from pace_ros.facts.units import unit_at

NUMBER = 'number'  # the dimension of what has no unit
Quantity = tuple[str, float]


@dataclass(frozen=True)
class Facts:
    """The facts of one text. A quantity is a dimension and a value in its base unit."""

    quantities: frozenset[Quantity] = frozenset()
    moments: frozenset[Moment] = frozenset()
    names: frozenset[Name] = frozenset()
    polarity: frozenset[Side] = field(default_factory=frozenset)


class FactExtractor:
    """Reads facts out of Chinese and English texts."""

    def __init__(self, names: ProductNames, polarity: Polarity) -> None:
        self._names = names
        self._polarity = polarity

    @classmethod
    def read(cls, names: Path, antonyms: Path) -> FactExtractor:
        """Read both word lists. Raises NamesError or AntonymError naming file and field."""
        return cls(ProductNames.read(names), Polarity.read(antonyms))

    def facts(self, text: str, locale: str) -> Facts:
        """The facts of a text in the language of ``locale``."""
        text = plain(text)
        found = list(moments(text))
        taken = [(start, end) for _, start, end in found]
        return Facts(
            quantities=frozenset(_quantities(text, taken)),
            moments=frozenset(moment for moment, _, _ in found),
            names=self._names.find(text),
            polarity=self._polarity.find(text, locale),
        )

    def conflict(self, said: str, answer: str, locale: str) -> str:
        """On which fact ``said`` disagrees with ``answer``; empty if on none.

        What only one of them mentions is no disagreement. A kind of fact disagrees where both mention it and ``said``
        has one that the answer has not.
        """
        mine, theirs = self.facts(said, locale), self.facts(answer, locale)
        reasons = [
            *_unshared(mine.quantities, theirs.quantities),
            *_unshared(mine.names, theirs.names),
            *_unshared(mine.polarity, theirs.polarity),
        ]
        for moment in mine.moments:
            same_kind = [other for other in theirs.moments if other.kind == moment.kind]
            if same_kind and not any(moment.may_be(other) for other in same_kind):
                reasons.append(moment.kind)
        return ', '.join(sorted(set(reasons)))

    def same(self, one: str, other: str, locale: str) -> bool:
        """Whether two wordings of a question ask for the same facts: none of them differs or is missing in either."""
        return self.facts(one, locale) == self.facts(other, locale)


def _quantities(text: str, taken: list[tuple[int, int]]) -> Iterable[Quantity]:
    for number in numbers(text):
        if any(number.start < end and start < number.end for start, end in taken):
            continue  # part of a date
        counted = unit_at(text, number.start, number.end)
        if counted is not None:
            unit, rest = counted
            yield unit.dimension, round((number.value + rest) * unit.factor, 6)
        elif not number.bare:
            yield NUMBER, number.value


def _unshared(mine: Iterable[tuple[str, object]], theirs: Iterable[tuple[str, object]]) -> list[str]:
    """The kinds (first of each pair) that both have, and of which mine has one that is not among theirs."""
    others = set(theirs)
    kinds = {kind for kind, _ in others}
    return [kind for kind, value in mine if kind in kinds and (kind, value) not in others]
