"""How long answers are predicted to be, with an injected share of errors."""
from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from pace_ros.serving.placement import Turn

USUAL = 64.0  # tokens of an answer, until any has been seen
RECENT = 0.3  # weight of the last answer in its conversation's mean
RECENT_OF_ALL = 0.03  # the same in the mean of all
KEPT = 100_000  # conversations remembered; a refused one may never be told to be over
TWICE = 2.0  # an answer within this factor of the mean is neither long nor short
FAR = 4.0  # then an error is off by this


@dataclass
class _Known:
    """Of a conversation: the mean of its answers, the turn predicted last, and where that is answered, if it is."""

    mean: float | None = None
    turn: int | None = None
    length: float = 0.0
    at: str | None = None


class AnswerLengths:
    """By conversation. One turn is predicted once, however often it is asked about."""

    def __init__(self, error: float, chance: random.Random, oracle: Callable[[Turn], float] | None) -> None:
        self._error = error
        self._chance = chance
        self._oracle = oracle
        self._mean = USUAL
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._count: Counter[str] = Counter()  # answers under way, and their lengths together, by replica
        self._under_way: defaultdict[str, float] = defaultdict(float)

    def predict(self, turn: Turn) -> float:
        """Tokens that it will be answered with; never more than it may be."""
        known = self._of(turn.conversation)
        if known.turn != turn.number:
            self._left(known)
            known.turn, known.length = turn.number, min(float(turn.answer), max(1.0, self._guess(turn, known)))
        return known.length

    def placed(self, turn: Turn, replica: str) -> None:
        """It is answered there."""
        known = self._of(turn.conversation)
        self._left(known)
        known.at = replica
        self._under_way[replica] += known.length
        self._count[replica] += 1

    def left(self, turn: Turn) -> None:
        """It is not answered any more."""
        if (known := self._known.get(turn.conversation)) is not None:
            self._left(known)

    def under_way(self, replica: str, *, besides: str) -> float:
        """What an answer under way there is predicted to have, in the mean; that of all where none is known."""
        count, total = self._count[replica], self._under_way[replica]
        known = self._known.get(besides)
        if known is not None and known.at == replica:
            count, total = count - 1, total - known.length
        return max(0.0, total) / count if count else self._mean

    def learn(self, turn: Turn, answered: int) -> None:
        """A turn has ended after so many tokens."""
        known = self._of(turn.conversation)
        self._left(known)
        known.turn = None
        before = self._mean if known.mean is None else known.mean
        known.mean = before + RECENT * (answered - before)
        self._mean += RECENT_OF_ALL * (answered - self._mean)

    def forget(self, conversation: str) -> None:
        """A conversation has ended."""
        known = self._known.pop(conversation, None)
        if known is not None:
            self._left(known)

    def _of(self, conversation: str) -> _Known:
        known = self._known.setdefault(conversation, _Known())
        self._known.move_to_end(conversation)
        if len(self._known) > KEPT:
            self.forget(next(iter(self._known)))
        return known

    def _left(self, known: _Known) -> None:
        if known.at is not None:
            self._count[known.at] -= 1
            self._under_way[known.at] = self._under_way[known.at] - known.length if self._count[known.at] else 0.0
            known.at = None

    def _guess(self, turn: Turn, known: _Known) -> float:
        expected = self._mean if known.mean is None else known.mean
        if self._oracle is not None:
            expected = self._oracle(turn)
        if self._chance.random() >= self._error:
            return expected
        if max(expected, 1.0) / TWICE <= self._mean <= max(expected, 1.0) * TWICE:
            return expected * FAR if self._chance.random() < 0.5 else expected / FAR
        return self._mean**2 / max(expected, 1.0)
