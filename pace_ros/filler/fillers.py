"""The filler of one turn, from speculative launch to the text that may be uttered."""
from __future__ import annotations

import asyncio
from collections.abc import Callable

from pace_ros.config import Filler as FillerSettings
from pace_ros.filler.generator import FillerFailed, FillerGenerator, FillerJob
from pace_ros.filler.phrases import PhraseBook
from pace_ros.filler.safety import rejection
from pace_ros.language import normal_form

GRACE = 0.006  # s


class PendingFiller:
    """A launched filler. Its generation begins ``GRACE`` s later, or as soon as somebody waits for it: an instant path
    has answered and cancelled it by then, and llama.cpp never competes with the answer.

    ``reason`` says in the record how its text came about.
    """

    def __init__(self, desk: FillerDesk, question: str, locale: str, avoid: str, refused: str) -> None:
        self._desk = desk
        self._question = question
        self._locale = locale
        self._avoid = avoid
        self._job: FillerJob | None = None
        self._refused = refused
        self.reason = 'launched'
        self._timer = asyncio.get_running_loop().call_later(GRACE, self._begin)

    @property
    def begun(self) -> bool:
        """Whether a generation was asked for."""
        return self._job is not None

    async def text(self) -> str:
        """Wait for a filler fit to be uttered; a placeholder at once if the generated one fails or is rejected."""
        self._begin()
        if self._job is None:
            return self.placeholder(self._refused)
        try:
            text = asyncio.wrap_future(self._job.text)
            text.add_done_callback(_retrieved)
            generated = await asyncio.shield(text)
        except FillerFailed as error:
            return self.placeholder(str(error))
        refused = self._desk.refusal(generated, self._avoid)
        if refused:
            return self.placeholder(f'rejected: {refused}')
        self.reason = 'generated'
        return generated

    def placeholder(self, why: str) -> str:
        """A canned phrase that differs from the last filler; ``why`` goes into the record."""
        self.reason = f'placeholder: {why}'
        return self._desk.placeholder(self._locale, self._avoid)

    def cancel(self) -> None:
        """Stop the generation within one token, or before it has begun."""
        self._timer.cancel()
        if self._job is not None:
            self._job.cancel()

    def _begin(self) -> None:
        self._timer.cancel()
        if self._job is None and not self._refused:
            try:
                self._job = self._desk.generate(self._question, self._locale, self._avoid)
            except FillerFailed as error:
                self._refused = str(error)


def _retrieved(text: asyncio.Future[str]) -> None:
    """A filler nobody waits for any more may fail in peace."""
    if not text.cancelled():
        text.exception()


class FillerDesk:
    """Launches fillers and knows the placeholders; ``generator`` None means placeholders only."""

    def __init__(
        self, generator: FillerGenerator | None, book: PhraseBook, settings: Callable[[], FillerSettings]
    ) -> None:
        self._generator = generator
        self._book = book
        self._settings = settings
        self._next = 0

    def launch(self, question: str, locale: str, avoid: str, *, refused: str = '') -> PendingFiller:
        """Launch a filler that is not ``avoid``. Never fails: where nothing can be generated there are placeholders.

        ``refused`` says why nothing may be generated, if so.
        """
        return PendingFiller(self, question, locale, avoid, refused)

    def generate(self, question: str, locale: str, avoid: str) -> FillerJob:
        """Begin a generation. Raises FillerFailed if there is no generator, or another generation is under way."""
        if self._generator is None:
            raise FillerFailed('no generator')
        return self._generator.launch(question, locale, avoid)

    def refusal(self, text: str, avoid: str) -> str:
        """Why a generated text is not uttered, empty if it may be."""
        if avoid and normal_form(text) == normal_form(avoid):
            return 'repeats the last filler'
        return rejection(text, self._settings().max_chars)

    def placeholder(self, locale: str, avoid: str) -> str:
        """The next canned phrase of a language, in turn, passing over ``avoid``."""
        phrases = [text for text in self._book.of(locale).placeholders if text != avoid]
        self._next += 1
        return phrases[self._next % len(phrases)]

    def close(self) -> None:
        """Free the generator."""
        if self._generator is not None:
            self._generator.close()
