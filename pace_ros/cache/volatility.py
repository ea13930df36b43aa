"""Does the answer to a question age? vol(q) -> {stable, volatile}."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pace_ros.cache.patterns import PatternError, PatternLists
from pace_ros.embedding import Vector

LexiconError = PatternError
STABLE_SECTION = 'stable'
OTHER = 'other'  # the class of a line that stands in no section


@dataclass(frozen=True)
class Verdict:
    """Volatile or stable, with the reason; ``category`` is the class of volatility, empty if stable."""

    volatile: bool
    reason: str
    category: str = ''


class VolatilityClassifier(Protocol):
    """The narrow interface behind which a classifier may be exchanged."""

    @property
    def needs_vector(self) -> bool:
        """Whether it judges by the question's sentence vector."""
        ...

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        """Say whether the answer to ``question`` is time-sensitive."""
        ...


class Lexicon:
    """Pattern files tuned for recall on *volatile*; the first line that matches decides, its section is the class.

    A line in the section ``[stable]`` calls a question stable that would match a later line.
    """

    needs_vector = False

    def __init__(self, patterns: PatternLists) -> None:
        self._patterns = patterns

    @classmethod
    def read(cls, folder: Path) -> Lexicon:
        """Read ``volatile.<language>.txt`` files. Raises LexiconError naming the line, or if there is no file."""
        return cls(PatternLists.read(folder, 'volatile'))

    @property
    def categories(self) -> set[str]:
        """The classes of volatility it knows."""
        return {section or OTHER for section in self._patterns.sections} - {STABLE_SECTION}

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        """Volatile by the first line of the question's language that matches; without a list for it, of any."""
        line = self._patterns.find(question, locale)
        if line is None:
            return Verdict(False, 'no line of the lexicon')
        reason = f'lexicon line {line.number}: {line.pattern}'
        if line.section == STABLE_SECTION:
            return Verdict(False, reason)
        return Verdict(True, reason, line.section or OTHER)


class EitherClassifier:
    """Volatile if one of two classifiers says so, the first one asked first; the reason is that one's."""

    def __init__(self, first: VolatilityClassifier, second: VolatilityClassifier) -> None:
        self._first = first
        self._second = second

    @property
    def needs_vector(self) -> bool:
        """Whether one of the two does."""
        return self._first.needs_vector or self._second.needs_vector

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        """Volatile by the first that says so; stable with the first's reason."""
        first = self._first.classify(question, locale, vector)
        if first.volatile:
            return first
        second = self._second.classify(question, locale, vector)
        return second if second.volatile else first
