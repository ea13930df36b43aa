"""CarQA-Volatile: questions whose answers age, and events that change the aged fact and nothing else."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.facts import FactExtractor
from pace_ros.facts.facts import Facts
from pace_ros.study.carqa.catalogue import Item
from pace_ros.study.carqa.chance import chance
from pace_ros.study.carqa.templates import LANGUAGES, TemplateError
from pace_ros.study.carqa.values import draw
from pace_ros.study.datasets.question import Change

QUESTIONS, CHANGES = 105, 104
_TRIES = 200


def volatile_items(items: Sequence[Item], seed: int) -> list[Item]:
    """As many as there shall be, at random, in the order of the catalogue."""
    aging = [item for item in items if item.volatile]
    chosen = set(chance(seed, 'volatile').sample([item.key for item in aging], QUESTIONS))
    return [item for item in aging if item.key in chosen]


def changes(items: Sequence[Item], seed: int, facts: FactExtractor) -> list[Change]:
    """One event for each item but one, in random order."""
    order = chance(seed, 'changes').sample(list(items), CHANGES)
    return [Change(number, item.key, _changed(item, seed, facts)) for number, item in enumerate(order, start=1)]


def _changed(item: Item, seed: int, facts: FactExtractor) -> dict[str, str]:
    """The answers with another value of what ages; every other fact stays. Raises TemplateError if there is none."""
    source = chance(seed, 'change', item.key)
    name = item.aspect.ages
    for _ in range(_TRIES):
        values = dict(item.values)
        values[name] = draw(item.family.values[name], source, size=item.entity.size, drive=item.entity.drive,
                            drawn=item.values)
        new = {key: item.fill(item.aspect.phrases[key].say, key, values) for key in LANGUAGES}
        if all(one_fact_changed(facts.facts(item.answer(key), key), facts.facts(new[key], key)) for key in LANGUAGES):
            return new
    raise TemplateError(f'There is no other value for {item.key}.')


def one_fact_changed(old: Facts, new: Facts) -> bool:
    """Whether exactly one quantity or moment is another one, and nothing else."""
    gone = len(old.quantities - new.quantities) + len(old.moments - new.moments)
    come = len(new.quantities - old.quantities) + len(new.moments - old.moments)
    return gone == come == 1 and old.names == new.names and old.polarity == new.polarity
