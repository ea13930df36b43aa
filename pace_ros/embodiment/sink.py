"""Where sound goes. ``play`` returns when the sound has ended; cancelling it silences at once."""
from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pace_ros.embodiment.audio import Audio
from pace_ros.embodiment.tts import SpeechError

CHUNK = 0.02  # s of sound in one published chunk
LEAD = 0.06  # s a published chunk comes before it is due
OVERRUN = 3.0  # s a device may take longer than the sound lasts


class Sink(Protocol):
    """A loudspeaker."""

    name: str

    async def play(self, audio: Audio, turn_id: str) -> None:
        """Play to the end; a cancelled call is silent within 100 ms. Raises SpeechError."""
        ...


class NullSink:
    """Silence that lasts as long as the sound would."""

    name = 'null'

    async def play(self, audio: Audio, turn_id: str) -> None:
        """Wait for the sound's duration."""
        await asyncio.sleep(audio.duration)


class AlsaSink:
    """``aplay`` on an ALSA device, one process a sentence, killed when cancelled."""

    name = 'alsa'

    def __init__(self, device: str) -> None:
        self._device = device

    async def play(self, audio: Audio, turn_id: str) -> None:
        """Play through the device. Raises SpeechError with aplay's own words."""
        try:
            process = await asyncio.create_subprocess_exec(
                'aplay', '-q', '-D', self._device, '-t', 'raw', '-f', 'S16_LE', '-c', '1', '-r',
                str(audio.sample_rate),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SpeechError(f'aplay cannot be started: {error}') from error
        try:
            samples = audio.samples.astype('<i2').tobytes()
            _, words = await asyncio.wait_for(process.communicate(samples), audio.duration + OVERRUN)
        except asyncio.TimeoutError:
            raise SpeechError(f'device {self._device} did not play to the end') from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise SpeechError(f'aplay: {words.decode(errors="replace").strip()[:200]}')


class TopicSink:
    """Publishes samples in real time for a loudspeaker that is another node."""

    name = 'topic'

    def __init__(self, publish: Callable[[npt.NDArray[np.int16], int, str, bool], None]) -> None:
        self._publish = publish

    async def play(self, audio: Audio, turn_id: str) -> None:
        """Publish chunk by chunk, ``LEAD`` ahead of real time; cancelled, tell the loudspeaker to drop the rest."""
        loop = asyncio.get_running_loop()
        size = int(CHUNK * audio.sample_rate)
        begin = loop.time()
        try:
            for start in range(0, len(audio.samples), size):
                await asyncio.sleep(max(0.0, begin + start / audio.sample_rate - LEAD - loop.time()))
                self._publish(audio.samples[start : start + size], audio.sample_rate, turn_id, False)
            await asyncio.sleep(max(0.0, begin + audio.duration - loop.time()))
        except asyncio.CancelledError:
            self._publish(audio.samples[:0], audio.sample_rate, turn_id, True)
            raise


def has_alsa_device() -> bool:
    """Whether this machine can play: aplay is installed and the kernel knows a playback device."""
    return shutil.which('aplay') is not None and any(Path('/dev/snd').glob('pcm*p'))


def open_sink(name: str, device: str, publish: Callable[[npt.NDArray[np.int16], int, str, bool], None]) -> Sink:
    """The sink of that name; ``auto`` is alsa where there is a device, else null."""
    if name == 'auto':
        name = 'alsa' if has_alsa_device() else 'null'
    if name == 'alsa':
        return AlsaSink(device)
    return TopicSink(publish) if name == 'topic' else NullSink()
