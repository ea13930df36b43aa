"""A replay under way: which inputs are due now, and which turns are still awaited."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from pace_ros.bags.exchanges import named
from pace_ros.bags.replay_plan import Step

PATIENCE = 60.0  # s that a turn may take longer than its successor's time


class Schedule:
    """Walks through the steps of a plan; every time is monotonic (s).

    ``overdue`` are the numbers of utterances whose turns did not end within ``patience``; ``turns`` says which turn an
    utterance led to.
    """

    def __init__(self, steps: Sequence[Step], *, start: float, patience: float = PATIENCE) -> None:
        self._lanes: dict[str, deque[Step]] = {}
        for step in steps:
            self._lanes.setdefault(step.lane, deque()).append(step)
        self._due = {lane: start + waiting[0].gap for lane, waiting in self._lanes.items()}
        self._patience = patience
        self._awaited: dict[int, tuple[str, str, float]] = {}
        self._ended: dict[int, float] = {}
        self.overdue: list[int] = []
        self.turns: dict[int, str] = {}

    def due(self, now: float) -> list[Step]:
        """The steps to take now, in recorded order; they count as taken."""
        ready: list[Step] = []
        while heads := [lane for lane, waiting in self._lanes.items() if waiting and self._time(lane) <= now]:
            lane = min(heads, key=lambda each: self._lanes[each][0].said.number)
            step, sent = self._lanes[lane][0], self._time(lane)
            self._lanes[lane].popleft()
            self.overdue += [number for number in step.waits if number not in self._ended]
            self._ended.update({number: sent for number in step.waits if number not in self._ended})
            if step.said.final:
                self._awaited[step.said.number] = named(step.said.conversation or ''), step.said.utterance_id, sent
            if self._lanes[lane]:
                self._due[lane] = sent + self._lanes[lane][0].gap
            ready.append(step)
        return ready

    def ended(self, conversation: str, utterance_id: str, turn_id: str, now: float) -> bool:
        """A turn has ended; says whether it was one of this replay."""
        for number, (name, said, _sent) in self._awaited.items():
            if (name, said) == (named(conversation), utterance_id):
                del self._awaited[number]
                self._ended[number] = now
                self.turns[number] = turn_id
                return True
        return False

    def next_time(self) -> float | None:
        """When something may be due next, if nothing ends before; None if nothing is left to give."""
        times = [self._time(lane) for lane, waiting in self._lanes.items() if waiting]
        return min(times, default=None)

    def unanswered(self, now: float) -> list[int]:
        """Utterances whose turns have not ended, unless that is given up by now."""
        return [number for number, (_, _, sent) in self._awaited.items() if now < sent + self._patience]

    @property
    def given(self) -> bool:
        """Whether everything has been given."""
        return not any(self._lanes.values())

    @property
    def missing(self) -> list[int]:
        """Utterances given whose turns have not ended."""
        return list(self._awaited)

    def _time(self, lane: str) -> float:
        """When the next step of a lane may be taken, as far as is known: its waits are given up after a while."""
        due = self._due[lane]
        ends = (self._ended.get(number, math.inf) for number in self._lanes[lane][0].waits)
        return max(due, *(min(end, due + self._patience) for end in ends), due)
