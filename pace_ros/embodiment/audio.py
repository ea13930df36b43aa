"""Sound as the rooms pass it on."""
from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

AUDIBLE = 0.005 * 32768  # amplitude (-46 dBFS) from which a sample can be heard


@dataclass(frozen=True)
class Audio:
    """Mono PCM; ``samples`` has shape (n,)."""

    samples: npt.NDArray[np.int16]
    sample_rate: int

    @property
    def duration(self) -> float:
        """Length in s."""
        return len(self.samples) / self.sample_rate


def leading_silence(audio: Audio) -> float:
    """Time before the first audible sample (s); the whole length where none is."""
    audible = np.flatnonzero(np.abs(audio.samples.astype(np.int32)) >= AUDIBLE)
    return (int(audible[0]) if len(audible) else len(audio.samples)) / audio.sample_rate


def read_wav(path: Path) -> Audio:
    """Read a 16-bit WAV file, mixing its channels down to one. Raises ValueError for anything else."""
    try:
        with wave.open(str(path), 'rb') as file:
            if file.getsampwidth() != 2:
                raise ValueError(f'{path} has {8 * file.getsampwidth()}-bit samples, not 16')
            channels, rate = file.getnchannels(), file.getframerate()
            samples = np.frombuffer(file.readframes(file.getnframes()), dtype='<i2')
    except (wave.Error, EOFError) as error:
        raise ValueError(f'{path} is no WAV file: {error}') from error
    if channels > 1:
        samples = samples.reshape(-1, channels).mean(axis=1).astype(np.int16)
    return Audio(samples.astype(np.int16), rate)
