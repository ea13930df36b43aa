"""Synthetic conversations of two phases: a long first prompt, then appends of one mean length."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pace_ros.serving.simulator.script import Script, TurnScript


@dataclass(frozen=True)
class TwoPhase:
    """Means, in tokens and s; each draw is lognormal of this ``spread`` (sigma of its logarithm), 0: always the mean.
    Turns are geometric of mean ``turns`` where they spread, and then no more than ten times that.
    """

    first: float = 8000.0
    append: float = 200.0
    answer: float = 150.0
    turns: float = 5.0
    think: float = 5.0
    spread: float = 0.5

    def scripts(self, count: int, *, seed: int, longest: int | None = None) -> list[Script]:
        """So many conversations; one ends before it would hold more than ``longest`` tokens."""
        chance = np.random.default_rng(seed)
        return [self._script(chance, number, longest) for number in range(1, count + 1)]

    def _script(self, chance: np.random.Generator, number: int, longest: int | None) -> Script:
        count = round(self.turns)
        if self.spread > 0.0:
            count = int(min(chance.geometric(1.0 / max(1.0, self.turns)), 10 * self.turns))
        turns: list[TurnScript] = []
        held = 0
        for turn in range(max(1, count)):
            new = self._tokens(chance, self.append if turn else self.first)
            answer = self._tokens(chance, self.answer)
            think = self._draw(chance, self.think) if turn else 0.0
            if longest is not None and held + new + answer > longest:
                if turn:
                    break
                answer = max(1, min(answer, longest // 2))
                new = max(1, longest - answer)
            turns.append(TurnScript(held + new, answer, shared=held, think=think))
            held += new + answer
        return Script(f'two-phase-{number}', tuple(turns))

    def _tokens(self, chance: np.random.Generator, mean: float) -> int:
        return max(1, round(self._draw(chance, mean)))

    def _draw(self, chance: np.random.Generator, mean: float) -> float:
        if self.spread == 0.0 or mean == 0.0:
            return mean
        return float(mean * np.exp(chance.normal(-self.spread**2 / 2, self.spread)))
