from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from pace_ros.embodiment.audio import Audio, leading_silence, read_wav


def wav(path: Path, samples: bytes, *, channels: int = 1, width: int = 2, rate: int = 16000) -> Path:
    with wave.open(str(path), 'wb') as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples)
    return path


def test_duration_is_samples_over_rate() -> None:
    assert Audio(np.zeros(8000, np.int16), 16000).duration == 0.5
    assert Audio(np.zeros(0, np.int16), 16000).duration == 0.0


def test_mono_samples_come_as_written(tmp_path: Path) -> None:
    samples = np.array([0, 1, -1, 32767, -32768], '<i2')
    audio = read_wav(wav(tmp_path / 'a.wav', samples.tobytes(), rate=22050))
    assert audio.samples.tolist() == samples.tolist()
    assert (audio.samples.dtype, audio.sample_rate) == (np.int16, 22050)


def test_channels_are_mixed_down(tmp_path: Path) -> None:
    frames = np.array([[100, 300], [-32768, -32768], [32767, 32767], [-10, 10]], '<i2')
    audio = read_wav(wav(tmp_path / 'a.wav', frames.tobytes(), channels=2))
    assert audio.samples.tolist() == [200, -32768, 32767, 0]
    assert audio.duration == 4 / 16000


def test_an_empty_file_of_the_right_form_is_silence(tmp_path: Path) -> None:
    assert len(read_wav(wav(tmp_path / 'a.wav', b'')).samples) == 0


@pytest.mark.parametrize('width', [1, 3, 4])
def test_other_sample_sizes_are_refused(tmp_path: Path, width: int) -> None:
    with pytest.raises(ValueError, match=f'a.wav has {8 * width}-bit samples, not 16'):
        read_wav(wav(tmp_path / 'a.wav', bytes(12), width=width))


@pytest.mark.parametrize('content', [b'', b'RIFF', b'no sound at all, only words'])
def test_what_is_no_wav_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / 'b.wav'
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r'b\.wav is no WAV file'):
        read_wav(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r'none\.wav'):
        read_wav(tmp_path / 'none.wav')


def test_leading_silence_ends_at_the_first_sample_that_can_be_heard() -> None:
    """163 is below -46 dBFS (163.84), 164 is not; both signs count."""
    quiet = np.full(400, 163, np.int16)
    assert leading_silence(Audio(np.append(quiet, [-164, 5]).astype(np.int16), 16000)) == 400 / 16000
    assert leading_silence(Audio(np.append(quiet, [-32768]).astype(np.int16), 16000)) == 400 / 16000
    assert leading_silence(Audio(np.array([164], np.int16), 16000)) == 0.0


def test_silence_is_silent_to_its_end() -> None:
    assert leading_silence(Audio(np.zeros(8000, np.int16), 16000)) == 0.5
    assert leading_silence(Audio(np.zeros(0, np.int16), 16000)) == 0.0
