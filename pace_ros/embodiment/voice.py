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
        self._sentences: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        self._fed = 0  # sentences
        self._answer_from = 0  # the first sentence that is no preamble's
        self._answering = False
        self._stopped = False
        self._filler: asyncio.Task[None] | None = None
        self.outcome = ''
        self._task = asyncio.create_task(self._run(), name=f'speech {turn_id}')

    def filler(self, text: str) -> None:
        """Say a filler, unless the answer has begun."""
        if not self._answering and self._filler is None:
            self._filler = asyncio.create_task(self._say(text), name=f'filler {self._turn_id}')

    def feed(self, text: str) -> None:
        """Take the next piece of the answer."""
        self._answering = True
        self._queue(self._splitter.feed(text))

    def preamble_ends(self) -> None:
        """What was fed so far is no answer: a sentence of it that begins to sound from now on is a filler."""
        self._queue(self._splitter.flush())
        self._answer_from = self._fed

    def finish(self) -> None:
        """The answer is complete."""
        self._queue(self._splitter.flush())
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

    def _queue(self, sentences: list[str]) -> None:
        for sentence in sentences:
            self._sentences.put_nowait((self._fed, sentence))
            self._fed += 1

    async def _run(self) -> None:
        while (sentence := await self._sentences.get()) is not None:
            number, text = sentence
            await self._say(text, number)
        if not self._answering and self._filler is not None:
            await asyncio.wait([self._filler])

    async def _say(self, text: str, number: int | None = None) -> None:
        """Say sentence ``number`` of what was fed, or the filler."""
        try:
            sentence = await self._voice.speaker.prepare(text, spoken_locale(text, self._locale))
            if number is not None:
                await self._end_filler()
            async with self._voice.mouth:
                if number is not None:
                    await self._sound(Content.FILLER if number < self._answer_from else Content.ANSWER, sentence)
                elif not self._answering:  # the filler never follows the answer's beginning
                    await self._sound(Content.FILLER, sentence)
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
