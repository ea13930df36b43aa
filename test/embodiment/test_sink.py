"""Where sound goes; aplay is the real one, on ALSA's file plugin."""
from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from harness import until

from pace_ros.embodiment import Audio, SpeechError, open_sink
from pace_ros.embodiment import sink as sink_module
from pace_ros.embodiment.sink import LEAD, AlsaSink, Chunk, NullSink, TopicSink, has_alsa_device
from pace_ros.turn import Content

RATE = 16000
ALSA = Path('/usr/share/alsa/alsa.conf')
alsa = pytest.mark.skipif(not shutil.which('aplay') or not ALSA.exists(), reason='aplay is not installed')


def sound(seconds: float) -> Audio:
    return Audio((1000 * np.sin(np.arange(int(seconds * RATE)) / 20)).astype(np.int16), RATE)


def now() -> float:
    return asyncio.get_running_loop().time()


async def stopped(task: asyncio.Task[None]) -> float:
    """Cancel a task; returns how long it took to end."""
    begin = now()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    return now() - begin


# -- null --------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_silence_lasts_as_long_as_the_sound_would() -> None:
    begin = now()
    await NullSink().play(sound(0.2), 't', Content.ANSWER, lambda: None)
    assert 0.19 <= now() - begin < 2.0


@pytest.mark.anyio
async def test_silence_stops_when_told_to() -> None:
    task = asyncio.create_task(NullSink().play(sound(60.0), 't', Content.ANSWER, lambda: None))
    await asyncio.sleep(0)
    assert await stopped(task) < 5.0


# -- alsa --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ALSA device 'kept' that writes raw samples to the returned file."""
    kept, config = tmp_path / 'kept.raw', tmp_path / 'asound.conf'
    config.write_text(
        f'<{ALSA}>\npcm.kept {{ type file slave.pcm "null" file "{kept}" format "raw" }}\n', encoding='utf-8')
    monkeypatch.setenv('ALSA_CONFIG_PATH', str(config))
    return kept


@alsa
@pytest.mark.anyio
async def test_the_device_gets_the_very_samples(device: Path) -> None:
    audio = sound(0.3)
    await AlsaSink('kept', lambda: 0.0).play(audio, 't', Content.ANSWER, lambda: None)
    received = np.frombuffer(device.read_bytes(), '<i2')
    assert received[: len(audio.samples)].tolist() == audio.samples.tolist()
    assert not received[len(audio.samples) :].any(), 'a device may pad its last period with silence'


@alsa
@pytest.mark.anyio
async def test_a_cancelled_sound_ends_aplay_at_once(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is a pipe nobody reads: aplay is stuck in the middle of the sound."""
    processes: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def remembered(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        processes.append(await start(*arguments, **options))  # type: ignore[arg-type]
        return processes[-1]

    monkeypatch.setattr(sink_module.asyncio, 'create_subprocess_exec', remembered)
    os.mkfifo(device)
    pipe = os.open(device, os.O_RDWR | os.O_NONBLOCK)
    try:
        task = asyncio.create_task(AlsaSink('kept', lambda: 0.0).play(sound(30.0), 't', Content.ANSWER, lambda: None))
        heard = bytearray()

        def listen() -> bool:
            try:
                heard.extend(os.read(pipe, 1000))
            except BlockingIOError:
                return False
            return bool(heard)

        await until(listen)
        assert not task.done()
        assert await stopped(task) < 1.0  # 0.1 s on a machine of its own
        assert [process.returncode for process in processes] == [-9]
    finally:
        os.close(pipe)


@alsa
@pytest.mark.anyio
async def test_an_unknown_device_fails_in_aplay_s_words(device: Path) -> None:
    with pytest.raises(SpeechError, match=r'aplay: .*no_such_device'):
        await AlsaSink('no_such_device', lambda: 0.0).play(sound(0.1), 't', Content.ANSWER, lambda: None)
    assert not device.exists()


@alsa
@pytest.mark.anyio
async def test_a_device_that_never_ends_meets_a_deadline(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module, 'OVERRUN', 0.2 - 30.0)
    os.mkfifo(device)
    pipe = os.open(device, os.O_RDWR | os.O_NONBLOCK)
    try:
        with pytest.raises(SpeechError, match='device kept did not play to the end'):
            await AlsaSink('kept', lambda: 0.0).play(sound(30.0), 't', Content.ANSWER, lambda: None)
    finally:
        os.close(pipe)


@pytest.mark.anyio
async def test_without_aplay_there_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(SpeechError, match='aplay cannot be started'):
        await AlsaSink('default', lambda: 0.0).play(sound(0.1), 't', Content.ANSWER, lambda: None)


# -- topic -------------------------------------------------------------------------------------------------------------


class Topic:
    """What a loudspeaker node would receive, with the loop's time."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.times: list[float] = []

    def publish(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.times.append(now())


@pytest.mark.anyio
@pytest.mark.parametrize('seconds', [0.3, 0.31234, 0.005])
async def test_all_samples_are_published_in_real_time(seconds: float) -> None:
    topic, audio = Topic(), sound(seconds)
    begin = now()
    handed: list[float] = []
    await TopicSink(topic.publish).play(audio, 't7', Content.FILLER, lambda: handed.append(now()))
    assert now() - begin >= audio.duration + LEAD - 0.01
    assert np.concatenate([chunk.samples for chunk in topic.chunks]).tolist() == audio.samples.tolist()
    facts = {(chunk.sample_rate, chunk.turn_id, chunk.content) for chunk in topic.chunks}
    assert facts == {(RATE, 't7', Content.FILLER)}
    assert not any(chunk.flush for chunk in topic.chunks)
    assert [chunk.start for chunk in topic.chunks] == [True] + [False] * (len(topic.chunks) - 1)
    assert all(len(chunk.samples) <= 0.02 * RATE for chunk in topic.chunks)
    (first_handed,) = handed
    for number, (chunk, instant) in enumerate(zip(topic.chunks, topic.times, strict=True)):
        assert chunk.due_in <= LEAD + 0.001, 'no chunk comes earlier than its lead'
        assert instant + chunk.due_in == pytest.approx(first_handed + LEAD + number * 0.02, abs=0.01), 'no gap'


@pytest.mark.anyio
async def test_a_cancelled_sound_flushes_the_loudspeaker() -> None:
    topic = Topic()
    task = asyncio.create_task(TopicSink(topic.publish).play(sound(30.0), 't7', Content.ANSWER, lambda: None))
    await until(lambda: len(topic.chunks) > 3)
    assert await stopped(task) < 5.0
    *before, last = topic.chunks
    assert (len(last.samples), last.turn_id, last.flush) == (0, 't7', True)
    assert not any(chunk.flush for chunk in before)
    count = len(topic.chunks)
    await asyncio.sleep(0.05)
    assert len(topic.chunks) == count


@pytest.mark.anyio
async def test_no_sound_publishes_nothing() -> None:
    topic = Topic()
    await TopicSink(topic.publish).play(Audio(np.zeros(0, np.int16), RATE), 't', Content.ANSWER, lambda: None)
    assert topic.chunks == []


# -- choosing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'kind'), [('null', NullSink), ('alsa', AlsaSink), ('topic', TopicSink)])
def test_sinks_by_name(name: str, kind: type) -> None:
    sink = open_sink(name, 'default', lambda: 0.25, Topic().publish)
    assert isinstance(sink, kind)
    assert sink.name == name
    assert sink.latency == {'null': 0.0, 'alsa': 0.25, 'topic': LEAD}[name]


@pytest.mark.parametrize('there', [True, False])
def test_auto_is_alsa_where_there_is_a_device(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(sink_module, 'has_alsa_device', lambda: there)
    assert open_sink('auto', 'default', lambda: 0.0, Topic().publish).name == ('alsa' if there else 'null')


def test_no_device_without_aplay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('PATH', str(tmp_path))
    assert not has_alsa_device()
