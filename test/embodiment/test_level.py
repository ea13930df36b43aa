"""Loudness hop by hop, told as it is played."""
from __future__ import annotations

import asyncio

import numpy as np
import pytest
from harness import until
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


@pytest.mark.anyio
async def test_every_hop_is_told_once_in_order_and_not_before_it_is_over() -> None:
    told: list[tuple[float, Level]] = []
    loop = asyncio.get_running_loop()
    begin = loop.time()
    Meter(sound(0.13), 't1', Content.ANSWER, lambda level: told.append((loop.time() - begin, level)), delay=0.02)
    await until(lambda: sum(len(level.rms) for _, level in told) == 26)
    first = 0
    for now, level in told:
        assert now - level.age == pytest.approx(0.02 + first * 0.005, abs=0.002), 'age leads to the instant it began'
        assert now >= 0.02 + (first + len(level.rms)) * 0.005 - 0.001
        first += len(level.rms)
    assert [level.markers for _, level in told] == [(Marker('t1', Content.ANSWER, 0),)] + [()] * (len(told) - 1)


@pytest.mark.anyio
async def test_a_stopped_meter_tells_what_was_played_and_nothing_more() -> None:
    told: list[Level] = []
    meter = Meter(sound(60.0), 't1', Content.FILLER, told.append)
    await until(lambda: told)
    meter.stop()
    count = sum(len(level.rms) for level in told)
    await asyncio.sleep(0.12)
    assert sum(len(level.rms) for level in told) == count < 100


@pytest.mark.anyio
async def test_a_meter_stopped_before_its_sound_tells_nothing() -> None:
    told: list[Level] = []
    Meter(sound(1.0), 't1', Content.FILLER, told.append, delay=5.0).stop()
    assert told == []
