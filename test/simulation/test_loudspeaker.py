from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.embodiment.level import HOP, Level
from pace_ros.simulation import Loudspeaker, NotUnderstood
from pace_ros.turn import Content

RATE, CHUNK, LATENCY = 16000, 320, 0.01


def loudspeaker() -> Loudspeaker:
    return Loudspeaker(100.0, latency=LATENCY, audible=0.005)


def chunk(level: float = 0.5, silent: int = 0) -> np.ndarray:
    samples = np.full(CHUNK, round(level * 32768), dtype=np.int16)
    samples[:silent] = 0
    return samples


def say(player: Loudspeaker, due: float, *chunks: np.ndarray, turn: str = 't1', lead: float = 0.06,
        content: Content = Content.ANSWER) -> None:
    for index, samples in enumerate(chunks):
        at = due + index * 0.02
        player.play(at - lead, at, samples, RATE, turn_id=turn, content=content, start=index == 0)


def loud(level: Level, now: float) -> list[float]:
    return [round(now - level.age + index * HOP, 6) for index, rms in enumerate(level.rms) if rms > 0]


def test_silence_is_heard_as_zeros_on_a_steady_grid() -> None:
    player = loudspeaker()
    first, second = player.levels(100.05), player.levels(100.103)
    assert (first.age, len(first.rms)) == (pytest.approx(0.05), 10)
    assert (second.age, len(second.rms)) == (pytest.approx(0.053), 10)
    assert player.levels(100.103) is None
    assert not first.rms.any()


def test_after_a_jump_of_the_clock_only_the_last_second_is_told() -> None:
    player = loudspeaker()
    say(player, 100.2, chunk())
    heard = player.levels(1_800_000_000.0)
    assert (heard.age, len(heard.rms), heard.markers) == (pytest.approx(1.0), 200, ())


def test_a_sentence_is_heard_the_latency_after_it_is_due() -> None:
    player = loudspeaker()
    say(player, 100.2, chunk(), chunk())
    heard = player.levels(100.5)
    hops = loud(heard, 100.5)
    assert (hops[0], hops[-1], len(hops)) == (100.21, 100.245, 8)  # 40 ms of sound
    assert heard.rms.max() == pytest.approx(0.5, abs=1e-4)
    [marker] = heard.markers
    assert (marker.turn_id, marker.content) == ('t1', Content.ANSWER)
    assert 100.5 - heard.age + marker.index * HOP == pytest.approx(100.21)
    assert not player.playing


def test_the_truth_is_the_first_audible_sample() -> None:
    player = loudspeaker()
    say(player, 100.2, chunk(silent=CHUNK), chunk(silent=160))  # 20 ms of silence, then 10 ms
    assert player.settle(100.239) == []
    [shown] = player.settle(100.241)
    assert shown.instant == pytest.approx(100.2 + 0.03 + LATENCY)
    assert (shown.command.turn_id, shown.command.content) == ('t1', Content.ANSWER)
    assert player.settle(101.0) == []


def test_a_sentence_of_silence_is_never_audible() -> None:
    player = loudspeaker()
    say(player, 100.2, chunk(0.001))
    assert player.settle(101.0) == []  # more of it might come
    say(player, 102.0, chunk(), turn='t2')
    never, shown = player.settle(103.0)
    assert math.isnan(never.instant)
    assert never.detail == 'speech: no audible sample'
    assert shown.command.turn_id == 't2'


def test_chunks_a_little_off_make_one_sound_and_a_late_one_waits_for_nobody() -> None:
    player = loudspeaker()
    player.play(100.14, 100.2, chunk(), RATE, turn_id='t1', content=Content.ANSWER, start=True)
    player.play(100.16, 100.2205, chunk(), RATE, turn_id='t1', content=Content.ANSWER, start=False)
    player.play(100.30, 100.24, chunk(), RATE, turn_id='t1', content=Content.ANSWER, start=False)
    hops = loud(player.levels(100.5), 100.5)
    assert hops[:8] == pytest.approx([100.21 + index * HOP for index in range(8)])
    assert hops[8] == pytest.approx(100.31)
    assert player.late == 1


def test_a_stamp_of_another_clock_is_played_at_once() -> None:
    player = loudspeaker()
    player.play(100.1, 5000.0, chunk(), RATE, turn_id='t1', content=Content.FILLER, start=True)
    assert loud(player.levels(100.3), 100.3)[0] == pytest.approx(100.11)


@settings(deadline=None)  # the machine may be busy
@given(st.integers(1, 20), st.floats(0.0, 0.5))
def test_after_a_flush_it_is_silent_within_a_chunk(count: int, after: float) -> None:
    player = loudspeaker()
    stop = 100.1 + after
    for index in range(count):
        due = 100.2 + index * 0.02
        if due - 0.06 < stop:
            player.play(due - 0.06, due, chunk(), RATE, turn_id='t1', content=Content.ANSWER, start=index == 0)
    player.flush(stop)
    assert all(hop < stop + 0.02 for hop in loud(player.levels(101.0), 101.0))
    assert not player.playing


def test_what_was_flushed_before_it_sounded_has_no_marker_and_was_never_audible() -> None:
    player = loudspeaker()
    say(player, 100.2, chunk(), content=Content.FILLER)
    player.flush(100.15)
    say(player, 100.22, chunk(), turn='t1')
    heard = player.levels(101.0)
    assert [each.content for each in heard.markers] == [Content.ANSWER]
    filler, answer = player.settle(101.0)
    assert math.isnan(filler.instant)
    assert answer.instant == pytest.approx(100.23)


def test_power_is_the_same_however_the_hops_fall() -> None:
    player = loudspeaker()
    say(player, 100.2023, *[chunk()] * 5)
    heard = player.levels(101.0)
    assert float(np.sum(heard.rms.astype(float) ** 2)) * HOP == pytest.approx(0.25 * 0.1, rel=1e-3)


def test_chunks_that_cannot_be_played_are_refused_in_a_sentence() -> None:
    player = loudspeaker()
    with pytest.raises(NotUnderstood, match='sample rate of 0'):
        player.play(100.0, 100.0, chunk(), 0, turn_id='t', content=Content.ANSWER, start=True)
    say(player, 100.0, np.zeros(31 * RATE, dtype=np.int16), lead=0.0)
    with pytest.raises(NotUnderstood, match='in real time'):
        player.play(100.0, 100.0, chunk(), RATE, turn_id='t1', content=Content.ANSWER, start=False)
