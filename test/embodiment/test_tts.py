"""pyttsx3 on espeak-ng in its real worker process."""
from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pace_ros.embodiment import Pyttsx3Synthesizer, SpeechError, tts

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not (shutil.which('espeak-ng') or shutil.which('espeak')), reason='espeak-ng is not installed'),
]


@pytest.fixture
async def synthesizer() -> AsyncIterator[Pyttsx3Synthesizer]:
    each = Pyttsx3Synthesizer(190)
    yield each
    await each.aclose()


def worker(synthesizer: Pyttsx3Synthesizer) -> asyncio.subprocess.Process:
    assert synthesizer._process is not None
    return synthesizer._process


@pytest.mark.parametrize(('text', 'locale'), [
    ('Hello and welcome to the showroom.', 'en-US'),
    ('您好，欢迎光临我们的展厅。', 'zh-CN'),
    ('Bonjour tout le monde.', 'fr-FR'),
])
async def test_a_sentence_becomes_sound(synthesizer: Pyttsx3Synthesizer, text: str, locale: str) -> None:
    audio = await synthesizer.synthesise(text, locale)
    assert 0.5 < audio.duration < 6.0
    assert audio.sample_rate >= 8000
    assert abs(audio.samples.astype(int)).max() > 1000, 'audible'


async def test_longer_text_lasts_longer_and_a_faster_rate_shorter(synthesizer: Pyttsx3Synthesizer) -> None:
    short = await synthesizer.synthesise('Hello.', 'en-US')
    long = await synthesizer.synthesise('Hello and welcome to the showroom, dear friends.', 'en-US')
    assert long.duration > 2 * short.duration
    hasty = []
    for _ in range(3):  # in a few workers of a hundred espeak-ng keeps to its own rate
        quick = Pyttsx3Synthesizer(400)
        try:
            hasty.append(await quick.synthesise('Hello and welcome to the showroom, dear friends.', 'en-US'))
        finally:
            await quick.aclose()
    assert min(audio.duration for audio in hasty) < 0.8 * long.duration


async def test_calls_at_once_keep_their_own_sound(synthesizer: Pyttsx3Synthesizer) -> None:
    texts = ['Hello.', 'Hello and welcome to the showroom, dear friends, one and all.'] * 3
    sounds = await asyncio.gather(*(synthesizer.synthesise(text, 'en-US') for text in texts))
    lengths = [len(audio.samples) for audio in sounds]
    assert all(3 * short < long for short, long in zip(lengths[::2], lengths[1::2], strict=True))
    assert list(Path(synthesizer._folder.name).iterdir()) == [], 'no file is left behind'


@pytest.mark.parametrize('text', ['line\nbreak', 'quote " \\ and <tag> & more', '🙂 hello', '-x --stdin', 'a' * 400])
async def test_odd_text_is_only_text(synthesizer: Pyttsx3Synthesizer, text: str) -> None:
    assert (await synthesizer.synthesise(text, 'en-US')).duration > 0.1


async def test_nothing_to_say_is_an_error_that_costs_no_worker(synthesizer: Pyttsx3Synthesizer) -> None:
    await synthesizer.synthesise('Hello.', 'en-US')
    pid = worker(synthesizer).pid
    with pytest.raises(SpeechError):
        await synthesizer.synthesise('', 'en-US')
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1
    assert worker(synthesizer).pid == pid


async def test_a_cancelled_call_leaves_the_worker_to_the_next(synthesizer: Pyttsx3Synthesizer) -> None:
    await synthesizer.synthesise('Hello.', 'en-US')
    pid = worker(synthesizer).pid
    call = asyncio.create_task(synthesizer.synthesise('Never heard.', 'en-US'))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1
    assert worker(synthesizer).pid == pid


async def test_a_worker_killed_while_idle_is_replaced_by_the_next_call(synthesizer: Pyttsx3Synthesizer) -> None:
    await synthesizer.synthesise('Hello.', 'en-US')
    first = worker(synthesizer)
    first.send_signal(signal.SIGKILL)
    await first.wait()
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1
    assert worker(synthesizer).pid != first.pid


async def test_a_worker_killed_at_work_costs_one_sentence(synthesizer: Pyttsx3Synthesizer) -> None:
    await synthesizer.synthesise('Hello.', 'en-US')
    first = worker(synthesizer)
    first.send_signal(signal.SIGSTOP)
    call = asyncio.create_task(synthesizer.synthesise('Hello.', 'en-US'))
    await asyncio.sleep(0.05)
    assert not call.done()
    first.send_signal(signal.SIGKILL)
    with pytest.raises(SpeechError, match=r'speech worker: .*the worker ended'):
        await call
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1
    assert worker(synthesizer).pid != first.pid


async def test_a_worker_that_hangs_meets_its_deadline_and_is_replaced(
    synthesizer: Pyttsx3Synthesizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await synthesizer.synthesise('Hello.', 'en-US')
    first = worker(synthesizer)
    first.send_signal(signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(tts, 'DEADLINE', 0.2)
        with pytest.raises(SpeechError, match='speech worker: TimeoutError'):
            await synthesizer.synthesise('Hello.', 'en-US')
    assert first.returncode == -signal.SIGKILL
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1


@pytest.mark.parametrize(('script', 'words'), [
    ('import sys, time; time.sleep(60)', 'TimeoutError'),
    ('import sys; sys.exit(3)', 'the worker ended'),
    ('print("hello", flush=True); import time; time.sleep(60)', 'JSONDecodeError'),
    ('print("{}", flush=True); import time; time.sleep(60)', 'FileNotFoundError'),
    ('print("x" * 200000, flush=True); import time; time.sleep(60)', 'ValueError'),
])
async def test_a_worker_that_speaks_no_protocol_is_an_error_and_ends(
    synthesizer: Pyttsx3Synthesizer, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    started: list[asyncio.subprocess.Process] = []

    async def start() -> asyncio.subprocess.Process:
        started.append(await asyncio.create_subprocess_exec(
            sys.executable, '-c', script, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE))
        return started[-1]

    monkeypatch.setattr(tts, 'START_DEADLINE', 0.3 if 'sleep' in script and 'print' not in script else 15.0)
    with monkeypatch.context() as patch:
        patch.setattr(synthesizer, '_start', start)
        with pytest.raises(SpeechError, match=f'speech worker: .*{words}'):
            await synthesizer.synthesise('Hello.', 'en-US')
    assert started[0].returncode is not None
    monkeypatch.undo()
    assert (await synthesizer.synthesise('Hello.', 'en-US')).duration > 0.1


async def test_aclose_ends_worker_and_files() -> None:
    synthesizer = Pyttsx3Synthesizer(190)
    await synthesizer.synthesise('Hello.', 'en-US')
    process, folder = worker(synthesizer), Path(synthesizer._folder.name)
    process.send_signal(signal.SIGSTOP)
    call = asyncio.create_task(synthesizer.synthesise('Hello.', 'en-US'))
    await asyncio.sleep(0.01)
    await synthesizer.aclose()
    assert call.done()
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert not folder.exists()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_aclose_without_a_worker() -> None:
    synthesizer = Pyttsx3Synthesizer(190)
    folder = Path(synthesizer._folder.name)
    assert folder.is_dir()
    await synthesizer.aclose()
    assert not folder.exists()
