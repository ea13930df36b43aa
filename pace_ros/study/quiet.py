"""A robot that nobody sees or hears, for studies of what it decides."""
from __future__ import annotations

from pace_ros.embodiment.speaker import Cue, Sentence, Started
from pace_ros.embodiment.tts import SpeechError
from pace_ros.turn import Onset, ResponseFrame, SpeechState, TurnRecord


class Silence:
    """An outlet nobody listens to."""

    def frame(self, _frame: ResponseFrame) -> None:
        """Ignore a frame."""

    def onset(self, _onset: Onset) -> None:
        """Ignore an onset."""

    def turn(self, _record: TurnRecord) -> None:
        """Ignore a record."""

    def speech(self, _state: SpeechState) -> None:
        """Ignore speech."""

    def look_at_speaker(self) -> None:
        """Ignore a look."""

    def look_aside(self, _side: float, _up: float) -> None:
        """Ignore a look."""

    def gesture(self, _turn_id: str, _name: str) -> None:
        """Ignore a gesture."""

    def rest(self) -> None:
        """Ignore the end of a gesture."""


class Mute:
    """A speaker for ``speech.enabled`` false."""

    name = 'mute'

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Refuse. Raises SpeechError."""
        raise SpeechError(f'mute: {text!r} ({locale}) is not spoken')

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        """Refuse. Raises SpeechError."""
        raise SpeechError(f'mute: {sentence.text!r} of turn {cue.turn_id} is not spoken, {started} not called')

    async def aclose(self) -> None:
        """Nothing is held."""
