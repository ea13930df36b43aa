"""Which utterances become turns, which turn gives way to which, and that nothing is left behind."""
from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from pathlib import Path as FilePath

import pytest
from harness import (
    COLOURS,
    FOX,
    LIGHTHOUSE,
    MUSIC,
    REMARKS,
    House,
    ScriptedGenerator,
    ScriptedSink,
    ScriptedSynthesizer,
    open_house,
    until,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import DROP, STALL, Script, answer, chunk, scripted_cloud, sse

from pace_ros.embedding import Embedder
from pace_ros.embodiment import LocalSpeaker, Voice
from pace_ros.record import read_turns
from pace_ros.turn import Arm, Content, Modality, Outcome, Path, Utterance

STORY = answer('Once upon a time.')
HANGING = Script([STALL])
BROKEN_OFF = Script([sse(chunk('Once upon')), STALL])
SPEECH: dict[str, object] = {'speech.enabled': True}


def mouth(*, hold: bool = False, slow_to_stop: float = 0.0) -> tuple[Voice, ScriptedSink]:
    synthesizer = ScriptedSynthesizer()
    sink = ScriptedSink(synthesizer, hold=hold, slow_to_stop=slow_to_stop)
    return Voice(LocalSpeaker(synthesizer, sink)), sink


# -- pre-emption and cancelling ----------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize('script', [HANGING, BROKEN_OFF], ids=['waiting', 'speaking'])
async def test_the_next_utterance_preempts_the_running_turn(
    tmp_path: FilePath, embedder: Embedder, script: Script
) -> None:
    async with scripted_cloud(script, STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        old = house.submit(LIGHTHOUSE)
        await until(lambda: house.answers(old) if script is BROKEN_OFF else cloud.requests)
        new = house.submit(FOX)
        assert (old.record.outcome, old.record.reason) == (Outcome.PREEMPTED, 'the visitor spoke again')
        frames = len(house.outlet.of(old.turn_id))
        await house.settled(old, new)
        assert new.record.outcome is Outcome.ANSWERED
        assert len(house.outlet.of(old.turn_id)) == frames
        await until(lambda: cloud.closed_early == 1)
        assert [message['content'] for message in house.asked()[1:]] == [FOX], 'the broken turn is no history'
        assert house.dialogue.running == 0


@pytest.mark.anyio
async def test_utterances_without_a_breath_between_them(tmp_path: FilePath, embedder: Embedder) -> None:
    """The first turn is pre-empted before its task has run at all; its record is written all the same."""
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        turns = [house.submit(text) for text in (LIGHTHOUSE, FOX, MUSIC)]
        await until(lambda: house.dialogue.running == 0)
        assert [turn.record.outcome for turn in turns] == [Outcome.PREEMPTED, Outcome.PREEMPTED, Outcome.ANSWERED]
        assert all(turn.silent for turn in turns)
        assert len(await house.written()) == 3


@pytest.mark.anyio
async def test_a_turn_cancelled_before_it_ran(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        turn = house.submit(LIGHTHOUSE)
        house.dialogue.cancel(turn.turn_id, 'changed my mind')
        await until(lambda: turn.silent)
        assert house.dialogue.running == 0
        assert [record.outcome for record in await house.written()] == [Outcome.CANCELLED]


@pytest.mark.anyio
async def test_preemption_stays_within_the_conversation(tmp_path: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, STORY]), STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        mine = house.submit(LIGHTHOUSE, 'a')
        await until(lambda: cloud.requests)
        await house.ask(FOX, 'b')
        gate.set()
        await house.settled(mine)
        assert mine.record.outcome is Outcome.ANSWERED


@pytest.mark.anyio
async def test_preemption_silences_an_answer_that_is_still_being_spoken(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    voice, sink = mouth(hold=True)
    async with scripted_cloud(answer('One. ', 'Two. ', 'Three.'), HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, SPEECH, voice=voice
    ) as house:
        old = house.submit(LIGHTHOUSE)
        await until(lambda: sink.now and old.ended.is_set())
        house.submit(FOX)
        await house.settled(old)
        assert old.record.outcome is Outcome.ANSWERED
        assert old.record.speech_outcome == 'stopped'
        assert sink.events == [('begin', 'One.'), ('cut', 'One.')]


@pytest.mark.anyio
async def test_a_refused_utterance_preempts_nothing(tmp_path: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, STORY])) as cloud, open_house(tmp_path, embedder, cloud) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: cloud.requests)
        await house.ask('')
        gate.set()
        await house.settled(turn)
        assert turn.record.outcome is Outcome.ANSWERED


@pytest.mark.anyio
async def test_cancel_ends_one_turn(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(BROKEN_OFF) as cloud, open_house(tmp_path, embedder, cloud) as house:
        one, other = house.submit(LIGHTHOUSE, 'a'), house.submit(FOX, 'b')
        await until(lambda: house.answers(one) and house.answers(other))
        assert house.dialogue.running == 2
        assert house.dialogue.cancel(one.turn_id, 'the client left')
        await house.settled(one)
        assert (one.record.outcome, one.record.reason) == (Outcome.CANCELLED, 'the client left')
        assert not other.ended.is_set()
        assert house.dialogue.running == 1
        assert not house.dialogue.cancel(one.turn_id, 'again')
        assert not house.dialogue.cancel('unknown', '')


@pytest.mark.anyio
async def test_stop_all_silences_everybody(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, sink = mouth(hold=True)
    async with scripted_cloud(answer('One. ', 'Two.'), HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, SPEECH, voice=voice
    ) as house:
        spoken = house.submit(LIGHTHOUSE, 'a')
        await until(lambda: sink.now and spoken.ended.is_set())
        waiting = house.submit(FOX, 'b')
        await until(lambda: len(cloud.requests) == 2)
        assert house.dialogue.stop_all('stop was called') == 2
        await house.settled(spoken, waiting)
        assert (spoken.record.outcome, spoken.record.speech_outcome) == (Outcome.ANSWERED, 'stopped')
        assert (waiting.record.outcome, waiting.record.reason) == (Outcome.CANCELLED, 'stop was called')
        assert sink.events == [('begin', 'One.'), ('cut', 'One.')]
        assert house.dialogue.stop_all('again') == 0


@pytest.mark.anyio
async def test_a_stopped_turn_utters_no_filler(tmp_path: FilePath, embedder: Embedder) -> None:
    generator = ScriptedGenerator(None)
    async with scripted_cloud(HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, {'filler.mode': 'fixed', 'filler.budget': 10.0}, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: cloud.requests)
        house.dialogue.stop_all('stop')
        generator.jobs[0].text.set_result('Good question!')
        await house.settled(turn)
        assert house.outlet.of(turn.turn_id) == []
        assert generator.jobs[0].cancelled


# -- barge-in ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize('on_voice', [True, False])
async def test_a_voice_over_the_robots_speech_silences_it_if_configured(
    tmp_path: FilePath, embedder: Embedder, on_voice: bool
) -> None:
    voice, sink = mouth(hold=True)
    script = Script([sse(chunk('One. '), chunk('Two. ')), STALL])
    async with scripted_cloud(script) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'barge_in.on_voice': on_voice}, voice=voice
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: sink.now)
        house.dialogue.voice_activity(active=True)
        assert turn.ended.is_set() is on_voice
        if on_voice:
            assert (turn.record.outcome, turn.record.reason) == (Outcome.PREEMPTED, 'the visitor began to speak')
            await house.settled(turn)
            assert sink.events[-1] == ('cut', 'One.')


@pytest.mark.anyio
async def test_a_voice_while_the_robot_is_silent_stops_nothing(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, _sink = mouth()
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, STORY])) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'barge_in.on_voice': True}, voice=voice
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: cloud.requests)
        house.dialogue.voice_activity(active=True)
        house.dialogue.voice_activity(active=False)
        gate.set()
        await house.settled(turn)
        assert (turn.record.outcome, turn.record.speech_outcome) == (Outcome.ANSWERED, 'spoken')


@pytest.mark.anyio
async def test_only_the_beginning_of_a_voice_is_a_barge_in(tmp_path: FilePath, embedder: Embedder) -> None:
    """A visitor who was speaking already when the robot began is not heard as beginning by every message."""
    voice, sink = mouth(hold=True)
    async with scripted_cloud(BROKEN_OFF) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'barge_in.on_voice': True}, voice=voice
    ) as house:
        house.dialogue.voice_activity(active=True)
        turn = house.submit(COLOURS)
        await until(lambda: sink.now)
        house.dialogue.voice_activity(active=True)
        assert not sink.events[1:]
        house.dialogue.voice_activity(active=False)
        assert not sink.events[1:]
        house.dialogue.voice_activity(active=True)
        await house.settled(turn)
        assert sink.events[1:] == [('cut', sink.begun()[0])]


@pytest.mark.anyio
async def test_a_barge_in_stops_the_turn_that_speaks_and_no_other(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, sink = mouth(hold=True)
    async with scripted_cloud(HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'barge_in.on_voice': True}, voice=voice
    ) as house:
        thinking = house.submit(LIGHTHOUSE, 'a')
        await until(lambda: cloud.requests)
        speaking = house.submit(COLOURS, 'b')
        await until(lambda: sink.now)
        house.dialogue.voice_activity(active=True)
        await house.settled(speaking)
        assert speaking.record.speech_outcome == 'stopped'
        assert not thinking.ended.is_set()


@pytest.mark.anyio
async def test_voice_activity_without_a_voice_is_harmless(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        tmp_path, embedder, cloud, {'barge_in.on_voice': True}
    ) as house:
        house.dialogue.voice_activity(active=True)
        assert (await house.ask(LIGHTHOUSE)).outcome is Outcome.ANSWERED


# -- speech ------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_answer_is_spoken_sentence_by_sentence_after_its_filler(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    voice, sink = mouth()
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, answer('One. T', 'wo. Three')])) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'filler.mode': 'fixed', 'filler.budget': 10.0}, voice=voice,
        generator=ScriptedGenerator('Good question!'),
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: ('end', 'Good question!') in sink.events)
        gate.set()
        await house.settled(turn)
        assert sink.begun() == ['Good question!', 'One.', 'Two.', 'Three']
        assert turn.record.speech_outcome == 'spoken'
        assert turn.record.speech_end >= turn.record.completion
        (written,) = await house.written()
        assert written.speech_outcome == 'spoken'
        onsets = [(onset.modality.name, onset.content.name, onset.detail) for onset in written.onsets
                  if onset.modality.name == 'SPEECH']
        assert onsets == [('SPEECH', 'FILLER', 'Good question!'), ('SPEECH', 'ANSWER', 'One.')]


@pytest.mark.anyio
async def test_speech_switched_off_is_silent(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, sink = mouth()
    async with scripted_cloud(STORY) as cloud, open_house(
        tmp_path, embedder, cloud, {'speech.enabled': False}, voice=voice
    ) as house:
        record = await house.ask(LIGHTHOUSE)
        assert sink.events == []
        assert (record.speech_outcome, math.isnan(record.speech_end)) == ('', True)


@pytest.mark.anyio
async def test_gaze_and_nod_are_shown_on_receipt_unless_switched_off(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        turn = house.submit(LIGHTHOUSE)
        await house.settled(turn)
        assert (house.outlet.looks, house.outlet.gestures) == ([(0.0, 0.0)], [(turn.turn_id, 'nod')])
        house.set({'gaze.enabled': False, 'gesture.enabled': False})
        await house.ask(FOX)
        assert (len(house.outlet.looks), len(house.outlet.gestures)) == (1, 1)


# -- the body while the model thinks -----------------------------------------------------------------------------------

THINKING: dict[str, object] = {'filler.mode': 'fixed', 'gaze.aversion_delay': 0.02, 'gesture.thinking_delay': 0.03,
                               'filler.budget': 10.0}


@pytest.mark.anyio
async def test_the_body_fills_the_wait_for_the_model_and_comes_back_with_the_answer(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    gate = asyncio.Event()
    generator = ScriptedGenerator(None)
    async with scripted_cloud(Script([gate, STORY])) as cloud, open_house(
        tmp_path, embedder, cloud, THINKING, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: len(house.outlet.gestures) == 2)
        gate.set()
        await house.settled(turn)
        assert house.outlet.looks == [(0.0, 0.0), (0.6, 0.0), (0.0, 0.0)]
        assert house.outlet.gestures == [(turn.turn_id, 'nod'), (turn.turn_id, 'think'), ('', 'rest')]
        shown = [(onset.modality, onset.content) for onset in turn.record.onsets]
        assert shown == [
            (Modality.GAZE, Content.ACKNOWLEDGEMENT), (Modality.GESTURE, Content.ACKNOWLEDGEMENT),
            (Modality.GAZE, Content.FILLER), (Modality.GESTURE, Content.FILLER),
            (Modality.TEXT, Content.ANSWER), (Modality.GAZE, Content.ANSWER),
        ]
        assert turn.record.nonverbal == 'gaze after 0.02 s, gesture after 0.03 s'


@pytest.mark.anyio
@pytest.mark.parametrize('mode', ['off', 'adaptive'])
async def test_the_body_follows_the_filler_policy(tmp_path: FilePath, embedder: Embedder, mode: str) -> None:
    """No non-verbal filler where the policy launches none, nor on an instant path."""
    never = {**THINKING, 'filler.mode': mode, 'filler.launch_below': 0.0}
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud, never) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.path, record.nonverbal) == (Path.L2, '')
    async with scripted_cloud(STORY) as cloud, open_house(
        tmp_path / 'instant', embedder, cloud, THINKING, generator=ScriptedGenerator(None)
    ) as house:
        record = await house.ask(COLOURS)
        assert (record.path, record.nonverbal, house.outlet.looks) == (Path.L1, '', [(0.0, 0.0)])


@pytest.mark.anyio
@pytest.mark.parametrize('how', ['utterance', 'stop', 'conversation'])
async def test_a_stopped_turn_takes_its_motions_back(tmp_path: FilePath, embedder: Embedder, how: str) -> None:
    async with scripted_cloud(HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, THINKING, generator=ScriptedGenerator(None)
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: len(house.outlet.gestures) == 2)
        if how == 'utterance':
            house.submit(FOX)
        elif how == 'stop':
            house.dialogue.stop_all('stop')
        else:
            house.dialogue.end_conversation('default')
        await house.settled(turn)
        await until(lambda: len(house.outlet.looks) >= 3)
        assert house.outlet.looks[:3] == [(0.0, 0.0), (0.6, 0.0), (0.0, 0.0)]
        assert house.outlet.gestures[:3] == [(turn.turn_id, 'nod'), (turn.turn_id, 'think'), ('', 'rest')]
        assert not [each for each in house.outlet.gestures[3:] if each[0] == turn.turn_id]


@pytest.mark.anyio
async def test_whoever_is_asked_to_repeat_is_looked_at(tmp_path: FilePath, embedder: Embedder) -> None:
    """The next utterance is not understood; the eyes had been aside."""
    async with scripted_cloud(HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, THINKING, generator=ScriptedGenerator(None)
    ) as house:
        house.submit(LIGHTHOUSE)
        await until(lambda: (0.6, 0.0) in house.outlet.looks)
        record = await house.ask(FOX, confidence=0.1)
        assert record.outcome is Outcome.REJECTED
        assert house.outlet.looks[-1] == (0.0, 0.0)


# -- what may become a turn --------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('text', 'fields', 'reason'),
    [
        ('', {}, 'the text is empty'),
        (' \n\t', {}, 'the text is blank'),
        ('\u3000\u200b', {}, 'the text is blank'),
        ('\x07\x07', {}, 'the text is blank'),
        ('x' * 501, {}, 'the text has 501 characters, more than max_utterance_chars (500)'),
        ('half \ud83d emoji', {}, 'the text is not valid UTF-8'),
        ('nul \0 byte', {}, 'the text is not valid UTF-8'),
        (LIGHTHOUSE, {'confidence': 1.01}, 'the confidence 1.01 is not between 0 and 1'),
        (LIGHTHOUSE, {'confidence': -0.5}, 'the confidence -0.5 is not between 0 and 1'),
        (LIGHTHOUSE, {'confidence': math.nan}, 'the confidence nan is not between 0 and 1'),
        (LIGHTHOUSE, {'confidence': math.inf}, 'the confidence inf is not between 0 and 1'),
        (LIGHTHOUSE, {'locale': 'klingon language'}, "the locale 'klingon language' is no BCP 47 tag"),
        (LIGHTHOUSE, {'locale': 'x' * 9000}, f"the locale '{'x' * 40}' is no BCP 47 tag"),
        (LIGHTHOUSE, {'locale': '\ud800'}, "the locale '\\ud800' is no BCP 47 tag"),
        (LIGHTHOUSE, {'utterance_id': 'u' * 257}, 'an id is longer than 256 characters'),
        (LIGHTHOUSE, {'conversation': 'c' * 257}, 'an id is longer than 256 characters'),
    ],
)
async def test_what_is_no_utterance_is_rejected_with_a_reason(
    tmp_path: FilePath, embedder: Embedder, text: str, fields: dict[str, object], reason: str
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        record = await house.ask(text, **fields)  # type: ignore[arg-type]
        assert (record.outcome, record.reason) == (Outcome.REJECTED, reason)
        assert record.path is Path.UNKNOWN
        assert house.outlet.frames == []
        assert cloud.requests == []
        assert len(record.text) <= 500
        record.text.encode()
        record.locale.encode()
        assert house.dialogue.open_conversations == 0
        (written,) = await house.written()
        assert written.reason == reason


@pytest.mark.anyio
async def test_what_just_passes(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        for number, (text, fields) in enumerate([
            ('x' * 500, {}),
            (LIGHTHOUSE, {'confidence': 1.0}),
            (LIGHTHOUSE, {'confidence': 0.0}),
            (LIGHTHOUSE, {'confidence': 0.35}),
            (LIGHTHOUSE, {'locale': 'zh_Hant_TW'}),
            (LIGHTHOUSE, {'locale': 'fr-CA'}),
            ('?', {}),
            ('🙂', {}),
        ]):
            record = await house.ask(text, f'c{number}', utterance_id='u' * 256, **fields)  # type: ignore[arg-type]
            assert record.outcome is Outcome.ANSWERED, (text, fields)


@pytest.mark.anyio
async def test_an_unclear_utterance_gets_a_request_to_repeat(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        record = await house.ask(LIGHTHOUSE, confidence=0.34)
        assert record.outcome is Outcome.REJECTED
        assert record.reason == 'ASR confidence 0.34 is below asr.min_confidence'
        assert record.answer == REMARKS.repeat('en')
        assert [frame.path for frame in house.answers(record)] == [Path.FALLBACK]
        assert math.isnan(record.ptfr)
        assert len(cloud.requests) == 1
        await house.ask(FOX)
        assert len(house.asked()) == 4, 'it is no history'
        chinese = await house.ask('给我讲个灯塔的故事。', confidence=0.1)
        assert chinese.answer == REMARKS.repeat('zh')


@pytest.mark.anyio
async def test_an_unclear_utterance_silences_the_robot_too(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(HANGING) as cloud, open_house(tmp_path, embedder, cloud) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: cloud.requests)
        await house.ask(LIGHTHOUSE, confidence=0.1)
        assert turn.record.outcome is Outcome.PREEMPTED


@pytest.mark.anyio
async def test_what_is_left_empty_is_filled_in(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        one, other = await house.ask(f'  {LIGHTHOUSE} ', ''), await house.ask('给我讲个灯塔的故事。', '')
        assert (one.conversation_id, one.locale, one.text) == ('default', 'en-US', LIGHTHOUSE)
        assert other.locale == 'zh-CN'
        assert (await house.ask('1 + 1 = ?')).locale == 'en-US', 'the parameter decides where the text does not'
        assert one.utterance_id
        assert one.utterance_id != other.utterance_id
        assert one.turn_id != other.turn_id
        kept = await house.ask(FOX, 'v', utterance_id='asr-7', since_speech_end=0.25, confidence=0.9)
        assert (kept.utterance_id, kept.conversation_id, kept.since_speech_end) == ('asr-7', 'v', 0.25)
        assert kept.asr_confidence == 0.9


@pytest.mark.anyio
async def test_the_turn_id_may_be_given(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        seen, ends = [], []
        turn = house.dialogue.submit(
            Utterance(LIGHTHOUSE, house.clock.monotonic()), 'goal-1', on_frame=seen.append, on_end=ends.append)
        house.turns.append(turn)
        await house.settled(turn)
        assert turn.turn_id == 'goal-1'
        assert seen == house.outlet.of('goal-1')
        assert [(record.turn_id, record.outcome) for record in ends] == [('goal-1', Outcome.ANSWERED)]


# -- arms --------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_arm_is_ignored_with_one_warning_unless_allowed(
    tmp_path: FilePath, embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        with caplog.at_level(logging.WARNING, logger='pace_ros'):
            for arm in (Arm(l1='off'), Arm(l1='off'), Arm(l0='maybe')):
                record = await house.ask(COLOURS, arm=arm)
                assert (record.path, record.arm) == (Path.L1, Arm())
        assert [each.message for each in caplog.records] == [
            'Utterance.arm is ignored: parameter allow_overrides is false (said once)']


@pytest.mark.anyio
async def test_a_label_alone_needs_no_leave(
    tmp_path: FilePath, embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        assert (await house.ask(COLOURS, arm=Arm(label='monday'))).arm == Arm(label='monday')
        assert not [each for each in caplog.records if each.name.startswith('pace_ros')]


@pytest.mark.anyio
@pytest.mark.parametrize('name', ['router', 'filler', 'volatility', 'l0', 'l1', 'rag', 'persona'])
async def test_an_unknown_switch_is_rejected_by_name(tmp_path: FilePath, embedder: Embedder, name: str) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        tmp_path, embedder, cloud, {'allow_overrides': True}
    ) as house:
        record = await house.ask(COLOURS, arm=Arm(**{name: 'sideways'}))
        assert record.outcome is Outcome.REJECTED
        assert f"Arm switch '{name}' must be one of" in record.reason
        assert "not 'sideways'" in record.reason
        assert house.outlet.frames == []


# -- conversations -----------------------------------------------------------------------------------------------------


def said(house: House, request: int = -1) -> list[str]:
    return [message['content'] for message in house.asked(request)[1:]]


@pytest.mark.anyio
async def test_history_is_bounded_and_belongs_to_its_conversation(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(*(answer(f'Answer {n}.') for n in range(6))) as cloud, open_house(
        tmp_path, embedder, cloud, {'l2.history_turns': 2, 'l0.enabled': False, 'l2.rag': False}
    ) as house:
        for text in ('Sing of an owl.', LIGHTHOUSE, FOX, MUSIC):
            await house.ask(text, 'a')
        assert said(house) == [LIGHTHOUSE, 'Answer 1.', FOX, 'Answer 2.', MUSIC]
        await house.ask(LIGHTHOUSE, 'b')
        assert said(house) == [LIGHTHOUSE]
        house.set({'l2.history_turns': 0})
        await house.ask(FOX, 'a')
        assert said(house) == [FOX]


@pytest.mark.anyio
async def test_instant_answers_are_history_too(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        await house.ask(COLOURS)
        await house.ask(LIGHTHOUSE)
        assert said(house) == [COLOURS, 'It comes in red, blue and white.', LIGHTHOUSE]


@pytest.mark.anyio
async def test_an_ended_conversation_is_forgotten_and_its_turn_cancelled(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(STORY, HANGING, STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE, 'v')
        running = house.submit(FOX, 'v')
        await until(lambda: len(cloud.requests) == 2)
        assert house.dialogue.end_conversation('v')
        assert (running.record.outcome, running.record.reason) == (Outcome.CANCELLED, 'the conversation was ended')
        assert house.dialogue.open_conversations == 0
        assert not house.dialogue.end_conversation('v')
        await house.ask(MUSIC, 'v')
        assert said(house) == [MUSIC]


@pytest.mark.anyio
async def test_ending_the_unnamed_conversation(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        assert house.dialogue.end_conversation('')
        await house.ask(FOX)
        assert said(house) == [FOX]


@pytest.mark.anyio
async def test_twenty_conversations_at_once_keep_apart(tmp_path: FilePath, embedder: Embedder) -> None:
    rounds, people = 2, 20
    gates = [asyncio.Event() for _ in range(people)]
    scripts = [Script([gate, answer(f'Answer {n}', '.')]) for n, gate in enumerate(gates)]
    scripts += [Script([answer(f'Answer {n}', '.')]) for n in range(people, rounds * people)]
    async with scripted_cloud(*scripts) as cloud, open_house(
        tmp_path, embedder, cloud,
        {'l0.enabled': False, 'l1.enabled': False, 'l2.rag': False, 'filler.mode': 'fixed', 'filler.budget': 0.05},
        generator=ScriptedGenerator(None),
    ) as house:
        first = [house.submit(f'Who is number {n}?', f'v{n}') for n in range(people)]
        await until(lambda: len(cloud.requests) == people and all(house.fillers(turn) for turn in first))
        for gate in reversed(gates):
            gate.set()
        await house.settled(*first)
        second = [house.submit(f'And who is friend {n}?', f'v{n}') for n in range(people)]
        await house.settled(*second)
        answers = {said(house, request)[-1]: f'Answer {request}.' for request in range(rounds * people)}
        for n in range(people):
            mine = [turn.record for turn in (first[n], second[n])]
            assert [record.outcome for record in mine] == [Outcome.ANSWERED] * 2
            assert [record.answer for record in mine] == [answers[record.text] for record in mine]
            assert {frame.conversation_id for turn in (first[n], second[n]) for frame in house.outlet.of(turn.turn_id)
                    } == {f'v{n}'}
            (request,) = [r for r in range(people, rounds * people) if said(house, r)[-1] == mine[1].text]
            assert said(house, request) == [mine[0].text, mine[0].answer, mine[1].text]
        assert house.dialogue.open_conversations == people
        assert house.dialogue.running == 0


# -- the end -----------------------------------------------------------------------------------------------------------


def own_tasks() -> list[str]:
    names = ('turn ', 'finish ', 'wait ', 'speech ', 'filler ', 'synthesis')
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(names)]


@pytest.mark.anyio
async def test_aclose_leaves_no_task_and_no_turn_without_a_record(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, sink = mouth(hold=True, slow_to_stop=0.05)
    async with scripted_cloud(answer('One. ', 'Two.'), HANGING, BROKEN_OFF, HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'filler.mode': 'fixed', 'filler.budget': 10.0}, voice=voice,
        generator=ScriptedGenerator(None),
    ) as house:
        spoken = house.submit(LIGHTHOUSE, 'a')
        await until(lambda: sink.now and spoken.ended.is_set())
        for number, text in enumerate((FOX, MUSIC), start=1):
            house.submit(text, f'c{number}')
            await until(lambda number=number: len(cloud.requests) == number + 1)
        await until(lambda: house.answers(house.turns[-1]))
        house.submit('Sing of an owl.', 'd')
        house.submit(COLOURS, 'e')
        house.submit('')
        await house.dialogue.aclose()
        assert own_tasks() == []
        assert house.dialogue.running == 0
        assert len(await house.written()) == len(house.turns) == 6
        assert spoken.record.outcome is Outcome.ANSWERED
        assert [turn.record.outcome for turn in house.turns[1:4]] == [Outcome.CANCELLED] * 3


@pytest.mark.anyio
async def test_aclose_waits_for_the_record_of_a_turn_whose_filler_is_being_spoken(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    voice, sink = mouth(hold=True, slow_to_stop=0.1)
    async with scripted_cloud(HANGING) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'filler.mode': 'fixed', 'filler.budget': 10.0}, voice=voice,
        generator=ScriptedGenerator('Good question!'),
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: sink.now)
        await house.dialogue.aclose()
        assert turn.silent
        assert own_tasks() == []
        assert house.dialogue.running == 0
        assert [record.turn_id for record in await house.written()] == [turn.turn_id]


@pytest.mark.anyio
async def test_aclose_of_a_quiet_dialogue(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(tmp_path, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        await house.dialogue.aclose()
        await house.dialogue.aclose()
        assert own_tasks() == []


@pytest.mark.anyio
async def test_a_quiet_dialogue_has_no_task_left(tmp_path: FilePath, embedder: Embedder) -> None:
    voice, _sink = mouth()
    async with scripted_cloud(STORY, Script([DROP]), STORY) as cloud, open_house(
        tmp_path, embedder, cloud, {**SPEECH, 'filler.mode': 'fixed', 'filler.budget': 10.0}, voice=voice,
        generator=ScriptedGenerator('Good question!', None),
    ) as house:
        records = [await house.ask(text) for text in (LIGHTHOUSE, FOX, MUSIC, COLOURS)]
        await until(lambda: not own_tasks())
        assert house.dialogue.running == 0
        assert [record.outcome for record in records].count(Outcome.ANSWERED) == 3


@pytest.mark.anyio
async def test_a_record_without_words(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        tmp_path, embedder, cloud, {'record.text': False}
    ) as house:
        await house.ask(LIGHTHOUSE)
        (record,) = await house.written()
        assert (record.text, record.answer, record.outcome) == ('', '', Outcome.ANSWERED)
        assert 'lighthouse' not in house.record_file.read_text(encoding='utf-8')


# -- whatever comes in -------------------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    [LIGHTHOUSE, COLOURS, '\ud800', '\0', '', ' ', 'a' * 501, '{"a": 1}', '<|im_end|>', '%s%n', '..', '١٢٣'])
UTTERANCES = st.tuples(
    ANY_TEXT,
    st.sampled_from(['', 'a', 'b', 'c' * 257]) | st.text(max_size=5),
    st.sampled_from([0.0, 0.2, 0.9, 2.0, math.nan, -math.inf]),
    st.sampled_from(['', 'en-US', 'zh-CN', 'xx', '?']) | ANY_TEXT,
    st.booleans(),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(utterances=st.lists(UTTERANCES, min_size=1, max_size=6))
def test_whatever_is_said_becomes_exactly_one_turn(
    tmp_path_factory: pytest.TempPathFactory, embedder: Embedder,
    utterances: list[tuple[str, str, float, str, bool]],
) -> None:
    folder = tmp_path_factory.mktemp('said')

    async def scenario() -> None:
        async with scripted_cloud(STORY) as cloud, open_house(
            folder, embedder, cloud, {'filler.mode': 'fixed'}, quick_encoder=True
        ) as house:
            for text, conversation, confidence, locale, wait in utterances:
                turn = house.submit(text, conversation, confidence=confidence, locale=locale)
                if wait:
                    await house.settled(turn)
            await until(lambda: all(turn.ended.is_set() for turn in house.turns))
            assert len(house.outlet.turns) == len(utterances)

    asyncio.run(scenario())
    assert len(list(read_turns(folder / 'turns.jsonl'))) == len(utterances)


def cut_short(house: House) -> list[Callable[[], object]]:
    return [
        lambda: house.dialogue.stop_all('stop'),
        lambda: house.dialogue.cancel(house.turns[-1].turn_id, 'cancel'),
        lambda: house.dialogue.end_conversation('a'),
        lambda: house.submit(COLOURS, 'a'),
    ]


@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(ticks=st.integers(1, 60), how=st.integers(0, 3), hold=st.booleans(), quick=st.booleans())
def test_a_turn_cut_at_any_point_leaves_one_record(
    tmp_path_factory: pytest.TempPathFactory, embedder: Embedder, ticks: int, how: int, hold: bool, quick: bool
) -> None:
    """Ticks of the event loop, not of the clock, decide where the turn is cut."""
    folder = tmp_path_factory.mktemp('cut')

    async def scenario() -> None:
        voice, _sink = mouth(hold=hold)
        async with scripted_cloud(answer('One. ', 'Two.')) as cloud, open_house(
            folder, embedder, cloud, {**SPEECH, 'filler.mode': 'fixed', 'filler.budget': 0.0}, voice=voice,
            quick_encoder=quick,
        ) as house:
            turn = house.submit(LIGHTHOUSE, 'a')
            for _ in range(ticks):
                await asyncio.sleep(0)
            cut_short(house)[how]()
            await house.settled(turn)
            assert house.dialogue.running <= 1, 'only the turn that pre-empted it'

    asyncio.run(scenario())
    ids = [record.turn_id for record in read_turns(folder / 'turns.jsonl')]
    assert len(ids) == len(set(ids)) == (2 if how == 3 else 1)


@pytest.mark.anyio
async def test_a_broken_voice_leaves_the_answers_in_text_intact(tmp_path: FilePath, embedder: Embedder) -> None:
    synthesizer = ScriptedSynthesizer(broken=True)
    voice = Voice(LocalSpeaker(synthesizer, ScriptedSink(synthesizer)))
    async with scripted_cloud(answer('One. ', 'Two.')) as cloud, open_house(
        tmp_path, embedder, cloud, SPEECH, voice=voice
    ) as house:
        for text, path in ((LIGHTHOUSE, Path.L2), (LIGHTHOUSE, Path.L0), (COLOURS, Path.L1)):
            record = await house.ask(text)
            assert (record.path, record.outcome) == (path, Outcome.ANSWERED)
            assert record.speech_outcome == 'failed: the engine is broken'
        assert voice.error == 'the engine is broken'
