"""How much of a reference an answer states: every fact of the reference that the question has not, and none against."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pace_ros.facts import Facts
from pace_ros.facts.comparison import turned_round
from pace_ros.facts.dates import Moment
from pace_ros.facts.facts import ORDINAL
from pace_ros.facts.names import Name
from pace_ros.facts.polarity import opposed
from pace_ros.facts.units import COUNTS, NUMBER, Quantity, agree

NAMED, MEASURED, TELLING = range(3)  # how surely a fact shows what is spoken of
_MEASURED = frozenset({'duration', 'share', 'discount', 'working days', 'degrees'})  # the same values everywhere
_RARE = 100.0  # from which a number without a unit is no coincidence


@dataclass(frozen=True)
class Stated:
    """The comparison of an answer with a reference.

    ``found`` and ``missing`` are the facts of the reference that are not in the question, as words for a reason;
    ``against`` are facts of the answer that contradict reference or question; ``extra`` counts what is in neither.
    ``strength`` is that of the best fact found: TELLING (a price, a range, a date) shows what is spoken of, MEASURED
    (30 minutes) is said of many things, NAMED (a name, *three*) of anything.
    """

    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    extra: int = 0
    strength: int = NAMED

    @property
    def decides(self) -> bool:
        """Whether the reference has facts that tell a right answer from another one."""
        return bool(self.found or self.missing)


def stated(answer: Facts, reference: Facts, question: Facts) -> Stated:
    """Compare the facts of an answer with those of a reference, given those of the question.

    A fact against: a quantity, moment or name where the reference (or the question, as far as the reference repeats it)
    has others of its kind, of which the answer states none or not all; opposite polarity; a comparison turned round.
    An additional fact of a kind that is stated in full is extra, since *99,800, the Max 129,800* contradicts nothing.
    """
    parts = [
        _quantities(answer, reference, question), _moments(answer, reference, question),
        _names(answer, reference, question),
    ]
    against = [word for part in parts for word in part.against]
    if opposed(reference.polarity.taken, answer.polarity.taken):
        against.append('polarity')
    if turned_round(reference.compared, answer.compared):
        against.append('direction')
    return Stated(
        tuple(word for part in parts for word in part.found), tuple(word for part in parts for word in part.missing),
        tuple(against), sum(part.extra for part in parts), max(part.strength for part in parts),
    )


def gives(answer: Moment, reference: Moment) -> bool:
    """Whether a moment says all that the reference says; the year of a full date may go unsaid."""
    if answer.kind != reference.kind or not answer.may_be(reference):
        return False
    year_goes_unsaid = reference.month is not None
    return all(
        theirs is None or mine is not None or (part == 'year' and year_goes_unsaid)
        for part, mine, theirs in zip(Moment._fields, answer, reference, strict=True)
    )


def _quantities(answer: Facts, reference: Facts, question: Facts) -> Stated:
    found, missing, against = [], [], []
    strength = NAMED
    known = reference.quantities | question.quantities
    extra = [each for each in answer.quantities if not _agrees(each, known)]
    for each in sorted(reference.quantities):
        word = f'{each[0]} {each[1]:g}'
        asked = _agrees(each, question.quantities)
        if _is_said(each, answer.quantities):
            if not asked:
                found.append(word)
                strength = max(strength, _strength(each, answer.quantities))
            continue
        others = [other for other in extra if other[0] == each[0]]
        if others:
            against.append(f'{others[0][0]} {others[0][1]:g}')
        if not asked and each not in reference.single:
            missing.append(word)
    unknown = len(set(extra) - answer.single)
    return Stated(tuple(found), tuple(missing), tuple(dict.fromkeys(against)), unknown, strength)


def _agrees(quantity: Quantity, others: Iterable[Quantity]) -> bool:
    """Whether it can be one of the others. A place in an order is no number of things: the second row, 2 seats."""
    return any((quantity[0] == ORDINAL) == (other[0] == ORDINAL) and agree(quantity, other) for other in others)


def _is_said(quantity: Quantity, said: frozenset[Quantity]) -> bool:
    """Whether one of those said is it. A number of things without a unit is no number of anything measured."""
    if quantity[0] == NUMBER and quantity[1] < _RARE:
        said = frozenset(each for each in said if each[0] in (NUMBER, 'items', 'people'))
    return _agrees(quantity, said)


def _strength(quantity: Quantity, said: frozenset[Quantity]) -> int:
    """A number said without the unit may be another thing's."""
    dimension, value = quantity
    if dimension in COUNTS or dimension in (ORDINAL, NUMBER):
        return TELLING if value >= _RARE else NAMED
    if not any(other[0] == dimension and agree(quantity, other) for other in said):
        rare = any(other[1] >= _RARE and agree(quantity, other) for other in said)
        return TELLING if rare and dimension not in _MEASURED else NAMED
    return MEASURED if dimension in _MEASURED else TELLING


def _moments(answer: Facts, reference: Facts, question: Facts) -> Stated:
    found, missing, against = [], [], []
    known = reference.moments | question.moments
    extra = [each for each in answer.moments if not any(_of_one_kind(each, other) for other in known)]
    for each in sorted(reference.moments, key=repr):
        asked = any(gives(other, each) for other in question.moments)
        if any(gives(other, each) for other in answer.moments):
            if not asked:
                found.append(each.kind)
            continue
        if any(other.kind == each.kind for other in extra):
            against.append(each.kind)
        if not asked:
            missing.append(each.kind)
    strength = max((_moment_strength(each) for each in answer.moments if found), default=NAMED)
    return Stated(tuple(found), tuple(missing), tuple(against), len(extra), strength)


def _moment_strength(moment: Moment) -> int:
    """A mere year, or a day told from now, is said of many things."""
    return MEASURED if moment.span or (moment.kind == 'date' and moment.day is None) else TELLING


def _of_one_kind(one: Moment, other: Moment) -> bool:
    return one.kind == other.kind and one.may_be(other)


def _names(answer: Facts, reference: Facts, question: Facts) -> Stated:
    """A name of the reference or, unsaid there, of the question is contradicted where others of its kind replace it.

    So are all of them where the answer has but other names: it speaks of something else.
    """
    said, asked, wanted = set(answer.names), set(question.names), set(reference.names)
    extra = said - asked - wanted
    missing = wanted - asked - said
    elsewhere = bool(wanted | asked) and not said & (wanted | asked)
    against = [name for name in sorted(extra) if elsewhere or _replaces(name, said, wanted or asked, asked)]
    return Stated(_words(wanted & said - asked), _words(missing), _words(against), len(extra))


def _replaces(name: Name, said: set[Name], wanted: set[Name], asked: set[Name]) -> bool:
    kind = name[0]
    due = {each for each in wanted if each[0] == kind} or {each for each in asked if each[0] == kind}
    return bool(due) and not due <= said


def _words(names: Iterable[Name]) -> tuple[str, ...]:
    return tuple(f'{kind} {name}' for kind, name in sorted(names))
