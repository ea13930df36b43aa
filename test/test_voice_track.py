"""One voice's utterances and where they ended."""
from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from pace_ros.voice_track import OLDEST_END, Heard, VoiceTrack


def track() -> VoiceTrack:
    numbers = count(1)
    return VoiceTrack(lambda: f'u{next(numbers)}')


def test_hypotheses_and_the_final_text_are_one_utterance() -> None:
    voice = track()
    assert voice.recognised('', 'how', 1.0) == Heard('how', 'u1', partial=True)
    assert voice.recognised('', ' how much ', 1.2) == Heard('how much', 'u1', partial=True)
    assert voice.recognised('How much?', 'How much?', 1.5) == Heard('How much?', 'u1', partial=False)
    assert voice.recognised('And why?', '', 3.0) == Heard('And why?', 'u2', partial=False)
    assert voice.recognised('', '  ', 4.0) is None


def test_the_end_of_speech_is_the_last_falling_edge() -> None:
    voice = track()
    voice.speaking(10.0, active=True)
    voice.recognised('', 'how', 10.5)
    voice.speaking(11.0, active=False)
    voice.speaking(11.2, active=True)  # a breath in the middle
    voice.speaking(12.0, active=False)
    voice.speaking(12.1, active=False)
    assert voice.recognised('how much', '', 12.4) == Heard('how much', 'u1', partial=False, speech_end=12.0)


def test_an_edge_serves_one_utterance_only() -> None:
    voice = track()
    voice.speaking(10.0, active=True)
    voice.speaking(11.0, active=False)
    assert voice.recognised('one', '', 11.2) == Heard('one', 'u1', partial=False, speech_end=11.0)
    assert voice.recognised('two', '', 11.4) == Heard('two', 'u2', partial=False)


def test_noise_before_speech_ends_nothing() -> None:
    voice = track()
    voice.speaking(10.0, active=True)
    voice.speaking(10.1, active=False)  # a door
    voice.speaking(12.0, active=True)
    assert voice.recognised('one', '', 13.0) == Heard('one', 'u1', partial=False)


def test_a_voice_that_goes_on_before_its_text_comes_keeps_the_first_end() -> None:
    voice = track()
    voice.speaking(10.0, active=True)
    voice.recognised('', 'one', 10.4)
    voice.speaking(11.0, active=False)
    voice.speaking(11.3, active=True)
    assert voice.recognised('one', '', 11.5) == Heard('one', 'u1', partial=False, speech_end=11.0)


def test_an_old_edge_ends_nothing() -> None:
    voice = track()
    voice.speaking(10.0, active=True)
    voice.speaking(11.0, active=False)
    assert voice.recognised('one', '', 11.1 + OLDEST_END) == Heard('one', 'u1', partial=False)


EVENTS = st.lists(st.one_of(
    st.tuples(st.just('speaking'), st.booleans()),
    st.tuples(st.just('recognised'), st.sampled_from(['', 'a', 'b'])),
    st.tuples(st.just('partial'), st.sampled_from(['', 'a', 'b'])),
))


@given(EVENTS)
def test_an_end_of_speech_is_past_and_every_final_text_has_its_own_identifier(events: list[tuple[str, object]]) -> None:
    voice = track()
    finals: list[str] = []
    for now, (kind, value) in enumerate(events):
        if kind == 'speaking':
            voice.speaking(float(now), active=bool(value))
            continue
        heard = voice.recognised(str(value) if kind == 'recognised' else '', str(value), float(now))
        if heard is None or heard.partial:
            continue
        finals.append(heard.utterance_id)
        assert heard.speech_end is None or heard.speech_end <= now
    assert len(set(finals)) == len(finals)
