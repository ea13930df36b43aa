"""Steps of one batch that nothing interrupts: each is longer than the last by the tokens it has added."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

SLACK = 1e-12  # of a time: what comes at the very end of a step has not missed it


@dataclass(frozen=True)
class DecodeRun:
    """``steps`` steps; the first takes ``first`` s, each further one ``growth`` s (at least 0) more."""

    first: float
    growth: float
    steps: int

    def step(self, number: int) -> float:
        """What the step of that number takes, from 1."""
        return self.first + self.growth * (number - 1)

    def length(self, steps: int) -> float:
        """What so many steps take."""
        return self.first * steps + self.growth * (steps * (steps - 1) / 2)

    def begun(self, elapsed: float) -> int:
        """How many steps have begun after ``elapsed`` s: the one under way goes on to its end."""
        if elapsed <= 0.0:
            return 0
        return 1 + bisect_left(range(1, self.steps), elapsed - SLACK * max(1.0, elapsed), key=self.length)

    def longer(self, limit: float, since: int) -> int:
        """How many of the steps from number ``since`` on take longer than ``limit``, s."""
        those = range(since, self.steps + 1)
        return len(those) - bisect_right(those, limit, key=self.step)
