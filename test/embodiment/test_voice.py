"""One mouth: sentences while the answer still streams, a filler that never delays them, silence when told."""
from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from harness import ScriptedSink, ScriptedSynthesizer, until

from pace_ros.embodiment import Audio, LocalSpeaker, SpeechTrack, Voice
from pace_ros.turn import Content

pytestmark = pytest.mark.anyio
Started = list[tuple[Content, str]]


def mouth(**sink: object) -> tuple[Voice, ScriptedSynthesizer, ScriptedSink]:
    synthesizer = ScriptedSynthesizer()
    scripted = ScriptedSink(synthesizer, **sink)  # type: ignore[arg-type]
    return Voice(LocalSpeaker(synthesizer, scripted)), synthesizer, scripted


def track(voice: Voice, name: str = 't', started: Started | None = None) -> SpeechTrack:
    begun: Started = [] if started is None else started
    return voice.track(name, 'en-US', lambda content, text, _delay: begun.append((content, text)))


async def test_sentences_sound_in_order_while_the_answer_still_streams() -> None:
    voice, _synthesizer, sink = mouth()
    started: Started = []
    speech = track(voice, started=started)
    speech.feed('One. Tw')
    await until(lambda: ('end', 'One.') in sink.events)
    speech.feed('o. Three')
    await until(lambda: ('end', 'Two.') in sink.events)
    assert sink.begun() == ['One.', 'Two.'], 'the third is not complete'
    speech.finish()
    assert await speech.done() == 'spoken'
    assert started == [(Content.ANSWER, text) for text in ('One.', 'Two.', 'Three')]


async def test_a_filler_is_cut_when_the_first_sentence_of_the_answer_is_ready() -> None:
    voice, synthesizer, sink = mouth(hold=True)
    synthesizer.gates['One.'] = asyncio.Event()
    started: Started = []
    speech = track(voice, started=started)
    speech.filler('Good question!')
    await until(lambda: sink.now == 'Good question!')
    speech.feed('One. Two.')
    for _ in range(20):
        await asyncio.sleep(0)
    assert sink.now == 'Good question!', 'it fills the wait for the synthesiser too'
    synthesizer.gates['One.'].set()
    await until(lambda: sink.now == 'One.')
    assert sink.events == [('begin', 'Good question!'), ('cut', 'Good question!'), ('begin', 'One.')]
    sink.go_on.set()
    speech.finish()
    assert await speech.done() == 'spoken'
    assert [content for content, _ in started] == [Content.FILLER, Content.ANSWER, Content.ANSWER]


async def test_a_filler_that_is_not_ready_gives_way() -> None:
    voice, synthesizer, sink = mouth()
    synthesizer.gates['Good question!'] = asyncio.Event()
    speech = track(voice)
    speech.filler('Good question!')
    await asyncio.sleep(0)
    speech.feed('One. ')
    await until(lambda: ('end', 'One.') in sink.events)
    synthesizer.gates['Good question!'].set()
    speech.finish()
    assert await speech.done() == 'spoken'
    assert sink.begun() == ['One.']


async def test_a_filler_synthesised_after_the_answer_began_is_not_said() -> None:
    voice, synthesizer, sink = mouth()
    synthesizer.gates = {'Good question!': asyncio.Event(), 'One.': asyncio.Event()}
    speech = track(voice)
    speech.filler('Good question!')
    speech.feed('One. ')
    synthesizer.gates['Good question!'].set()
    await until(lambda: 'Good question!' in synthesizer.texts)
    synthesizer.gates['One.'].set()
    speech.finish()
    await speech.done()
    assert sink.begun() == ['One.']


async def test_no_filler_after_the_answer_and_no_second_one() -> None:
    voice, _synthesizer, sink = mouth()
    speech = track(voice)
    speech.filler('Good question!')
    speech.filler('Oh!')
    await until(lambda: ('end', 'Good question!') in sink.events)
    speech.feed('One. ')
    speech.filler('Hm!')
    speech.finish()
    await speech.done()
    assert sink.begun() == ['Good question!', 'One.']


async def test_a_filler_alone_is_spoken_to_its_end() -> None:
    voice, _synthesizer, sink = mouth(hold=True)
    speech = track(voice)
    speech.filler('Good question!')
    speech.finish()
    await until(lambda: sink.now)
    done = asyncio.create_task(speech.done())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not done.done()
    sink.go_on.set()
    assert await done == 'spoken'


async def test_a_preamble_is_a_filler_from_when_it_is_known_to_be_one() -> None:
    """The first of its sentences sounds already, the second waits, the third has no end; the answer begins the same."""
    voice, _synthesizer, sink = mouth(hold=True)
    cues: list[Content] = []
    play = sink.play

    async def noted(audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        cues.append(content)
        await play(audio, turn_id, content, begun)

    sink.play = noted  # type: ignore[method-assign]
    started: Started = []
    speech = track(voice, started=started)
    speech.feed('Sure. Let me see. One')
    await until(lambda: sink.now == 'Sure.')
    speech.preamble_ends()
    speech.feed('Sure. It costs 12.')
    speech.finish()
    sink.go_on.set()
    assert await speech.done() == 'spoken'
    assert started == [
        (Content.ANSWER, 'Sure.'), (Content.FILLER, 'Let me see.'), (Content.FILLER, 'One'),
        (Content.ANSWER, 'Sure.'), (Content.ANSWER, 'It costs 12.'),
    ]
    assert cues == [content for content, _ in started]


async def test_another_conversation_waits_for_the_sentence_being_spoken() -> None:
    voice, _synthesizer, sink = mouth(hold=True)
    mine, yours = track(voice, 'mine'), track(voice, 'yours')
    mine.feed('One. ')
    await until(lambda: sink.now == 'One.')
    assert voice.speaking is mine
    yours.feed('Eins. ')
    for _ in range(20):
        await asyncio.sleep(0)
    assert sink.begun() == ['One.']
    mine.finish()
    yours.finish()
    sink.go_on.set()
    assert (await mine.done(), await yours.done()) == ('spoken', 'spoken')
    assert sink.events == [('begin', 'One.'), ('end', 'One.'), ('begin', 'Eins.'), ('end', 'Eins.')]
    assert voice.speaking is None


async def test_stopping_one_lets_the_other_speak() -> None:
    voice, _synthesizer, sink = mouth(hold=True)
    mine, yours = track(voice, 'mine'), track(voice, 'yours')
    mine.feed('One. Two. ')
    await until(lambda: sink.now == 'One.')
    yours.feed('Eins. ')
    mine.stop()
    await until(lambda: sink.now == 'Eins.')
    assert voice.speaking is yours
    assert await mine.done() == 'stopped'
    sink.go_on.set()
    yours.finish()
    assert await yours.done() == 'spoken'


async def test_stopping_one_that_waits_leaves_the_speaker_alone() -> None:
    voice, _synthesizer, sink = mouth(hold=True)
    mine, yours = track(voice, 'mine'), track(voice, 'yours')
    mine.feed('One. ')
    await until(lambda: sink.now == 'One.')
    yours.feed('Eins. ')
    await asyncio.sleep(0)
    yours.stop()
    assert await yours.done() == 'stopped'
    assert sink.now == 'One.'
    sink.go_on.set()
    mine.finish()
    assert await mine.done() == 'spoken'


@pytest.mark.parametrize('what', ['filler', 'answer'])
async def test_stop_silences_at_once(what: str) -> None:
    voice, _synthesizer, sink = mouth(hold=True)
    speech = track(voice)
    if what == 'filler':
        speech.filler('Good question!')
    else:
        speech.feed('One. Two. ')
    await until(lambda: sink.now)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    speech.stop()
    assert await speech.done() == 'stopped'
    assert loop.time() - begin < 5.0, 'the sound would last for ever'
    assert not sink.now
    assert [kind for kind, _ in sink.events] == ['begin', 'cut']
    assert voice.speaking is None
    speech.feed('Three. ')
    speech.filler('Hm!')
    await asyncio.sleep(0.01)
    assert len(sink.events) == 2


async def test_a_track_stopped_before_it_began() -> None:
    voice, synthesizer, _sink = mouth()
    speech = track(voice)
    speech.filler('Good question!')
    speech.feed('One. ')
    speech.stop()
    assert await speech.done() == 'stopped'
    assert synthesizer.texts == []


async def test_a_stop_in_the_instant_a_sentence_ends_is_not_lost() -> None:
    """Python before 3.12: ``asyncio.wait_for``, as the ALSA sink uses it, drops a cancellation that comes then."""
    played: list[str] = []
    synthesizer = ScriptedSynthesizer()
    ends: list[asyncio.Future[None]] = []

    class WaitingSink:
        name = 'waiting'
        plays_here = False
        latency = 0.0

        async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
            played.append(synthesizer.text_of(audio) + turn_id)
            ends.append(asyncio.get_running_loop().create_future())
            await asyncio.wait_for(ends[-1], 60.0)

    speech = track(Voice(LocalSpeaker(synthesizer, WaitingSink())), '')
    speech.feed('One. Two. Three. ')
    await until(lambda: ends)
    ends[0].set_result(None)
    await asyncio.sleep(0)
    speech.stop()
    for _ in range(20):
        await asyncio.sleep(0)
    assert played == ['One.']
    assert await speech.done() == 'stopped'


async def test_a_broken_synthesiser_is_reported_and_the_rest_goes_on() -> None:
    voice, synthesizer, sink = mouth()
    synthesizer.broken = 'One.'
    speech = track(voice)
    speech.feed('One. Two. ')
    speech.finish()
    assert await speech.done() == 'failed: the engine is broken'
    assert sink.begun() == ['Two.']
    assert voice.error == '', 'the voice has recovered'


async def test_a_voice_that_stays_broken_says_why() -> None:
    voice, synthesizer, sink = mouth()
    synthesizer.broken = True
    speech = track(voice)
    speech.filler('Good question!')
    speech.feed('One. ')
    speech.finish()
    assert await speech.done() == 'failed: the engine is broken'
    assert voice.error == 'the engine is broken'
    assert sink.events == []


@pytest.mark.parametrize('text', ['', '... !', '🙂'])
async def test_what_cannot_be_said_is_silent(text: str) -> None:
    voice, synthesizer, _sink = mouth()
    speech = track(voice)
    speech.feed(text)
    speech.finish()
    assert await speech.done() == 'silent'
    assert synthesizer.texts == []


async def test_closing_the_voice_closes_the_engine() -> None:
    voice, synthesizer, _sink = mouth()
    await voice.aclose()
    assert synthesizer.closed


async def test_a_sentence_in_another_language_is_read_by_its_own_voice() -> None:
    """A language model may answer an English question in Chinese."""
    voice, synthesizer, _sink = mouth()
    locales: list[str] = []
    render = synthesizer.synthesise

    async def noted(text: str, locale: str) -> Audio:
        locales.append(locale)
        return await render(text, locale)

    synthesizer.synthesise = noted  # type: ignore[method-assign]
    speech = track(voice)
    speech.feed('It goes far. 云雀能跑很远。')
    speech.finish()
    assert await speech.done() == 'spoken'
    assert locales == ['en-US', 'zh-CN']
