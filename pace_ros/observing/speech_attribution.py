"""Which command a sound belongs to."""
from __future__ import annotations

import math
from collections import deque

from pace_ros.observing.command import Command, Observation, observed
from pace_ros.observing.settings import Sound
from pace_ros.observing.sound import SoundOnset, SoundOnsets
from pace_ros.observing.stops import Stops
from pace_ros.observing.waiting import Waiting

EARLY_SOUNDS = 256  # whose command may still be under way
HOLD = 0.1  # s within which a command is heard that a sound without a marker may belong to


class SpeechAttribution(Waiting):
    """Commanded speech that has not been heard yet.

    A marker names turn and content. Without one a sound belongs to the speech that was to be audible last before it.
    """

    def __init__(self, settings: Sound, sounds: SoundOnsets, stops: Stops) -> None:
        super().__init__()
        self._settings = settings
        self._sounds = sounds
        self._stops = stops
        self._marked: deque[SoundOnset] = deque(maxlen=EARLY_SOUNDS)
        self._unmarked: list[SoundOnset] = []
        self._commanded: deque[tuple[str, int]] = deque(maxlen=1000)

    def commanded(self, command: Command) -> None:
        """Speech was commanded; only the first of a turn's filler and of its answer counts."""
        key = (command.turn_id, int(command.onset.content))
        if key not in self._commanded:
            self._commanded.append(key)
            self._pending.append(command)

    def sounded(self, sound: SoundOnset) -> None:
        """A sound became audible."""
        if sound.mark is None:
            self._unmarked.append(sound)
        else:
            self._marked.append(sound)

    def decide(self, until: float) -> list[Observation]:
        """Attribute what was heard, as far as its command is known, and what without a marker began until then."""
        told: list[Observation] = []
        for sound in [each for each in self._marked if self._named(each) is not None]:
            self._marked.remove(sound)
            told += self._heard(self._named(sound), sound)
        for sound in sorted(self._unmarked, key=lambda each: each.time):
            if sound.time <= until - HOLD:
                self._unmarked.remove(sound)
                told += self._heard(self._nearest(sound), sound)
        expired = [each for each in self._pending if until >= self._end(each) + HOLD]
        return told + self.give_up(expired)

    def _named(self, sound: SoundOnset) -> Command | None:
        mark = sound.mark
        return next((each for each in self._pending if mark is not None
                     and (each.turn_id, each.onset.content) == (mark.turn_id, mark.content)), None)

    def _nearest(self, sound: SoundOnset) -> Command | None:
        fitting = [
            each for each in self._pending
            if each.due - self._settings.early <= sound.time <= each.due + self._settings.deadline
            and not self._stops.excludes(each, sound.time)
        ]
        return max(fitting, key=lambda each: each.due, default=None)

    def _heard(self, command: Command | None, sound: SoundOnset) -> list[Observation]:
        if command is None:
            return []
        if self._stops.excludes(command, sound.time):
            return self.give_up([command])
        self._pending.remove(command)
        how = 'at its marker' if sound.mark is not None else 'after quiet'
        return [observed(command, sound.time, f'{sound.level:.0f} dB {how}')]

    def _forget(self) -> None:
        self._marked.clear()
        self._unmarked.clear()
        self._commanded.clear()

    def _end(self, command: Command) -> float:
        return min(command.due + self._settings.deadline, self._stops.of(command)[0] + self._stops.margin)

    def _reason(self, command: Command) -> str:
        stopped, why = self._stops.of(command)
        if math.isinf(self._sounds.latest):
            return f'no {"audio_level" if self._settings.source == "level" else "microphone"} at all'
        if stopped + self._stops.margin <= command.due + self._settings.deadline:
            return f'{why} {max(0.0, stopped - command.stamp):.2f} s after it, before any sound'
        if self._sounds.latest < command.due:
            return f'no level of sound since {command.due - self._sounds.latest:.1f} s before it should be audible'
        if self._sounds.sounding_at(command.due):
            return 'already sounding, and no marker'
        return f'no sound within {self._settings.deadline:g} s'
