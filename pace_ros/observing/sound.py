"""When sound becomes audible, from its level hop by hop."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pace_ros.clock import BACKWARDS
from pace_ros.embodiment.level import Marker
from pace_ros.observing.settings import Sound
from pace_ros.turn import Content

FLOOR_HOPS = 1000  # 5 s at 5 ms: speech pauses more often
FEW_HOPS = 40
FLOOR_PERCENTILE = 10.0
CONFIRMED = 2  # loud hops running: a click is shorter
HYSTERESIS = 0.5  # sound has ended below this share of the threshold
KEPT = 1000  # sentences


@dataclass(frozen=True)
class SoundOnset:
    """First audible hop: ``time`` (s, ROS time), ``level`` (dB). ``mark`` says of what, None where nobody knows."""

    time: float
    level: float
    mark: Marker | None = None


class SoundOnsets:
    """Finds the first audible hop of each turn's filler and answer, or each sound after quiet.

    Audible is what exceeds both a fixed threshold and a multiple of the noise floor, the lowest decile of the last
    hops. Once a stream has shown a marker its onsets come from markers alone. Time without any level counts as quiet.
    """

    def __init__(self, settings: Sound) -> None:
        self._settings = settings
        self._least: float = 10.0 ** (settings.threshold / 20.0)
        self._floor: deque[float] = deque(maxlen=FLOOR_HOPS)
        self._known: deque[tuple[str, Content]] = deque(maxlen=KEPT)
        self._open: Marker | None = None
        self._marked = False
        self._sounded = -math.inf  # when it was last loud
        self._loud: list[tuple[float, float]] = []  # loud hops running: time and rms
        self.latest = -math.inf  # begin of the youngest hop (s, ROS time)

    def sounding_at(self, time: float) -> bool:
        """Whether there was sound at that instant, as far as is known, shortly after it."""
        return self._sounded >= time

    def forget(self) -> None:
        """The clock was set back: forget what sounded when, not how loud the room is."""
        self.latest = self._sounded = -math.inf
        self._open = None
        self._known.clear()
        self._loud.clear()

    def update(self, stamp: float, hop: float, rms: Sequence[float], marks: Sequence[Marker] = ()) -> list[SoundOnset]:
        """Take the levels (0..1) of hops of ``hop`` s from ``stamp`` (s) on; those known already are passed over."""
        if not (math.isfinite(stamp) and hop > 0):
            return []
        if stamp < self.latest - BACKWARDS:
            self.forget()
        self._marked = self._marked or bool(marks)
        threshold = self.threshold()
        onsets = []
        for index, level in enumerate(rms):
            time = stamp + index * hop
            for mark in marks:
                if mark.index == index:
                    self._begin(mark)
            if time <= self.latest + 0.5 * hop or not math.isfinite(level):
                continue
            if time - self.latest > self._settings.quiet:
                self._loud.clear()
            self.latest = time
            self._floor.append(level)
            onset = self._marked_onset(time, level, threshold) if self._marked else self._onset(time, level, threshold)
            if onset is not None:
                onsets.append(onset)
        return onsets

    def threshold(self) -> float:
        """Rms from which a hop is audible now (0..1)."""
        if len(self._floor) < FEW_HOPS:
            return self._least
        return max(self._least, self._settings.noise_factor * float(np.percentile(self._floor, FLOOR_PERCENTILE)))

    def _begin(self, mark: Marker) -> None:
        """A sentence starts; only the first one of a turn's filler and of its answer counts."""
        key = (mark.turn_id, mark.content)
        if key in self._known:
            same = self._open is not None and (self._open.turn_id, self._open.content) == key
            self._open = self._open if same else None
            return
        self._known.append(key)
        self._open = mark

    def _marked_onset(self, time: float, level: float, threshold: float) -> SoundOnset | None:
        if self._open is None or level <= threshold:
            return None
        mark, self._open = self._open, None
        return SoundOnset(time, decibels(level), mark)

    def _onset(self, time: float, level: float, threshold: float) -> SoundOnset | None:
        loud = level > (threshold if not self._loud else HYSTERESIS * threshold)
        if not loud:
            self._loud.clear()
            if level > HYSTERESIS * threshold and time - self._sounded < self._settings.quiet:
                self._sounded = time
            return None
        self._loud.append((time, level))
        begin = self._loud[0][0]
        fresh = begin - self._sounded > self._settings.quiet
        if len(self._loud) < CONFIRMED:
            return None
        self._sounded, self._loud = time, self._loud[-1:]
        return SoundOnset(begin, decibels(level)) if fresh else None


def decibels(rms: float) -> float:
    """A level relative to full scale."""
    return 20.0 * math.log10(max(rms, 1e-9))
