"""The sources of CarQA: things of the showroom, what holds of them, and how people ask for it in two languages."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pace_ros.study.carqa.values import Spec
from pace_ros.study.refusal import Refusal

LANGUAGES = ('zh', 'en')
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_FAMILY_FIELDS = {'kind', 'named', 'entities', 'parts', 'values', 'aspects'}


class TemplateError(Refusal):
    """A file of templates that cannot be used; the message names file and field."""


@dataclass(frozen=True)
class Phrases:
    """How one language speaks of an aspect: ``{x}`` is the thing's name, other fields are its values.

    ``plain`` are direct questions (the seed is one of them), ``turned`` the same asked in another sentence structure,
    ``short`` without a verb. ``say`` is the reference answer, ``fact`` the brochure's clause.
    """

    plain: tuple[str, ...]
    turned: tuple[str, ...]
    short: tuple[str, ...]
    say: str
    fact: str


@dataclass(frozen=True)
class Aspect:
    """Something one can ask of a thing. ``ages`` names the value that changes with time, empty if none does."""

    aspect_id: str
    part: str
    topic: str
    ages: str
    phrases: Mapping[str, Phrases]
    without: frozenset[str]


@dataclass(frozen=True)
class Entity:
    """A thing of the catalogue; ``names`` by language, ``size`` in [0, 1] and ``drive`` steer its values."""

    entity_id: str
    names: Mapping[str, str]
    size: float
    drive: str


@dataclass(frozen=True)
class Family:
    """Things of one kind with all that can be asked of them. Those of a ``named`` kind are product names."""

    kind: str
    named: bool
    entities: tuple[Entity, ...]
    parts: Mapping[str, Mapping[str, str]]
    values: Mapping[str, Spec]
    aspects: tuple[Aspect, ...]


def read_templates(folder: Path) -> list[Family]:
    """All families, in order of file name. Raises TemplateError."""
    files = sorted(folder.glob('*.yaml'))
    if not files:
        raise TemplateError(f'There are no templates in {folder}.')
    return [_read(file) for file in files]


def _read(file: Path) -> Family:
    try:
        content = yaml.load(file.read_text(encoding='utf-8'), Loader=_LOADER)  # noqa: S506  a safe one, in C if there
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TemplateError(f'{file} cannot be read: {error}.') from error
    if not isinstance(content, dict) or not set(content) <= _FAMILY_FIELDS:
        raise TemplateError(f'{file}: must have the fields {", ".join(sorted(_FAMILY_FIELDS))}.')
    try:
        return Family(
            content['kind'],
            bool(content.get('named', False)),
            tuple(_entity(key, each) for key, each in content['entities'].items()),
            content['parts'],
            content.get('values', {}),
            tuple(_aspect(each, content) for each in content['aspects']),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise TemplateError(f'{file}: {error} is missing or of the wrong kind.') from error


def _entity(key: str, fields: Mapping[str, Any]) -> Entity:
    names = {language: str(fields[language]) for language in LANGUAGES}
    return Entity(key, names, float(fields.get('size', 0.5)), str(fields.get('drive', '')))


def _aspect(fields: Mapping[str, Any], family: Mapping[str, Any]) -> Aspect:
    name, part, ages = fields['id'], fields['part'], fields.get('ages', '')
    if part not in family['parts']:
        raise KeyError(f'{name}.part: {part}')
    if ages and ages not in family.get('values', {}):
        raise KeyError(f'{name}.ages: {ages}')
    phrases = {language: _phrases(fields[language]) for language in LANGUAGES}
    return Aspect(name, part, fields['topic'], ages, phrases, frozenset(fields.get('without', ())))


def _phrases(fields: Mapping[str, Any]) -> Phrases:
    plain, turned, short = (tuple(fields[name]) for name in ('plain', 'turned', 'short'))
    return Phrases(plain, turned, short, fields['say'], fields['fact'])
