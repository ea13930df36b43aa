"""What a replica has to do for a turn: read its prompt, give its tokens; or move a cache."""
from __future__ import annotations

import math
from dataclasses import dataclass, field

import simpy


@dataclass(eq=False)
class Job:
    """A ``prompt`` of so many tokens, ``cached`` of them there already, and ``answer`` tokens to give, of which one
    comes with the last of the prompt; in the ``slot`` of that number. ``hidden`` tokens of the answer are not for the
    user. ``begun`` happens with the first token, ``ended`` with the last.
    """

    prompt: int
    cached: int
    answer: int
    begun: simpy.Event
    ended: simpy.Event
    hidden: int = 0
    stall: float = math.inf  # s: a longer gap between two tokens is a stall
    slot: int = 0
    done: int = field(init=False)  # prompt tokens in the cache
    given: int = 0  # tokens of the answer
    first: float = math.nan  # s, of the simulation, as the next two
    visible: float = math.nan
    last: float = math.nan
    gaps: float = 0.0  # s, all gaps together
    longest: float = 0.0  # s
    stalls: int = 0
    energy: float = 0.0  # J
    reading: float = 0.0  # s that its prompt was being read

    def __post_init__(self) -> None:
        self.done = self.cached

    @property
    def left(self) -> int:
        """Tokens of the prompt still to read."""
        return self.prompt - self.done

    @property
    def context(self) -> int:
        """What the next step attends to."""
        return self.prompt + self.given

    def give(self, now: float) -> None:
        """One token."""
        if self.given:
            self.gap(now - self.last)
        else:
            self.first = now
        if self.given == self.hidden:
            self.visible = now
        self.given += 1
        self.last = now

    def gap(self, seconds: float) -> None:
        """Between two tokens."""
        self.gaps += seconds
        self.longest = max(self.longest, seconds)
        self.stalls += seconds > self.stall


@dataclass(eq=False)
class Move:
    """Saving or restoring a cache for ``job``: the replica does nothing else for so many ``seconds``."""

    seconds: float
    job: Job
    ended: simpy.Event
