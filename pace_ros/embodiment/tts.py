"""Text to speech: sentences to sound, by a worker process that may be replaced."""
from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Protocol

from pace_ros.embodiment.audio import Audio, read_wav

START_DEADLINE = 15.0  # s for the first reply, which waits for the engine to load
DEADLINE = 4.0  # s for a sentence


class SpeechError(RuntimeError):
    """A sentence could not be synthesised or played."""


class Synthesizer(Protocol):
    """Sentences to sound."""

    async def synthesise(self, text: str, locale: str) -> Audio:
        """Render one sentence. Raises SpeechError."""
        ...

    async def aclose(self) -> None:
        """Free the engine."""
        ...


class Pyttsx3Synthesizer:
    """pyttsx3 on espeak-ng, in a worker process; one sentence at a time, each with a deadline."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._folder = tempfile.TemporaryDirectory(prefix='pace-speech-')
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._count = 0
        self._tasks: set[asyncio.Task[Audio]] = set()

    async def synthesise(self, text: str, locale: str) -> Audio:
        """Render one sentence. Raises SpeechError; a worker that hangs or dies is replaced by the next call.

        A cancelled call leaves the worker to finish the sentence, which costs milliseconds where a new worker costs
        tenths of a second.
        """
        task = asyncio.create_task(self._render(text, locale), name='synthesis')
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """End the worker and remove its files."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._kill()
        self._folder.cleanup()

    async def _render(self, text: str, locale: str) -> Audio:
        async with self._lock:
            self._count += 1
            path = Path(self._folder.name) / f'{self._count}.wav'
            try:
                reply = await self._request({'text': text, 'locale': locale, 'path': str(path)})
                if 'error' in reply:
                    raise SpeechError(reply['error'])
                return read_wav(path)
            except (OSError, ValueError, asyncio.TimeoutError) as error:
                await self._kill()
                raise SpeechError(f'speech worker: {type(error).__name__} {error}'.strip()) from error
            finally:
                path.unlink(missing_ok=True)

    async def _request(self, request: dict[str, str]) -> dict[str, str]:
        deadline = DEADLINE
        if self._process is None or self._process.returncode is not None:
            self._process = await self._start()
            deadline = START_DEADLINE
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018  both are pipes
        self._process.stdin.write(json.dumps(request).encode() + b'\n')
        line = await asyncio.wait_for(self._process.stdout.readline(), deadline)
        if not line:
            raise OSError('the worker ended')
        reply: dict[str, str] = json.loads(line)
        return reply

    async def _start(self) -> asyncio.subprocess.Process:
        source = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (source, os.environ.get('PYTHONPATH', ''))))
        return await asyncio.create_subprocess_exec(
            sys.executable, '-m', 'pace_ros.embodiment.tts_worker', str(self._rate),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': path},
            start_new_session=True,  # a terminal's SIGINT is for the node, which then ends its worker
        )

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), 1.0)
