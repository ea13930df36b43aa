"""Whoever turns sentences into sound: our synthesiser and a sink, or the robot's own speech."""
from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pace_ros.clock import Clock, SystemClock
from pace_ros.embodiment.audio import Audio, leading_silence
from pace_ros.embodiment.level import Level, Meter
from pace_ros.embodiment.sink import Sink
from pace_ros.embodiment.tts import SpeechError, Synthesizer
from pace_ros.turn import Content

log = logging.getLogger(__name__)
Started = Callable[[float], None]
DISTRUST = 30.0  # s


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
    """The robot's own speech while it is there, else ours.

    After an error of the robot's own ours speaks for ``distrust`` (s), as far as it can.
    """

    def __init__(self, preferred: Speaker, is_there: Callable[[], bool], other: Speaker, *,
                 distrust: float = DISTRUST, clock: Clock | None = None) -> None:
        self._preferred = preferred
        self._is_there = is_there
        self._other = other
        self._distrust = distrust
        self._clock = clock or SystemClock()
        self._distrusted_until = -math.inf

    @property
    def name(self) -> str:
        """That of the one that would speak now."""
        return self._now().name

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Let the one that will speak prepare. Raises SpeechError."""
        speaker = self._now()
        try:
            return await speaker.prepare(text, locale)
        except SpeechError:
            if speaker is self._preferred or not self._is_there():
                raise
            return await self._preferred.prepare(text, locale)  # ours cannot speak: it gets another chance

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        """Speak by whoever has prepared the sentence. Raises SpeechError."""
        ours = sentence.audio is not None
        try:
            await (self._other if ours else self._preferred).say(sentence, cue, started)
        except SpeechError:
            if ours:
                self._distrusted_until = -math.inf
            elif self._distrust > 0.0:
                self._distrusted_until = self._clock.monotonic() + self._distrust
                log.warning('for %g s not %s speaks but %s', self._distrust, self._preferred.name, self._other.name)
            raise

    async def aclose(self) -> None:
        """Free both."""
        await asyncio.gather(self._preferred.aclose(), self._other.aclose())

    def _now(self) -> Speaker:
        trusted = self._clock.monotonic() >= self._distrusted_until
        return self._preferred if trusted and self._is_there() else self._other
