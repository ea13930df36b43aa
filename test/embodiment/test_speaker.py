"""Who speaks, and when it can be heard."""
from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from harness import until

from pace_ros.clock import VirtualClock
from pace_ros.embodiment import Audio, Cue, Level, LocalSpeaker, PreferredSpeaker, Sentence, SpeechError
from pace_ros.embodiment.speaker import Started
from pace_ros.turn import Content

pytestmark = pytest.mark.anyio
RATE = 16000
CUE = Cue('t1', Content.ANSWER)


class Synthesizer:
    """A tenth of a second of silence, then a tone."""

    closed = False

    async def synthesise(self, text: str, locale: str) -> Audio:
        return Audio(np.concatenate([np.zeros(1600), np.full(1600, 3000)]).astype(np.int16), RATE)

    async def aclose(self) -> None:
        self.closed = True


class Sink:
    """Plays until told; adds a quarter of a second."""

    name = 'played'
    latency = 0.25

    def __init__(self, *, plays_here: bool = True) -> None:
        self.plays_here = plays_here
        self.played: list[tuple[str, Content]] = []
        self.over = asyncio.Event()

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        self.played.append((turn_id, content))
        begun()
        await self.over.wait()


async def test_a_sound_is_heard_after_its_silence_and_the_sink_s_latency() -> None:
    sink, started = Sink(), list[float]()
    sink.over.set()
    speaker = LocalSpeaker(Synthesizer(), sink)
    sentence = await speaker.prepare('Hello.', 'en-US')
    assert started == []
    await speaker.say(sentence, CUE, started.append)
    assert (sink.played, started) == ([('t1', Content.ANSWER)], [pytest.approx(0.35)])
    assert speaker.name == 'played'


@pytest.mark.parametrize('plays_here', [True, False])
async def test_its_loudness_is_told_where_it_is_played(plays_here: bool) -> None:
    sink, told = Sink(plays_here=plays_here), list[Level]()
    sink.latency = 0.0
    speaker = LocalSpeaker(Synthesizer(), sink, told.append)
    saying = asyncio.create_task(speaker.say(await speaker.prepare('Hello.', 'en-US'), CUE, lambda _delay: None))
    if plays_here:
        await until(lambda: told)
        assert told[0].markers[0].turn_id == 't1'
    saying.cancel()
    await asyncio.wait([saying])
    count = len(told)
    await asyncio.sleep(0.07)
    assert len(told) == count
    assert bool(told) == plays_here


async def test_a_sound_is_told_to_its_end_though_the_device_lags_behind() -> None:
    """The sink takes a sample 0.25 s before it is heard, and its end likewise."""
    sink, told = Sink(), list[Level]()
    sink.over.set()
    speaker = LocalSpeaker(Synthesizer(), sink, told.append)
    await speaker.say(await speaker.prepare('Hello.', 'en-US'), CUE, lambda _delay: None)
    assert sum(len(level.rms) for level in told) < 40, 'it is still being heard'
    await until(lambda: sum(len(level.rms) for level in told) >= 40)
    rms = np.concatenate([level.rms for level in told])
    assert (len(rms), rms[:20].max(), rms[20:].min()) == (40, 0.0, pytest.approx(3000 / 32768))


class Robot:
    """The robot's own speech, which comes and goes."""

    name = 'robot'

    def __init__(self) -> None:
        self.there = True
        self.said: list[str] = []

    async def prepare(self, text: str, locale: str) -> Sentence:
        return Sentence(text, locale)

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        self.said.append(sentence.text)
        started(0.0)

    async def aclose(self) -> None:
        self.there = False


async def test_the_robot_s_own_speech_is_preferred_while_it_is_there() -> None:
    robot, sink, synthesizer = Robot(), Sink(), Synthesizer()
    sink.over.set()
    speaker = PreferredSpeaker(robot, lambda: robot.there, LocalSpeaker(synthesizer, sink))
    early = await speaker.prepare('One.', 'en-US')
    assert speaker.name == 'robot'
    robot.there = False
    assert speaker.name == 'played'
    late = await speaker.prepare('Two.', 'en-US')
    for sentence in (early, late):
        await speaker.say(sentence, CUE, lambda _delay: None)
    assert robot.said == ['One.'], 'whoever prepared a sentence says it'
    assert len(sink.played) == 1
    await speaker.aclose()
    assert synthesizer.closed


class Refusing(Robot):
    """The robot's own speech, which is there and refuses every sentence."""

    async def say(self, sentence: Sentence, cue: Cue, started: Started) -> None:
        self.said.append(sentence.text)
        raise SpeechError('refused')


async def spoken(speaker: PreferredSpeaker, text: str) -> bool:
    try:
        await speaker.say(await speaker.prepare(text, 'en-US'), CUE, lambda _delay: None)
    except SpeechError:
        return False
    return True


async def test_after_an_error_of_the_robot_s_own_speech_ours_is_heard_for_a_while() -> None:
    robot, sink, clock = Refusing(), Sink(), VirtualClock()
    sink.over.set()
    speaker = PreferredSpeaker(robot, lambda: True, LocalSpeaker(Synthesizer(), sink), distrust=30.0, clock=clock)
    assert not await spoken(speaker, 'One.')
    assert await spoken(speaker, 'Two.')
    clock.advance(29.9)
    assert speaker.name == 'played'
    assert await spoken(speaker, 'Three.')
    assert len(sink.played) == 2
    clock.advance(0.2)
    assert speaker.name == 'robot'
    assert not await spoken(speaker, 'Four.')
    assert robot.said == ['One.', 'Four.']


async def test_where_ours_cannot_speak_either_the_robot_s_own_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, synthesizer, sink, clock = Refusing(), Synthesizer(), Sink(), VirtualClock()
    speaker = PreferredSpeaker(robot, lambda: True, LocalSpeaker(synthesizer, sink), distrust=30.0, clock=clock)

    async def fail(*_: object) -> Audio:
        raise SpeechError('none')

    assert not await spoken(speaker, 'One.')
    with monkeypatch.context() as patch:
        patch.setattr(sink, 'play', fail)
        assert not await spoken(speaker, 'Two.')
    assert speaker.name == 'robot', 'a loudspeaker that cannot play is no better'
    assert not await spoken(speaker, 'Three.')
    assert speaker.name == 'played'
    monkeypatch.setattr(synthesizer, 'synthesise', fail)
    await spoken(speaker, 'Four.')
    assert robot.said == ['One.', 'Three.', 'Four.']
