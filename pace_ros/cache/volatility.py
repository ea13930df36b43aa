"""Does the answer to a question age? vol(q) -> {stable, volatile}."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pace_ros.language import language, normal_form


@dataclass(frozen=True)
class Verdict:
    """The class of a question, with the reason for it."""

    volatile: bool
    reason: str


class VolatilityClassifier(Protocol):
    """The narrow interface behind which a classifier may be exchanged."""

    def classify(self, question: str, locale: str) -> Verdict:
        """Say whether the answer to ``question`` is time-sensitive."""
        ...


class LexiconError(ValueError):
    """A lexicon line that is no pattern; the message names file and line."""


class Lexicon:
    """One pattern a line, matched anywhere in the normalised question; tuned for recall on *volatile*."""

    def __init__(self, patterns: Mapping[str, Sequence[re.Pattern[str]]]) -> None:
        self._patterns = dict(patterns)

    @classmethod
    def read(cls, folder: Path) -> Lexicon:
        """Read ``volatile.<language>.txt`` files. Raises LexiconError naming the line, or if there is no file."""
        patterns: dict[str, list[re.Pattern[str]]] = {}
        for path in sorted(folder.glob('volatile.*.txt')):
            try:
                lines = path.read_text(encoding='utf-8-sig').splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise LexiconError(f'{path} cannot be read: {error}.') from error
            patterns[path.name.split('.')[1]] = [
                _compiled(path, number, line)
                for number, line in enumerate(lines, start=1)
                if line.strip() and not line.startswith('#')
            ]
        if not patterns:
            raise LexiconError(f'There is no volatile.<language>.txt in {folder}.')
        return cls(patterns)

    def classify(self, question: str, locale: str) -> Verdict:
        """Volatile iff a pattern of the question's language matches; without patterns for it, any language's."""
        text = normal_form(question)
        mine = self._patterns.get(language(locale))
        everyones = [pattern for patterns in self._patterns.values() for pattern in patterns]
        for pattern in mine if mine is not None else everyones:
            if pattern.search(text):
                return Verdict(True, f'lexicon: {pattern.pattern}')
        return Verdict(False, 'no pattern')


def _compiled(path: Path, number: int, line: str) -> re.Pattern[str]:
    try:
        return re.compile(line.strip())
    except re.error as error:
        raise LexiconError(f'{path}, line {number}: {line.strip()!r} is no pattern: {error}.') from error
