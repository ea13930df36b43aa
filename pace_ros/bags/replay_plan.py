"""When each input of a recording is given again: what had ended then has ended now, what was running then runs now.

Inputs go in lanes, one a conversation. In a lane, an input that came while a turn of it was running keeps its distance
to what came before, since the robot's own durations do not scale. Any other comes after its distance divided by the
rate, and not before all turns, of every conversation, have ended that had ended then. So no rate creates an
interruption, none loses one, and no visitor competes with another who had gone.
"""
from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pace_ros.bags.exchanges import Exchange, Input, named

LONGEST_SINCE_SPEECH = 30.0  # s; a stamp further away is of another clock


@dataclass(frozen=True)
class Step:
    """One input to give: ``gap`` s after the one before it in its lane, and after the turns of ``waits`` have ended.

    The first of a lane comes ``gap`` s after the start. ``waits`` are numbers of utterances.
    """

    said: Input
    lane: str
    gap: float
    waits: tuple[int, ...] = ()


def planned(inputs: Sequence[Input], order: Sequence[Exchange], rate: float) -> list[Step]:
    """The steps of a replay in recorded order; ``rate`` may be infinite. Raises ValueError for a rate not above 0."""
    _check(rate)
    past = _Past(order)
    start = inputs[0].time if inputs else 0.0
    before: dict[str, float] = {}
    steps = []
    for said in inputs:
        past.advance(said)
        lane = past.lane_of(said)
        distance = said.time - before.get(lane, start)
        before[lane] = said.time
        interrupts = past.runs(lane)
        waits = past.awaited(lane, everyone=not interrupts)
        steps.append(Step(said, lane, distance if interrupts else distance / rate, waits))
    return steps


class _Past:
    """Which turns run and which have ended at the inputs of a recording, taken in order."""

    def __init__(self, order: Sequence[Exchange]) -> None:
        self._order = order
        self._times = [each.said.time for each in order]
        self._by_end = sorted((each for each in order if each.ended is not None), key=lambda each: each.ended or 0.0)
        self._begun = 0
        self._ended: list[Exchange] = []
        self._running: list[Exchange] = []
        self._seen: dict[tuple[str, bool], int] = defaultdict(int)
        self._waited: dict[str, set[int]] = defaultdict(set)

    def advance(self, said: Input) -> None:
        """Move on to an input; what ended at its very instant has ended, what begins with it does not run yet."""
        while self._begun < len(self._order) and self._order[self._begun].said.number < said.number:
            self._running.append(self._order[self._begun])
            self._begun += 1
        while len(self._ended) < len(self._by_end) and (self._by_end[len(self._ended)].ended or 0.0) <= said.time:
            self._ended.append(self._by_end[len(self._ended)])
        self._running = [each for each in self._running if each.ended is not None and each.ended > said.time]

    def lane_of(self, said: Input) -> str:
        """The conversation of an input: its own, that of the turn it came into, of the next utterance, or the last."""
        if said.conversation is not None:
            return named(said.conversation)
        if self._running:
            return _lane(self._running[-1])
        place = min(bisect.bisect_left(self._times, said.time), len(self._order) - 1)
        return _lane(self._order[place]) if self._order else named('')

    def runs(self, lane: str) -> bool:
        """Whether a turn of this lane is running."""
        return any(_lane(each) == lane for each in self._running)

    def awaited(self, lane: str, *, everyone: bool) -> tuple[int, ...]:
        """The turns that have ended and that no earlier step of the lane waits for: of the lane, or of everyone."""
        new = self._ended[self._seen[lane, everyone]:]
        self._seen[lane, everyone] = len(self._ended)
        numbers = [each.said.number for each in new if everyone or _lane(each) == lane]
        waits = tuple(number for number in numbers if number not in self._waited[lane])
        self._waited[lane].update(waits)
        return waits


def _lane(exchange: Exchange) -> str:
    return named(exchange.said.conversation or '')


def _check(rate: float) -> None:
    if not rate > 0:
        raise ValueError(f'a rate is above 0: {rate}')


def spaced(inputs: Sequence[Input], rate: float) -> list[Step]:
    """The steps of a replay that waits for nobody: all topics again, spacing divided by the rate."""
    _check(rate)
    steps, before = [], inputs[0].time if inputs else 0.0
    for said in inputs:
        steps.append(Step(said, '', (said.time - before) / rate))
        before = said.time
    return steps


def since_speech(received: float, stamp: float) -> float:
    """How long before its receipt an utterance had ended (s), NaN where its stamp does not say so."""
    distance = received - stamp
    return distance if stamp and abs(distance) <= LONGEST_SINCE_SPEECH else math.nan
