"""Whoever turns sentences into sound: our synthesiser and a sink, or the robot's own speech."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pace_ros.embodiment.audio import Audio, leading_silence
from pace_ros.embodiment.level import Level, Meter
from pace_ros.embodiment.sink import Sink
from pace_ros.embodiment.tts import Synthesizer
from pace_ros.turn import Content

Started = Callable[[float], None]


@dataclass(frozen=True)
class Cue:
    """What a sound belongs to."""

    turn_id: str
    content: Content


@dataclass(frozen=True)
class Sentence:
    """A sentence ready to be spoken; ``audio`` where the speaker synthesises ahead."""

    text: str
    locale: str
    audio: Audio | None = None


class Speaker(Protocol):
    """Sentences to sound that can be heard. One sentence sounds at a time; the next may be prepared meanwhile."""

    @property
    def name(self) -> str:
        """What speaks."""
        ...

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Do what can be done before the sentence's turn comes. Raises SpeechError."""
        ...

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        """Speak to the end; a cancelled call is silent within 100 ms. Raises SpeechError.

        ``started`` is called once, when the sound is handed over, with the time until it can be heard (s).
        """
        ...

    async def aclose(self) -> None:
        """Free what is held."""
        ...


class LocalSpeaker:
    """Our synthesiser and a sink. ``publish`` is told the loudness of what the sink plays here."""

    def __init__(self, synthesizer: Synthesizer, sink: Sink, publish: Callable[[Level], None] | None = None) -> None:
        self._synthesizer = synthesizer
        self._sink = sink
        self._publish = publish
        self.name = sink.name

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Synthesise. Raises SpeechError."""
        return Sentence(text, locale, await self._synthesizer.synthesise(text, locale))

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        """Play to the end; audible after the sound's own leading silence and the sink's latency. Raises SpeechError."""
        audio = sentence.audio
        assert audio is not None  # noqa: S101  prepare has made it
        meter: Meter | None = None

        def begun() -> None:
            nonlocal meter
            if self._publish is not None and self._sink.plays_here:
                meter = Meter(audio, cue.turn_id, cue.content, self._publish, delay=self._sink.latency)
            started(leading_silence(audio) + self._sink.latency)

        try:
            await self._sink.play(audio, cue.turn_id, cue.content, begun)
        except BaseException:
            if meter is not None:
                meter.stop()
            raise

    async def aclose(self) -> None:
        """Free the synthesiser."""
        await self._synthesizer.aclose()


class PreferredSpeaker:
    """The robot's own speech while it is there, else ours."""

    def __init__(self, preferred: Speaker, is_there: Callable[[], bool], other: Speaker) -> None:
        self._preferred = preferred
        self._is_there = is_there
        self._other = other

    @property
    def name(self) -> str:
        """That of the one that would speak now."""
        return self._now().name

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Let the one that will speak prepare. Raises SpeechError."""
        return await self._now().prepare(text, locale)

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        """Speak by whoever has prepared the sentence. Raises SpeechError."""
        await (self._preferred if sentence.audio is None else self._other).say(sentence, cue, started)

    async def aclose(self) -> None:
        """Free both."""
        await asyncio.gather(self._preferred.aclose(), self._other.aclose())

    def _now(self) -> Speaker:
        return self._preferred if self._is_there() else self._other
