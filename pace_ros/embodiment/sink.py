"""Where sound goes. ``play`` returns when the sound has ended; cancelling it silences at once."""
from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pace_ros.embodiment.audio import Audio
from pace_ros.embodiment.tts import SpeechError
from pace_ros.turn import Content

CHUNK = 0.02  # s of sound in one published chunk
LEAD = 0.06  # s a published chunk comes before it is due
OVERRUN = 3.0  # s a device may take longer than the sound lasts


@dataclass(frozen=True)
class Chunk:
    """Samples for a loudspeaker elsewhere, shape (n,); the first of them is due in ``due_in`` s.

    ``start`` marks the first chunk of a sound, ``flush`` tells the loudspeaker to drop all that is not yet played.
    """

    samples: npt.NDArray[np.int16]
    sample_rate: int
    turn_id: str
    content: Content
    due_in: float = 0.0
    start: bool = False
    flush: bool = False


class Sink(Protocol):
    """A loudspeaker. ``latency`` is what it adds between a sample handed over and heard (s); ``plays_here`` says that
    the sound is played on this machine, by this process's doing.
    """

    name: str
    plays_here: bool

    @property
    def latency(self) -> float:
        """Time between a sample handed over and heard (s)."""
        ...

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        """Play to the end; a cancelled call is silent within 100 ms. ``begun`` is called as the first sample is handed
        over. Raises SpeechError.
        """
        ...


class NullSink:
    """Silence that lasts as long as the sound would."""

    name = 'null'
    plays_here = True
    latency = 0.0

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        """Wait for the sound's duration."""
        begun()
        await asyncio.sleep(audio.duration)


class AlsaSink:
    """``aplay`` on an ALSA device, one process a sentence, killed when cancelled."""

    name = 'alsa'
    plays_here = True

    def __init__(self, device: str, latency: Callable[[], float]) -> None:
        self._device = device
        self._latency = latency

    @property
    def latency(self) -> float:
        """What the device adds (s), as configured."""
        return self._latency()

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
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
            begun()
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
    """Hands samples in real time to a loudspeaker that is another node."""

    name = 'topic'
    plays_here = False
    latency = LEAD

    def __init__(self, publish: Callable[[Chunk], None]) -> None:
        self._publish = publish

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        """Publish chunk by chunk, each ``LEAD`` before it is due; cancelled, tell the loudspeaker to drop the rest."""
        loop = asyncio.get_running_loop()
        size, rate = int(CHUNK * audio.sample_rate), audio.sample_rate
        due = loop.time() + LEAD
        begun()
        try:
            for start in range(0, len(audio.samples), size):
                await asyncio.sleep(max(0.0, due + start / rate - LEAD - loop.time()))
                due_in = due + start / rate - loop.time()
                samples = audio.samples[start : start + size]
                self._publish(Chunk(samples, rate, turn_id, content, due_in, start=start == 0))
            await asyncio.sleep(max(0.0, due + audio.duration - loop.time()))
        except asyncio.CancelledError:
            self._publish(Chunk(audio.samples[:0], rate, turn_id, content, flush=True))
            raise


def has_alsa_device() -> bool:
    """Whether this machine can play: aplay is installed and the kernel knows a playback device."""
    return shutil.which('aplay') is not None and any(Path('/dev/snd').glob('pcm*p'))


def open_sink(name: str, device: str, latency: Callable[[], float], publish: Callable[[Chunk], None]) -> Sink:
    """The sink of that name; ``auto`` is alsa where there is a device, else null. ``latency`` is the device's (s)."""
    if name == 'auto':
        name = 'alsa' if has_alsa_device() else 'null'
    if name == 'alsa':
        return AlsaSink(device, latency)
    return TopicSink(publish) if name == 'topic' else NullSink()
