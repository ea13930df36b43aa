"""One turn's door to the world: what it lets out, when, and what it writes down."""
from __future__ import annotations

import math

import pytest
from harness import Ledger, ScriptedSink, ScriptedSynthesizer, until

from pace_ros.aging import Aging
from pace_ros.arms import Switches
from pace_ros.clock import VirtualClock
from pace_ros.control import Decision
from pace_ros.embodiment import LocalSpeaker, Voice
from pace_ros.live_turn import LiveTurn
from pace_ros.turn import (
    Arm,
    Content,
    FrameKind,
    Modality,
    Outcome,
    Path,
    ResponseFrame,
    SpeechState,
    TurnRecord,
    Utterance,
)

SWITCHES = Switches('static', 'fixed', Aging('deny', 3600.0), l0=True, l1=True, rag=True, persona=True)


@pytest.fixture
def outlet() -> Ledger:
    return Ledger()


def open_turn(clock: VirtualClock, outlet: Ledger, voice: Voice | None = None, **fields: object) -> LiveTurn:
    utterance = Utterance('hello', clock.monotonic(), 'u1', 'v1', 'en-US', **fields)  # type: ignore[arg-type]
    return LiveTurn(utterance, 't1', SWITCHES, clock=clock, outlet=outlet, voice=voice)


def test_an_answered_turn_with_a_filler_is_timed_from_receipt(clock: VirtualClock, outlet: Ledger) -> None:
    clock.advance(5.0)
    turn = open_turn(clock, outlet)
    clock.advance(0.1)
    turn.embedded(clock.monotonic())
    clock.advance(0.2)
    turn.path_decided(Path.L2)
    clock.advance(0.3)
    assert turn.filler('Good question!', 'generated')
    clock.advance(0.4)
    turn.answer('One')
    clock.advance(0.5)
    turn.answer('.')
    turn.answer('', last=True)
    turn.end(Outcome.ANSWERED)
    record = turn.record
    assert (record.t_embed, record.t_route, record.t_path) == pytest.approx((0.1, 0.2, 0.7))
    assert (record.ptfr, record.completion) == pytest.approx((1.0, 1.5))
    assert record.filler_elapsed == record.perceived_latency == pytest.approx(0.6)
    assert outlet.frames == [
        ResponseFrame('t1', 'v1', FrameKind.FILLER, Path.UNKNOWN, 0, 'Good question!', False, pytest.approx(0.6)),
        ResponseFrame('t1', 'v1', FrameKind.ANSWER, Path.L2, 1, 'One', False, pytest.approx(1.0)),
        ResponseFrame('t1', 'v1', FrameKind.ANSWER, Path.L2, 2, '.', False, pytest.approx(1.5)),
        ResponseFrame('t1', 'v1', FrameKind.ANSWER, Path.L2, 3, '', True, pytest.approx(1.5)),
    ]
    assert (record.frames, record.answer) == (4, 'One.')
    onsets = [(onset.modality, onset.content, onset.elapsed) for onset in outlet.onsets]
    assert onsets == [(Modality.TEXT, Content.FILLER, pytest.approx(0.6)),
                      (Modality.TEXT, Content.ANSWER, pytest.approx(1.0))]


def test_no_vector_means_no_time_for_it(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    clock.advance(0.25)
    turn.path_decided(Path.L0)
    turn.answer('Yes.', last=True)
    assert (turn.record.t_embed, turn.record.t_route, turn.record.t_path) == (0.0, 0.25, 0.0)
    assert turn.record.ptfr == 0.25


def test_an_empty_piece_is_no_first_token(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    turn.path_decided(Path.L2)
    turn.answer('')
    assert not turn.informative
    turn.answer('Yes.')
    assert turn.informative


def test_a_filler_comes_neither_after_the_answer_nor_twice_nor_after_the_end(
    clock: VirtualClock, outlet: Ledger
) -> None:
    answered = open_turn(clock, outlet)
    answered.path_decided(Path.L2)
    answered.answer('Yes.')
    assert not answered.filler('Hm.', 'late')
    twice = open_turn(clock, outlet)
    assert twice.filler('Hm.', 'generated')
    assert not twice.filler('Oh.', 'generated')
    assert twice.record.filler_text == 'Hm.'
    ended = open_turn(clock, outlet)
    ended.stop(Outcome.CANCELLED, 'stop')
    assert not ended.filler('Hm.', 'late')
    assert [frame.kind for frame in outlet.frames] == [FrameKind.ANSWER, FrameKind.FILLER]
    assert not ended.record.filler_shown


def test_a_stopped_turn_lets_nothing_out(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    turn.path_decided(Path.L2)
    turn.answer('One')
    turn.stop(Outcome.PREEMPTED, 'the visitor spoke again')
    seen = list(outlet.events)
    turn.answer(' two', last=True)
    turn.remark('sorry')
    turn.filler('Hm.', 'late')
    assert not turn.end(Outcome.ANSWERED)
    turn.stop(Outcome.CANCELLED, 'again')
    assert outlet.events == seen
    assert seen[-1] == ('turn', 't1')
    assert (turn.record.outcome, turn.record.answer) == (Outcome.PREEMPTED, 'One')
    assert [frame.last for frame in outlet.frames] == [False]


def test_the_published_record_is_a_copy(clock: VirtualClock, outlet: Ledger) -> None:
    ends: list[TurnRecord] = []
    turn = open_turn(clock, outlet)
    turn.on_end = ends.append
    turn.end(Outcome.FAILED, 'why')
    turn.record.tokens_in = 5
    assert (outlet.turns[0].outcome, outlet.turns[0].reason, outlet.turns[0].tokens_in) == (Outcome.FAILED, 'why', 0)
    assert ends == outlet.turns


def test_a_remark_is_no_answer(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    turn.remark('Sorry.')
    turn.end(Outcome.FAILED, 'why')
    (frame,) = outlet.frames
    assert (frame.kind, frame.path, frame.last) == (FrameKind.ANSWER, Path.FALLBACK, False)
    assert turn.record.path is Path.FALLBACK
    assert math.isnan(turn.record.ptfr)
    assert math.isnan(turn.record.completion)
    assert outlet.onsets == []


def test_the_record_opens_with_what_is_known(clock: VirtualClock, outlet: Ledger) -> None:
    received = clock.monotonic()
    clock.advance(0.5)
    utterance = Utterance('hello', received, 'u1', 'v1', 'en-US', 0.8, since_speech_end=0.3, arm=Arm(label='x'))
    turn = LiveTurn(utterance, 't1', SWITCHES, clock=clock, outlet=outlet, voice=None)
    turn.routed_by(Decision(0.9, 0.7, 'adaptive', 'gate: cold start', 0.25, 0.5, 1.5))
    record = turn.record
    assert record.received_wall == pytest.approx(clock.wall() - 0.5)
    assert turn.elapsed() == pytest.approx(0.5)
    assert (record.text, record.locale, record.asr_confidence, record.since_speech_end) == ('hello', 'en-US', 0.8, 0.3)
    assert (record.theta_cache, record.theta_direct, record.gate) == (0.9, 0.7, 'adaptive')
    assert (record.load_index, record.p_instant, record.arm) == (0.25, 0.5, Arm(label='x'))


def test_durations_do_not_follow_the_wall_clock(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    clock.jump_wall(-3600.0)
    clock.advance(1.0)
    turn.path_decided(Path.L1)
    turn.answer('Yes.', last=True)
    turn.end(Outcome.ANSWERED)
    assert (turn.record.ptfr, turn.record.completion) == (1.0, 1.0)


def test_a_preamble_is_no_answer(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    turn.path_decided(Path.L2)
    clock.advance(1.0)
    turn.answer('Let me see.')
    assert (turn.record.ttfet, turn.record.ptfr) == (1.0, 1.0)
    turn.preamble_ends('\n')
    assert math.isnan(turn.record.ttfet)
    assert (turn.record.preamble, turn.record.ttfet_preamble, turn.informative) == ('Let me see.\n', 1.0, False)
    clock.advance(2.0)
    turn.answer('It costs 12.')
    assert (turn.record.ttfet, turn.record.ptfr, turn.record.t_path) == (3.0, 3.0, 3.0)
    assert turn.record.perceived_latency == 1.0
    assert [onset.content for onset in turn.record.onsets] == [Content.FILLER, Content.ANSWER]


@pytest.mark.parametrize('path', [Path.L0, Path.L1, Path.FALLBACK])
def test_only_the_language_model_s_answer_has_a_time_to_its_token(
    clock: VirtualClock, outlet: Ledger, path: Path
) -> None:
    turn = open_turn(clock, outlet)
    turn.path_decided(path)
    turn.answer('Yes.')
    assert math.isnan(turn.record.ttfet)


def test_the_record_is_brought_up_to_date_before_it_is_published(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)

    def catch_up() -> None:
        turn.record.ttft = 0.5

    turn.catch_up = catch_up
    turn.stop(Outcome.PREEMPTED, 'the visitor spoke again')
    assert outlet.turns[0].ttft == 0.5


@pytest.mark.anyio
async def test_a_turn_knows_its_own_speech(clock: VirtualClock, outlet: Ledger) -> None:
    synthesizer = ScriptedSynthesizer()
    sink = ScriptedSink(synthesizer, hold=True)
    voice = Voice(LocalSpeaker(synthesizer, sink))
    one, other = open_turn(clock, outlet, voice), open_turn(clock, outlet, voice)
    for turn in (one, other):
        turn.path_decided(Path.L1)
    one.answer('One. Two.', last=True)
    one.end(Outcome.ANSWERED)
    await until(lambda: voice.speaking)
    assert voice.speaking is not None
    assert one.talking
    assert not other.talking
    one.stop(Outcome.CANCELLED, 'stop')
    await one.spoken()
    assert (one.record.outcome, one.record.speech_outcome) == (Outcome.ANSWERED, 'stopped')
    assert sink.events == [('begin', 'One.'), ('cut', 'One.')]
    assert voice.speaking is None
    assert not one.talking


@pytest.mark.anyio
async def test_only_the_first_sound_of_a_content_is_its_onset(clock: VirtualClock, outlet: Ledger) -> None:
    synthesizer = ScriptedSynthesizer()
    voice = Voice(LocalSpeaker(synthesizer, ScriptedSink(synthesizer)))
    turn = open_turn(clock, outlet, voice)
    turn.path_decided(Path.L1)
    turn.answer('One. Two. Three.', last=True)
    turn.end(Outcome.ANSWERED)
    clock.advance(2.0)
    await turn.spoken()
    assert synthesizer.texts == ['One.', 'Two.', 'Three.']
    spoken = [onset for onset in outlet.onsets if onset.modality is Modality.SPEECH]
    assert [(onset.content, onset.detail) for onset in spoken] == [(Content.ANSWER, 'One.')]
    assert (turn.record.speech_outcome, turn.record.speech_end, turn.silent) == ('spoken', 2.0, True)


@pytest.mark.anyio
async def test_a_turn_tells_when_it_is_first_heard_and_when_it_is_over(clock: VirtualClock, outlet: Ledger) -> None:
    synthesizer = ScriptedSynthesizer()
    sink = ScriptedSink(synthesizer, hold=True)
    turn = open_turn(clock, outlet, Voice(LocalSpeaker(synthesizer, sink)))
    turn.path_decided(Path.L1)
    turn.answer('One. Two.', last=True)
    turn.end(Outcome.ANSWERED)
    clock.advance(0.5)
    await until(lambda: sink.now)
    clock.advance(1.5)
    sink.go_on.set()
    await turn.spoken()
    assert outlet.speeches == [
        SpeechState('t1', 'v1', True, '', 0.5), SpeechState('t1', 'v1', False, 'spoken', 2.0),
    ]


@pytest.mark.anyio
async def test_a_silent_turn_is_over_too(clock: VirtualClock, outlet: Ledger) -> None:
    turn = open_turn(clock, outlet)
    turn.end(Outcome.REJECTED, 'blank')
    await turn.spoken()
    assert outlet.speeches == [SpeechState('t1', 'v1', False, '', 0.0)]


@pytest.mark.anyio
async def test_a_turn_without_words_needs_no_voice(clock: VirtualClock, outlet: Ledger) -> None:
    synthesizer = ScriptedSynthesizer()
    turn = open_turn(clock, outlet, Voice(LocalSpeaker(synthesizer, ScriptedSink(synthesizer))))
    turn.end(Outcome.REJECTED, 'blank')
    await turn.spoken()
    assert (turn.record.speech_outcome, turn.silent) == ('', True)
