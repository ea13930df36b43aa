"""P(inst): how likely the next turn takes an instant path."""
from __future__ import annotations

from collections import deque


class InstantShare:
    """Share of instant paths (L0, L1) among the last ``places`` decisions; an empty place counts ``prior``."""

    def __init__(self, places: int, prior: float) -> None:
        self._decisions: deque[bool] = deque(maxlen=places)
        self._places = places
        self._prior = prior
        self._instant = 0

    def observe(self, *, instant: bool) -> None:
        """A turn was decided for an instant path, or not."""
        if len(self._decisions) == self._places:
            self._instant -= self._decisions[0]
        self._decisions.append(instant)
        self._instant += instant

    @property
    def value(self) -> float:
        """P(inst), between 0 and 1."""
        empty = self._places - len(self._decisions)
        return (self._instant + self._prior * empty) / self._places
