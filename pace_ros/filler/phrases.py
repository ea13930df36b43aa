"""The social phrases a filler may be made of, and the canned placeholders, by language."""
from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from pace_ros.filler.safety import rejection
from pace_ros.language import language
from pace_ros.wording import read_by_language


class PhraseError(ValueError):
    """A phrase file that cannot be used; the message names file and field."""


@dataclass(frozen=True)
class Phrases:
    """``pieces`` are alternatives in order of speaking: one of each, joined, is a filler."""

    pieces: tuple[tuple[str, ...], ...]
    placeholders: tuple[str, ...]
    instruction: str

    def options(self, avoid: str) -> list[str]:
        """Every filler but those that open as ``avoid`` does, so that no two alike follow each other."""
        openings = [piece for piece in self.pieces[0] if not (avoid and avoid.startswith(piece))] or self.pieces[0]
        return [''.join(choice) for choice in itertools.product(openings, *self.pieces[1:])]


class PhraseBook:
    """Phrases by language; a language without any falls back on English."""

    def __init__(self, phrases: Mapping[str, Phrases]) -> None:
        self._phrases = dict(phrases)

    @classmethod
    def read(cls, path: Path, max_chars: int) -> PhraseBook:
        """Read and check every phrase against the safety filter. Raises PhraseError naming file and field."""
        content = read_by_language(path, 'phrases', PhraseError)
        return cls({key: _phrases(fields, f'{path}, field {key}', max_chars) for key, fields in content.items()})

    def of(self, locale: str) -> Phrases:
        """The phrases of a locale's language."""
        return self._phrases.get(language(locale), self._phrases['en'])

    def languages(self) -> list[str]:
        """The languages that have phrases."""
        return list(self._phrases)


def _phrases(fields: object, where: str, max_chars: int) -> Phrases:
    if not isinstance(fields, dict):
        raise PhraseError(f'{where}: must be a mapping.')
    pieces, placeholders, instruction = (fields.get(name) for name in ('pieces', 'placeholders', 'instruction'))
    if not isinstance(pieces, list) or not pieces or not all(_texts(group) for group in pieces):
        raise PhraseError(f'{where}.pieces: must be a list of lists of text.')
    if not _texts(placeholders) or len(set(placeholders or ())) < 2:
        raise PhraseError(f'{where}.placeholders: must be at least two different texts, so that none repeats.')
    if not isinstance(instruction, str):
        raise PhraseError(f'{where}.instruction: must be text.')
    for text in [*placeholders, *(''.join(choice) for choice in itertools.product(*pieces))]:
        reason = rejection(text, max_chars)
        if reason:
            raise PhraseError(f'{where}: {text!r} is not a safe filler: {reason}.')
    return Phrases(tuple(tuple(group) for group in pieces), tuple(placeholders), instruction.strip())


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) and item for item in value)
