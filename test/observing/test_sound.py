from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.embodiment.level import Marker
from pace_ros.observing.hops import Hops
from pace_ros.observing.settings import Sound
from pace_ros.observing.sound import SoundOnset, SoundOnsets
from pace_ros.turn import Content

HOP = 0.005
FILLER, ANSWER = Marker('t1', Content.FILLER, 0), Marker('t1', Content.ANSWER, 0)


def sounds() -> SoundOnsets:
    return SoundOnsets(Sound())


def test_a_sentence_sounds_with_its_first_loud_hop() -> None:
    found = sounds().update(10.0, HOP, [0.0, 0.0, 0.003, 0.004, 0.1], [FILLER])  # -50 dB is 0.00316
    assert found == [SoundOnset(pytest.approx(10.015), pytest.approx(-47.96, abs=0.01), FILLER)]


def test_leading_silence_may_go_on_in_the_next_message() -> None:
    player = sounds()
    assert player.update(10.0, HOP, [0.0] * 10, [FILLER]) == []
    (onset,) = player.update(10.05, HOP, [0.0, 0.2])
    assert onset.time == pytest.approx(10.055)
    assert onset.mark == FILLER


def test_filler_and_answer_are_told_apart_within_one_message_without_a_pause() -> None:
    answer = Marker('t1', Content.ANSWER, 3)
    found = sounds().update(10.0, HOP, [0.1] * 6, [FILLER, answer])
    assert [(each.time, each.mark) for each in found] == [(10.0, FILLER), (pytest.approx(10.015), answer)]


def test_only_the_first_sentence_of_each_content_counts() -> None:
    player = sounds()
    assert len(player.update(10.0, HOP, [0.1] * 4, [ANSWER])) == 1
    assert player.update(11.0, HOP, [0.1] * 4, [ANSWER]) == []
    assert len(player.update(12.0, HOP, [0.1] * 4, [Marker('t2', Content.ANSWER, 0)])) == 1


def test_what_never_gets_loud_gives_way_to_the_next_sentence() -> None:
    player = sounds()
    player.update(10.0, HOP, [0.001] * 10, [FILLER])
    (onset,) = player.update(10.05, HOP, [0.1, 0.1], [ANSWER])
    assert onset.mark == ANSWER


def test_hops_heard_twice_count_once() -> None:
    player = sounds()
    player.update(10.0, HOP, [0.0] * 10, [FILLER])
    assert player.update(9.9, HOP, [0.3] * 10) == []
    assert len(player.update(10.05, HOP, [0.3] * 10)) == 1


def test_a_microphone_hears_sound_after_quiet() -> None:
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.0019, 0.0021, 400)  # -54 dB: four times that is -42 dB
    speech = np.where(np.arange(400) % 2, 0.05, 0.1)
    ears = sounds()
    assert ears.update(10.0, HOP, list(noise)) == []
    assert ears.update(12.0, HOP, [0.007] * 20) == []  # above the fixed threshold, but not above the noise
    (onset,) = ears.update(12.1, HOP, [*noise[:100], *speech])
    assert onset.time == pytest.approx(12.6)
    assert onset.mark is None


def test_a_click_and_a_short_pause_are_no_new_sound() -> None:
    ears = sounds()
    quiet = [0.0] * 60
    assert ears.update(0.0, HOP, [*quiet, 0.5, *quiet]) == []
    found = ears.update(1.0, HOP, [0.1] * 20 + [0.0] * 20 + [0.1] * 20)  # 0.1 s of pause
    assert [each.time for each in found] == [1.0]
    assert len(ears.update(2.0, HOP, [0.1] * 4)) == 1  # nothing told for 0.7 s: quiet


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20), st.sampled_from([8000, 16000, 44100]))
def test_samples_give_the_same_hops_however_they_are_cut(cuts: list[int], rate: int) -> None:
    rng = np.random.default_rng(0)
    samples = rng.integers(-3000, 3000, sum(cuts))
    _, whole = Hops().cut(5.0, samples.tolist(), rate)
    hops, parts, at = Hops(), [], 0
    for cut in cuts:
        begin, rms = hops.cut(5.0 + at / rate, samples[at:at + cut].tolist(), rate)
        assert begin == pytest.approx(5.0 + len(parts) * round(HOP * rate) / rate)
        parts += rms
        at += cut
    assert parts == pytest.approx(whole)


def test_the_level_of_a_square_wave_is_its_amplitude() -> None:
    begin, rms = Hops().cut(5.0, [16384, -16384] * 40, 16000)
    assert (begin, rms) == (5.0, [0.5])


def test_a_rate_without_samples_in_a_hop_is_refused() -> None:
    with pytest.raises(ValueError, match='A microphone at 10 samples a second cannot be heard'):
        Hops().cut(0.0, [1], 10)
