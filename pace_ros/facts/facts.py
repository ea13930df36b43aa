"""What a text states that another can contradict: quantities, moments, products, polarity."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pace_ros.facts.comparison import Compared, Group, compared, direction, turned_round
from pace_ros.facts.dates import Moment, moments
from pace_ros.facts.names import Name, ProductNames, listed
from pace_ros.facts.numerals import Number, in_digits, numbers, plain
from pace_ros.facts.polarity import Polarity, Sides
from pace_ros.facts.units import NUMBER, Quantity, Unit, agree, unit_at
from pace_ros.language import detect_locale, language

ORDINAL = 'ordinal'  # the dimension of a place in an order: the third row
_WHEN = re.compile(r'\b(?:in|of|since|until|before|after|from|to|between|and|year) $|\d\s?[-–]\s?$')


@dataclass(frozen=True)
class Facts:
    """The facts of one text.

    A quantity is a dimension and a value in its base unit; ``single`` are those that may go unsaid: one car, a month.
    ``names`` are in the order of their first mention, by kind; ``products`` is the order in which several are spoken
    of, where it matters, and ``compared`` what with what.
    """

    quantities: frozenset[Quantity] = frozenset()
    moments: frozenset[Moment] = frozenset()
    names: tuple[Name, ...] = ()
    polarity: Sides = field(default_factory=Sides)
    products: tuple[Group, ...] = ()
    compared: Compared | None = None
    single: frozenset[Quantity] = field(default=frozenset(), compare=False)
    language: str = field(default='', compare=False)


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
        text = in_digits(plain(text))
        small = text.lower()
        quantities, single, when = _quantities_and_moments(small)
        polarity = self._polarity.find(small, locale)
        named = list(self._names.mentions(text))
        return Facts(frozenset(quantities), frozenset(when), listed(named), polarity, direction(small, named),
                     compared(small), frozenset(single), language(detect_locale(text, locale)))

    def conflict(self, said: str, answer: str, locale: str) -> str:
        """On which kinds of fact ``said`` disagrees with ``answer``, such as 'money, open'; empty if on none.

        What only one of them mentions is no disagreement. A kind of fact disagrees where both mention it and ``said``
        has one that the answer has not. A question takes no side.
        """
        mine, theirs = self.facts(said, locale), self.facts(answer, locale)
        reasons = {*_unmatched(mine.quantities, theirs.quantities), *_unshared(mine.names, theirs.names)}
        for moment in mine.moments:
            same_kind = [other for other in theirs.moments if other.kind == moment.kind]
            if same_kind and not any(moment.may_be(other) for other in same_kind):
                reasons.add(moment.kind)
        if mine.polarity.taken and theirs.polarity.taken:
            reasons |= _unshared(*(self._polarity.stated(plain(text).lower(), locale) for text in (said, answer)))
        return ', '.join(sorted(reasons))

    def same(self, one: str, other: str, locale: str) -> bool:
        """Whether two wordings of a question ask for the same facts: none of them differs or is missing in either."""
        return not difference(self.facts(one, locale), self.facts(other, locale))


def difference(one: Facts, other: Facts) -> str:
    """The first kind of fact in which two questions differ, such as 'names'; empty if they ask for the same.

    The questions may be in different languages.
    """
    if one.names != other.names and set(one.names) != set(other.names):
        return 'names'
    if one.products != other.products or turned_round(one.compared, other.compared):
        return 'direction'
    if one.quantities != other.quantities and not _counted_alike(one, other):
        return 'quantities'
    if one.moments != other.moments:
        return 'moments'
    if not one.polarity.asks_as(other.polarity, one_language=one.language == other.language):
        return 'polarity'
    return 'negations' if one.polarity.negations != other.polarity.negations else ''


def _counted_alike(one: Facts, other: Facts) -> bool:
    """Whether each quantity agrees with one of the others, or is a single thing."""
    return all(
        any(agree(quantity, each) for each in theirs.quantities)
        for mine, theirs in ((one, other), (other, one))
        for quantity in mine.quantities - mine.single - theirs.quantities
    )


def _quantities_and_moments(text: str) -> tuple[set[Quantity], set[Quantity], set[Moment]]:
    quantities: set[Quantity] = set()
    single: set[Quantity] = set()
    when: set[Moment] = set()
    taken = bytearray(len(text))
    for moment, start, end in moments(text):
        when.add(moment)
        taken[start:end] = b'\1' * (end - start)
    for number in numbers(text):
        if 1 in taken[number.start:number.end]:
            continue  # part of a moment
        if number.ordinal:
            quantities.add((ORDINAL, number.value))
            continue
        counted = unit_at(text, number.start, number.end)
        if _is_year(number, counted, text):
            when.add(Moment(year=int(number.value)))
        elif found := _quantity(number, counted):
            quantities.add(found)
            if number.value == 1 and (counted is None or counted[0].may_go_unsaid):
                single.add(found)
    return quantities, single, when


def _quantity(number: Number, counted: tuple[Unit, float] | None) -> Quantity | None:
    if counted is None:
        return None if number.bare else (NUMBER, number.value)
    unit, rest = counted
    if number.bare and number.value == 1 and unit.counts_things:
        return None
    return unit.dimension, round((number.value + rest) * unit.factor, 6)


def _is_year(number: Number, counted: tuple[Unit, float] | None, text: str) -> bool:
    """1998, twenty twenty-seven, the 1990s: of this shape, and nothing measured."""
    if not 1000 <= number.value < 2100 or not (
        counted is None or counted[0].counts_things or text.startswith('s', number.end)
    ):
        return False
    written = text[number.start:number.end]
    if number.value < 1900:
        return written.isdigit() and _WHEN.search(text, max(0, number.start - 9), number.start) is not None
    return written.isdigit() or (' ' in written and 'thousand' not in written and 'hundred' not in written)


def _unmatched(mine: Iterable[Quantity], theirs: frozenset[Quantity]) -> Iterator[str]:
    """The dimensions in which mine has a quantity that agrees with none of theirs, though they have some."""
    for quantity in mine:
        comparable = any(quantity[0] in (NUMBER, other[0]) for other in theirs)
        if comparable and not any(agree(quantity, other) for other in theirs):
            yield quantity[0]


def _unshared(mine: Iterable[tuple[str, object]], theirs: Iterable[tuple[str, object]]) -> set[str]:
    """The kinds (first of each pair) that both have, and of which mine has one that is not among theirs."""
    others = set(theirs)
    kinds = {kind for kind, _ in others}
    return {kind for kind, value in mine if kind in kinds and (kind, value) not in others}
