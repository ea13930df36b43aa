"""Cuts time into the gate's windows."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_ABSENCE = 1000  # windows closed one by one after a gap; beyond it the machine was asleep


@dataclass(frozen=True)
class Close:
    """A window that has ended at the monotonic ``instant`` (s)."""

    instant: float
    count: int
    span: float


class WindowCutter:
    """Ends a window every ``span`` s, whether or not anyone arrives, or after ``requests`` arrivals if that is not 0.

    Boundaries are multiples of ``span`` from the start, so that they do not drift; whoever looks first after one closes
    the window as of its boundary.
    """

    def __init__(self, span: float, requests: int, now: float) -> None:
        self._span = span
        self._requests = requests
        self._start = now
        self._closed = 0
        self._count = 0

    def due(self, now: float) -> Iterator[Close]:
        """The windows that have ended by ``now`` and were not closed yet."""
        if self._requests:
            return
        ended = int((now - self._start) // self._span)
        self._closed = max(self._closed, ended - LONGEST_ABSENCE)
        while self._closed < ended:
            self._closed += 1
            count, self._count = self._count, 0
            yield Close(self._start + self._closed * self._span, count, self._span)

    def arrival(self, now: float) -> Iterator[Close]:
        """Count an arrival; it may complete a window of so many requests."""
        self._count += 1
        if self._requests and self._count >= self._requests:
            span, self._start, self._count = max(now - self._start, 1e-9), now, 0
            yield Close(now, self._requests, span)
