"""One mouth for all conversations: sentences are spoken while the answer still streams."""
from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pace_ros.embodiment.speaker import Cue, Sentence, Speaker
from pace_ros.embodiment.tts import SpeechError
from pace_ros.language import SentenceSplitter, spoken_locale
from pace_ros.turn import Content

log = logging.getLogger(__name__)
OnStart = Callable[[Content, str, float], None]


class Voice:
    """A speaker, and the lock that lets one sentence sound at a time."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.mouth = asyncio.Lock()
        self.speaking: SpeechTrack | None = None
        self.error = ''

    def track(self, turn_id: str, locale: str, on_start: OnStart) -> SpeechTrack:
        """Begin the speech of one turn; ``on_start`` is told content, sentence and the time until it can be heard (s)
        when a sound is handed over.
        """
        return SpeechTrack(self, turn_id, locale, on_start)

    async def aclose(self) -> None:
        """Free the speaker."""
        await self.speaker.aclose()


class SpeechTrack:
    """What one turn says. The filler is cut as soon as the answer's first sentence can sound: it never delays it."""

    def __init__(self, voice: Voice, turn_id: str, locale: str, on_start: OnStart) -> None:
        self._voice = voice
        self._turn_id = turn_id
        self._locale = locale
        self._on_start = on_start
        self._splitter = SentenceSplitter()
        self._sentences: asyncio.Queue[str | None] = asyncio.Queue()
        self._answering = False
        self._stopped = False
        self._filler: asyncio.Task[None] | None = None
        self.outcome = ''
        self._task = asyncio.create_task(self._run(), name=f'speech {turn_id}')

    def filler(self, text: str) -> None:
        """Say a filler, unless the answer has begun."""
        if not self._answering and self._filler is None:
            self._filler = asyncio.create_task(self._say(Content.FILLER, text), name=f'filler {self._turn_id}')

    def feed(self, text: str) -> None:
        """Take the next piece of the answer."""
        self._answering = True
        for sentence in self._splitter.feed(text):
            self._sentences.put_nowait(sentence)

    def finish(self) -> None:
        """The answer is complete."""
        for sentence in self._splitter.flush():
            self._sentences.put_nowait(sentence)
        self._sentences.put_nowait(None)

    def stop(self) -> None:
        """Be silent now and say nothing more."""
        self._stopped = True
        for task in (self._task, self._filler):
            if task is not None:
                task.cancel()

    async def done(self) -> str:
        """Wait until the turn's speech has ended; returns spoken, stopped, silent, or failed with the reason."""
        await asyncio.wait([self._task])
        await self._end_filler()
        if self._task.cancelled():
            return 'stopped'
        if error := self._task.exception():
            return f'failed: {error}'
        return self.outcome or 'silent'

    async def _run(self) -> None:
        while (sentence := await self._sentences.get()) is not None:
            await self._say(Content.ANSWER, sentence)
        if not self._answering and self._filler is not None:
            await asyncio.wait([self._filler])

    async def _say(self, content: Content, text: str) -> None:
        try:
            sentence = await self._voice.speaker.prepare(text, spoken_locale(text, self._locale))
            if content is Content.ANSWER:
                await self._end_filler()
            async with self._voice.mouth:
                if content is Content.ANSWER or not self._answering:  # a filler never follows the answer's beginning
                    await self._sound(content, sentence)
        except SpeechError as error:
            if not self._voice.error:
                log.error('the robot cannot speak, it goes on in text: %s', error)
            self._voice.error = str(error)
            self.outcome = f'failed: {error}'

    async def _sound(self, content: Content, sentence: Sentence) -> None:
        self._voice.speaking = self
        try:
            await self._voice.speaker.say(
                sentence, Cue(self._turn_id, content), lambda delay: self._on_start(content, sentence.text, delay)
            )
            if self._stopped:  # asyncio.wait_for before Python 3.12 may drop a cancellation
                raise asyncio.CancelledError
            self._voice.error = ''
            self.outcome = self.outcome or 'spoken'
        finally:
            self._voice.speaking = None

    async def _end_filler(self) -> None:
        if self._filler is not None and not self._filler.done():
            self._filler.cancel()
            await asyncio.wait([self._filler])
