"""A loudspeaker that plays in silence with true timing, and says how loud it would have been when."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pace_ros.embodiment.level import FULL_SCALE, HOP, Level, Marker
from pace_ros.simulation.truth import Command, NotUnderstood, Shown
from pace_ros.turn import Content, Modality

TOGETHER = 0.002  # s: chunks due this close to the end of the one before are one sound
HORIZON = 2.0  # s: a chunk due later than this carries another clock's stamp
BACKLOG = 30.0  # s of sound that may wait
LONGEST = 1.0  # s told at once: after a longer gap, as when a clock begins to be published, what was before is left out
Samples = npt.NDArray[np.int16]


@dataclass
class _Sound:
    """Samples (0..1 of full scale) heard from ``start`` (s) on."""

    start: float
    samples: npt.NDArray[np.float32]
    rate: int

    def index(self, time: float) -> int:
        """The first sample at or after an instant, within the sound."""
        return min(len(self.samples), max(0, math.ceil((time - self.start) * self.rate - 1e-6)))

    @property
    def end(self) -> float:
        """When its last sample has been heard."""
        return self.start + len(self.samples) / self.rate


@dataclass
class _Sentence:
    turn_id: str
    content: Content
    stamp: float
    start: float
    audible: float = math.nan
    reported: bool = False
    complete: bool = False


class Loudspeaker:
    """Plays chunks one after the other. Instants are s on one clock that the caller owns.

    A chunk is handed over when it is due, after the one before it, and not before it is there; it is heard ``latency``
    later. What has been handed over when all is flushed is still heard.
    """

    def __init__(self, time: float, *, latency: float, audible: float) -> None:
        self.late = 0
        self._origin = time  # of the grid of hops
        self._hop = 0
        self._latency = latency
        self._audible = audible
        self._end = -math.inf  # of what is queued, on the clock of handing over
        self._sounds: list[_Sound] = []
        self._sentences: list[_Sentence] = []
        self._unmarked: list[_Sentence] = []

    @property
    def playing(self) -> bool:
        """Whether anything is still to be heard."""
        return bool(self._sounds)

    def play(self, at: float, due: float, samples: Samples, rate: int, *, turn_id: str, content: Content,
             start: bool) -> None:
        """Queue a chunk that has come ``at`` this instant. Raises NotUnderstood for one it cannot play."""
        if rate <= 0:
            raise NotUnderstood(f'A chunk of sound has a sample rate of {rate}; it must be above 0.')
        if self._end - at > BACKLOG:
            raise NotUnderstood(f'More than {BACKLOG:.0f} s of sound are waiting; chunks must come in real time.')
        begin = self._place(at, due)
        loud = samples.astype(np.float32) / FULL_SCALE
        if start or not self._sentences or self._sentences[-1].turn_id != turn_id:
            for each in self._sentences:
                each.complete = True
            self._sentences.append(_Sentence(turn_id, content, due, begin + self._latency))
            self._unmarked.append(self._sentences[-1])
        if not len(loud):
            return
        sound = _Sound(begin + self._latency, loud, rate)
        self._sounds.append(sound)
        self._end = begin + len(loud) / rate
        sentence = self._sentences[-1]
        above = np.flatnonzero(np.abs(loud) >= self._audible)
        if math.isnan(sentence.audible) and len(above):
            sentence.audible = sound.start + int(above[0]) / rate

    def flush(self, at: float) -> None:
        """Drop everything not yet handed over at this instant."""
        silent = at + self._latency
        for sound in self._sounds:
            sound.samples = sound.samples[: sound.index(silent)]
        self._sounds = [sound for sound in self._sounds if len(sound.samples)]
        self._unmarked = [each for each in self._unmarked if each.start < silent]
        self._end = min(self._end, at)
        for each in self._sentences:
            each.complete = True
            if each.audible >= silent:
                each.audible = math.nan

    def levels(self, now: float) -> Level | None:
        """The hops that have ended since the last call; None if none has. Silence is heard as zeros."""
        until = max(self._hop, math.floor((now - self._origin) / HOP + 1e-6))
        first, self._hop = self._hop, until
        if until == first:
            return None
        first = max(first, until - round(LONGEST / HOP))
        rms = np.array([self._rms(hop) for hop in range(first, until)], dtype=np.float32)
        self._sounds = [sound for sound in self._sounds if sound.end > self._edge(until)]
        starts = [(each, math.floor((each.start - self._origin) / HOP + 1e-6)) for each in self._unmarked]
        markers = tuple(Marker(each.turn_id, each.content, hop - first) for each, hop in starts if first <= hop < until)
        self._unmarked = [each for each, hop in starts if hop >= until]
        return Level(now - self._edge(first), rms, markers)

    def settle(self, now: float) -> list[Shown]:
        """The sentences of which it is known by now (s) when they were first audible, or that they never were."""
        shown = []
        for each in self._sentences:
            silent = math.isnan(each.audible) and each.complete
            if not each.reported and (silent or each.audible <= now):
                each.reported = True
                detail = 'speech: no audible sample' if silent else f'speech: first sample of {self._audible:g}'
                command = Command(Modality.SPEECH, 'speech', each.stamp, each.turn_id, each.content)
                shown.append(Shown(command, each.audible, detail))
        self._sentences = [each for each in self._sentences if not (each.reported and each.complete)]
        return shown

    def _place(self, at: float, due: float) -> float:
        """When the chunk's first sample is handed over."""
        if not due or due - at > HORIZON:
            due = at
        if due <= self._end + TOGETHER and self._end >= at:
            return self._end
        if due < at:
            self.late += 1
        return max(due, at)

    def _rms(self, hop: int) -> float:
        begin, end = self._edge(hop), self._edge(hop + 1)
        power = 0.0
        for sound in self._sounds:
            part = sound.samples[sound.index(begin) : sound.index(end)]
            power += float(np.dot(part, part)) / (HOP * sound.rate)
        return math.sqrt(min(1.0, power))

    def _edge(self, hop: int) -> float:
        return self._origin + hop * HOP
