"""How many utterances came in lately."""
from __future__ import annotations

from collections import deque


class ArrivalWindow:
    """Arrivals of the last ``span`` s. They are counted, not averaged: there is nothing to drift."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._instants: deque[float] = deque()

    def observe(self, now: float) -> None:
        """An utterance has come in at the monotonic instant ``now`` (s)."""
        self._forget(now)
        self._instants.append(now)

    def rate(self, now: float) -> float:
        """r: arrivals in (now - span, now], divided by span (1/s)."""
        self._forget(now)
        return len(self._instants) / self._span

    def _forget(self, now: float) -> None:
        """Every instant is put in and taken out once: constant time an arrival."""
        while self._instants and self._instants[0] <= now - self._span:
            self._instants.popleft()
