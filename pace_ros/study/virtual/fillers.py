"""The filler model in virtual time: its measured latencies are sampled, its phrases drawn."""
from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pace_ros import packaged
from pace_ros.filler import FillerFailed, FillerJob, PhraseBook
from pace_ros.language import language
from pace_ros.study.refusal import Refusal


class LatencyFileError(Refusal):
    """A file of latencies that cannot be used; the message names it."""


@dataclass(frozen=True)
class FillerLatencies:
    """Generation times (s) as measured, by language; ``machine`` says where."""

    machine: str
    seconds: Mapping[str, Sequence[float]]

    @classmethod
    def read(cls, path: Path | None = None) -> FillerLatencies:
        """Read a file that ``study fillers`` wrote; None: the packaged one. Raises LatencyFileError."""
        path = path or packaged.config_dir() / 'study' / 'filler_latencies.json'
        try:
            fields = json.loads(path.read_text(encoding='utf-8'))
            seconds = {name: tuple(map(float, values)) for name, values in fields['seconds'].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise LatencyFileError(f'{path} holds no filler latencies: {error}.') from error
        if not seconds or not all(values and min(values) >= 0.0 for values in seconds.values()):
            raise LatencyFileError(f'{path}: every language needs latencies of at least 0 s.')
        return cls(str(fields.get('machine', '')), seconds)

    def of(self, locale: str) -> Sequence[float]:
        """Those of a locale's language; where none was measured, of the first one there is."""
        return self.seconds.get(language(locale)) or next(iter(self.seconds.values()))


class SampledFillers:
    """Stands in for llama.cpp: the same question gets the same latency and phrase in every arm of a seed.

    It does not take the processor from anybody, which the real one does.
    """

    def __init__(self, latencies: FillerLatencies, book: PhraseBook, seed: int) -> None:
        self._latencies = latencies
        self._book = book
        self._seed = seed
        self._current: FillerJob | None = None

    def launch(self, question: str, locale: str, avoid: str) -> FillerJob:
        """Start a generation. Raises FillerFailed while another one is wanted."""
        if self._current and not self._current.cancelled and not self._current.text.done():
            raise FillerFailed('generator busy')
        job = self._current = FillerJob(question, locale, avoid)
        job.begun = True
        drawn = int.from_bytes(hashlib.blake2b(f'{self._seed} {question}'.encode(), digest_size=8).digest(), 'big')
        seconds, options = self._latencies.of(locale), self._book.of(locale).options(avoid)
        asyncio.get_running_loop().call_later(
            seconds[drawn % len(seconds)], self._finish, job, options[drawn // len(seconds) % len(options)]
        )
        return job

    def close(self) -> None:
        """Nothing is held."""

    def _finish(self, job: FillerJob, text: str) -> None:
        if job.cancelled:
            job.text.set_exception(FillerFailed('cancelled'))
        else:
            job.text.set_result(text)
