"""Loudness hop by hop, told as it is played."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.embodiment import Audio, Level, Marker
from pace_ros.embodiment.level import Meter, levels
from pace_ros.turn import Content

RATE = 16000  # 80 samples a hop


def test_each_hop_has_its_own_root_mean_square() -> None:
    """Silence, a constant of a quarter of full scale, and half a hop of a half: sqrt(0.25 / 2)."""
    samples = np.concatenate([np.zeros(80), np.full(80, 8192), np.full(40, 16384)]).astype(np.int16)
    assert levels(Audio(samples, RATE)).tolist() == pytest.approx([0.0, 0.25, 0.5 / np.sqrt(2)])


def test_the_loudest_sample_is_one_and_no_sound_has_no_hop() -> None:
    assert levels(Audio(np.full(80, -32768, np.int16), RATE)).tolist() == [1.0]
    assert levels(Audio(np.zeros(0, np.int16), RATE)).tolist() == []


@given(st.integers(1, 5000), st.sampled_from([8000, 16000, 22050, 44100]))
def test_the_hops_cover_the_sound(count: int, rate: int) -> None:
    rms = levels(Audio(np.full(count, 1000, np.int16), rate))
    assert len(rms) * round(0.005 * rate) >= count > (len(rms) - 1) * round(0.005 * rate)


def sound(seconds: float) -> Audio:
    return Audio(np.full(int(seconds * RATE), 3277, np.int16), RATE)


class Loop:
    """Time that moves when told to, and what is due by then."""

    def __init__(self) -> None:
        self.now = 5.0
        self.due: list[tuple[float, Callable[[], None], Loop.Timer]] = []

    class Timer:
        cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> Loop.Timer:
        self.due.append((when, callback, self.Timer()))
        return self.due[-1][2]

    def to(self, instant: float) -> None:
        while ready := [each for each in self.due if each[0] <= instant]:
            when, callback, timer = min(ready, key=lambda each: each[0])
            self.due = [each for each in self.due if each[2] is not timer]
            self.now = when
            if not timer.cancelled:
                callback()
        self.now = instant


def test_every_hop_is_told_once_in_order_and_not_before_it_is_over() -> None:
    """26 hops that begin 20 ms after 5.0 s, told in blocks of ten."""
    loop, told = Loop(), list[tuple[float, Level]]()
    Meter(sound(0.13), 't1', Content.ANSWER, lambda level: told.append((loop.now, level)), delay=0.02, loop=loop)
    loop.to(9.0)
    assert [len(level.rms) for _, level in told] == [10, 10, 6]
    assert [now for now, _ in told] == pytest.approx([5.07, 5.12, 5.15])
    assert [now - level.age for now, level in told] == pytest.approx([5.02, 5.07, 5.12]), 'when its first hop began'
    assert [level.markers for _, level in told] == [(Marker('t1', Content.ANSWER, 0),), (), ()]


def test_a_stopped_meter_tells_what_was_played_and_nothing_more() -> None:
    loop, told = Loop(), list[Level]()
    meter = Meter(sound(60.0), 't1', Content.FILLER, told.append, loop=loop)
    loop.to(5.0 + 0.062)
    meter.stop()
    loop.to(99.0)
    assert [len(level.rms) for level in told] == [10, 2]


def test_a_meter_stopped_before_its_sound_tells_nothing() -> None:
    loop, told = Loop(), list[Level]()
    Meter(sound(1.0), 't1', Content.FILLER, told.append, delay=5.0, loop=loop).stop()
    loop.to(99.0)
    assert told == []
