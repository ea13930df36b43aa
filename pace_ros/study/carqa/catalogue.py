"""The catalogue: every thing with its values, and every meaning that can be asked of it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pace_ros.study.carqa.chance import chance
from pace_ros.study.carqa.templates import Aspect, Entity, Family
from pace_ros.study.carqa.values import Value, draw, said


class _Words(dict[str, str]):
    """The words for a template's fields; values are put in words as they are asked for."""

    def __init__(self, name: str, values: Mapping[str, Value], language: str) -> None:
        super().__init__(x=name, X=name[0].upper() + name[1:])
        self._values = values
        self._language = language

    def __missing__(self, field: str) -> str:
        return said(self._values[field], self._language)


@dataclass(frozen=True)
class Item:
    """One aspect of one thing: what a question means. ``key`` names it in all files."""

    family: Family
    entity: Entity
    aspect: Aspect
    values: Mapping[str, Value]

    @property
    def key(self) -> str:
        """The meaning."""
        return f'{self.thing}.{self.aspect.aspect_id}'

    @property
    def thing(self) -> str:
        """The kind and name of what is asked about."""
        return f'{self.family.kind}.{self.entity.entity_id}'

    @property
    def volatile(self) -> bool:
        """Whether the answer changes with time."""
        return bool(self.aspect.ages)

    def fill(self, template: str, language: str, values: Mapping[str, Value] | None = None) -> str:
        """A template in words; ``{X}`` is the name with a capital."""
        name = self.entity.names[language]
        return template.format_map(_Words(name, values or self.values, language))

    def answer(self, language: str) -> str:
        """The reference answer."""
        return self.fill(self.aspect.phrases[language].say, language)


def items(families: Sequence[Family], seed: int) -> Iterator[Item]:
    """Everything that can be asked, in order."""
    for family in families:
        for entity in family.entities:
            values: dict[str, Value] = {}
            for name, spec in family.values.items():
                source = chance(seed, family.kind, entity.entity_id, name)
                values[name] = draw(spec, source, size=entity.size, drive=entity.drive, drawn=values)
            for aspect in family.aspects:
                if entity.entity_id not in aspect.without:
                    yield Item(family, entity, aspect, values)
