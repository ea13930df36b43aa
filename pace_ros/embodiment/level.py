"""Loudness of what is played, hop by hop, told as it is played."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pace_ros.clock import Timer
from pace_ros.embodiment.audio import Audio
from pace_ros.turn import Content

HOP = 0.005  # s
BLOCK = 10  # hops told at once
FULL_SCALE = 32768.0


@dataclass(frozen=True)
class Marker:
    """What starts at hop ``index`` of a level."""

    turn_id: str
    content: Content
    index: int


@dataclass(frozen=True)
class Level:
    """Loudness of some hops; ``rms`` has shape (hops,), 0..1. ``age`` is how long ago the first of them began (s)."""

    age: float
    rms: npt.NDArray[np.float32]
    markers: tuple[Marker, ...] = ()


def levels(audio: Audio, hop: float = HOP) -> npt.NDArray[np.float32]:
    """Root mean square of each hop, 0..1, shape (hops,); the last hop is filled up with silence."""
    size = round(hop * audio.sample_rate)
    count = -(-len(audio.samples) // size)
    padded = np.zeros(count * size, dtype=np.float64)
    padded[: len(audio.samples)] = audio.samples / FULL_SCALE
    rms: npt.NDArray[np.float32] = np.sqrt(np.mean(padded.reshape(count, size) ** 2, axis=1)).astype(np.float32)
    return rms


class Loop(Protocol):
    """The time and the timers of an event loop."""

    def time(self) -> float:
        """Its monotonic time (s)."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call at a time."""
        ...


class Meter:
    """Tells the loudness of one sound, block by block as its hops are over, from ``delay`` s after now, to its end.

    ``stop`` tells what has been played since the last block and then nothing more.
    """

    def __init__(
        self, audio: Audio, turn_id: str, content: Content, publish: Callable[[Level], None], *, delay: float = 0.0,
        loop: Loop | None = None,
    ) -> None:
        self._rms = levels(audio)
        self._turn_id = turn_id
        self._content = content
        self._publish = publish
        self._loop = loop or asyncio.get_running_loop()
        self._begin = self._loop.time() + delay
        self._told = 0
        self._timer: Timer | None = None
        self._schedule()

    def stop(self) -> None:
        """Tell the hops that are over and end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell()

    def _schedule(self) -> None:
        if self._told < len(self._rms):
            due = self._begin + min(self._told + BLOCK, len(self._rms)) * HOP
            self._timer = self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._tell()
        self._schedule()

    def _tell(self) -> None:
        """Publish the hops that are over and not yet told."""
        now = self._loop.time()
        over = min(len(self._rms), int((now - self._begin) / HOP + 1e-6))
        if over <= self._told:
            return
        markers = (Marker(self._turn_id, self._content, 0),) if self._told == 0 else ()
        self._publish(Level(now - self._begin - self._told * HOP, self._rms[self._told : over], markers))
        self._told = over
