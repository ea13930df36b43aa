"""Whether an answer only says that it does not know."""
from __future__ import annotations

from pathlib import Path

from pace_ros.cache.patterns import PatternLists


class Unknowing:
    """Pattern files ``unknowing.<language>.txt``."""

    def __init__(self, patterns: PatternLists) -> None:
        self._patterns = patterns

    @classmethod
    def read(cls, folder: Path) -> Unknowing:
        """Read the pattern files in ``folder``. Raises PatternError naming the line, or if a file is missing."""
        return cls(PatternLists.read(folder, 'unknowing'))

    def admits(self, answer: str, locale: str) -> str:
        """Which line says that an answer knows nothing, empty if it does not."""
        line = self._patterns.find(answer, locale)
        return '' if line is None else f'line {line.number}'
