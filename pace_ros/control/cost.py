"""The cost ceiling C0: what is spent beyond necessity stops where the mean cost of a turn would exceed it."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from pace_ros.config import Cost


@dataclass
class Spent:
    """Cloud tokens (in and out) and filler generations."""

    tokens: int = 0
    fillers: int = 0


class CostLedger:
    """Costs of the last ``cost.window`` turns. Necessary costs are booked, optional ones ask first. Thread-safe."""

    def __init__(self, settings: Callable[[], Cost]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._turns: deque[Spent] = deque()
        self._now = Spent()  # since the last turn's end
        self._sum = Spent()

    def spend(self, *, tokens: int = 0, fillers: int = 0) -> None:
        """Book a cost; a negative one takes an estimate back that was too high."""
        with self._lock:
            self._book(tokens, fillers)

    def may_spend(self, *, tokens: int = 0, fillers: int = 0) -> bool:
        """Whether this optional cost keeps the mean of a turn at or below the ceiling (0: there is none)."""
        with self._lock:
            return self._fits(tokens, fillers)

    def try_spend(self, *, tokens: int = 0, fillers: int = 0) -> bool:
        """Book an optional cost if it fits under the ceiling; says whether it did."""
        with self._lock:
            fits = self._fits(tokens, fillers)
            if fits:
                self._book(tokens, fillers)
            return fits

    def end_turn(self) -> None:
        """A turn is over; its cost moves into the window and the oldest turn leaves it."""
        with self._lock:
            self._turns.append(self._now)
            self._now = Spent()
            while len(self._turns) > self._settings().window:
                gone = self._turns.popleft()
                self._sum.tokens -= gone.tokens
                self._sum.fillers -= gone.fillers

    def per_turn(self) -> tuple[float, float]:
        """Mean tokens and filler generations of a turn in the window."""
        with self._lock:
            turns = max(1, len(self._turns))
            return self._sum.tokens / turns, self._sum.fillers / turns

    def _book(self, tokens: int, fillers: int) -> None:
        for spent in (self._now, self._sum):
            spent.tokens += tokens
            spent.fillers += fillers

    def _fits(self, tokens: int, fillers: int) -> bool:
        settings, turns = self._settings(), max(1, len(self._turns))
        within = not settings.tokens or (self._sum.tokens + tokens) / turns <= settings.tokens
        return within and (not settings.fillers or (self._sum.fillers + fillers) / turns <= settings.fillers)
