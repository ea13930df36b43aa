"""Monotonic time for durations and wall stamps for records; real and virtual."""
from __future__ import annotations

import math
import time
from typing import Protocol

BACKWARDS = 1.0  # s; ROS time that goes back further has been set back, a smaller step is a correction


class Clock(Protocol):
    """Where time comes from. Durations only ever come from ``monotonic``."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps; its zero means nothing."""
        ...

    def wall(self) -> float:
        """Seconds since the Unix epoch; may jump."""
        ...


class Stamp(Protocol):
    """A time in a message, of ROS or of a bag."""

    sec: int
    nanosec: int


class Timer(Protocol):
    """A call that is due."""

    def cancel(self) -> None:
        """Do not call."""
        ...


def seconds(stamp: Stamp) -> float:
    """A stamp in s."""
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        """Seconds on the steady clock."""
        return time.perf_counter()

    def wall(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()


class VirtualClock:
    """A clock that moves only when told to; ``jump_wall`` moves the wall alone, as NTP does."""

    def __init__(self, *, monotonic: float = 0.0, wall: float = 1_800_000_000.0) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        """Seconds advanced so far, plus the start value."""
        return self._monotonic

    def wall(self) -> float:
        """Virtual seconds since the Unix epoch."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Move both clocks forward. Raises ValueError for a negative step."""
        if seconds < 0:
            raise ValueError(f'time does not run backwards: {seconds}')
        self._monotonic += seconds
        self._wall += seconds

    def jump_wall(self, seconds: float) -> None:
        """Move the wall clock alone, in either direction."""
        self._wall += seconds


class Forward:
    """ROS time (s) that never goes back: it stands still for a small step back, and begins anew after a large one."""

    def __init__(self) -> None:
        self.now = -math.inf

    def goes_on(self, now: float) -> bool:
        """Take a reading; False if the clock was set back."""
        set_back = now < self.now - BACKWARDS
        self.now = now if set_back else max(self.now, now)
        return not set_back
