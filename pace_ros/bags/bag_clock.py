"""The time of a recording while it is replayed, as published on /clock."""
from __future__ import annotations

import math


class BagClock:
    """Runs from the recording's begin at the replay's rate (1 if infinite), never behind what was given last."""

    def __init__(self, begin: float, rate: float, *, start: float) -> None:
        """``begin`` is recorded time, ``start`` monotonic (s)."""
        self._rate = 1.0 if math.isinf(rate) else rate
        self._base, self._since = begin, start

    def now(self, monotonic: float) -> float:
        """Recorded time (s)."""
        return self._base + (monotonic - self._since) * self._rate

    def give(self, recorded: float, monotonic: float) -> None:
        """A message of this recorded time is given now: time jumps forward to it if it is behind."""
        self._base, self._since = max(recorded, self.now(monotonic)), monotonic
