from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observing.motions import Array, Motion, minimum_jerk, reaches, stamps, trapezoid

from pace_ros.observing.joint_motion import JointMotion, MotionOnset, Start
from pace_ros.observing.settings import Motion as Settings

NOISE = 0.0005  # rad
START = 1.5


def onsets(times: Array, positions: Array) -> list[MotionOnset]:
    joint = JointMotion('head_yaw', Settings())
    found = [joint.update(float(t), float(x)) for t, x in zip(times, positions, strict=True)]
    return [each for each in found if each is not None]


def seen(motion: Motion, rng: np.random.Generator, *, rate: float = 100.0, noise: float = NOISE,
         jitter: float = 0.1, missing: float = 0.0) -> tuple[list[MotionOnset], float]:
    """The onsets found in one motion out of rest, and when it truly became perceptible."""
    times = stamps(3.5, rate, rng, jitter=jitter, missing=missing)
    start = START + rng.uniform(0.0, 0.02)
    positions = motion(times - start) + rng.normal(0.0, noise, len(times))
    return onsets(times, positions), start + reaches(motion, 0.05)


def some_motion(rng: np.random.Generator) -> Motion:
    if rng.random() < 0.5:
        return minimum_jerk(rng.uniform(0.1, 0.6), rng.uniform(0.3, 1.2))
    return trapezoid(rng.uniform(0.1, 0.8), rng.uniform(4.0, 30.0), rng.uniform(0.5, 3.0))


@pytest.mark.parametrize(('rate', 'jitter', 'missing'), [(100.0, 0.1, 0.0), (100.0, 0.4, 0.2), (50.0, 0.2, 0.0)])
def test_the_onset_is_within_20_ms_of_the_truth_at_the_95th_percentile(
    rate: float, jitter: float, missing: float
) -> None:
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(40):
        found, truth = seen(some_motion(rng), rng, rate=rate, jitter=jitter, missing=missing)
        assert len(found) == 1
        assert found[0].start is Start.REST
        errors.append(abs(found[0].time - truth))
    assert np.percentile(errors, 95) < 0.02


@pytest.mark.parametrize('rate', [30.0, 500.0])
def test_slow_and_fast_sampling_finds_each_motion_once(rate: float) -> None:
    rng = np.random.default_rng(6)
    for _ in range(8):
        found, truth = seen(some_motion(rng), rng, rate=rate)
        assert len(found) == 1
        assert found[0].time == pytest.approx(truth, abs=0.05)


@settings(max_examples=15, deadline=None)
@given(drift=st.floats(-0.03, 0.03), noise=st.sampled_from([0.0, 0.0005, 0.002]), seed=st.integers(0, 99))
def test_slow_drift_and_noise_are_no_motion(drift: float, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = stamps(4.0, 100.0, rng, jitter=0.2)
    assert onsets(times, drift * times + rng.normal(0.0, noise, len(times))) == []


@settings(max_examples=15, deadline=None)
@given(mirrored=st.booleans(), offset=st.floats(-3.0, 3.0), later=st.floats(0.0, 1e6))
def test_neither_direction_nor_place_nor_date_matters(mirrored: bool, offset: float, later: float) -> None:
    times = np.arange(0.0, 2.5, 0.01)
    positions = trapezoid(0.4, 10.0, 1.5)(times - START)
    sign = -1.0 if mirrored else 1.0
    plain, moved = onsets(times, positions), onsets(times + later, sign * positions + offset)
    assert [each.time for each in moved] == pytest.approx([each.time + later for each in plain], abs=1e-3)
    assert moved[0].speed == pytest.approx(sign * plain[0].speed, rel=1e-3)


def test_what_is_no_sample_changes_nothing() -> None:
    rng = np.random.default_rng(7)
    times = np.arange(0.0, 2.5, 0.01)
    positions = trapezoid(0.4, 10.0, 1.5)(times - START) + rng.normal(0.0, NOISE, len(times))
    noisy_t, noisy_x = [], []
    for index, (time, position) in enumerate(zip(times, positions, strict=True)):
        noisy_t += [time, time, time - 0.05, time + 0.001]
        noisy_x += [position, position, 9.9, math.nan if index % 2 else math.inf]
    assert onsets(np.array(noisy_t), np.array(noisy_x)) == onsets(times, positions)


def test_a_glitch_of_the_encoder_is_no_motion() -> None:
    rng = np.random.default_rng(8)
    times = np.arange(0.0, 3.0, 0.01)
    positions = rng.normal(0.0, NOISE, len(times))
    positions[100:300:40] += 0.3
    assert onsets(times, positions) == []


def test_a_turn_past_half_a_circle_is_no_jump() -> None:
    times = np.arange(0.0, 3.0, 0.01)
    positions = 3.0 + trapezoid(0.6, 10.0, 1.5)(times - START)
    wrapped = (positions + math.pi) % math.tau - math.pi
    assert [each.time for each in onsets(times, wrapped)] == [each.time for each in onsets(times, positions)]


def test_a_reversal_is_an_onset_that_began_with_the_braking() -> None:
    times = np.arange(0.0, 3.0, 0.01)
    # 1.5 rad/s from 1.55 s on; at 2.0 s it is steered back with 30 rad/s²: 0 at 2.05, perceptible at 2.0517.
    ahead = trapezoid(5.0, 30.0, 1.5)(times - 1.5)
    back = 15.0 * np.clip(times - 2.0, 0.0, 0.1) ** 2 + 3.0 * np.clip(times - 2.1, 0.0, None)
    first, second = onsets(times, ahead - back)
    assert first.start is Start.REST
    assert second.start is Start.REVERSAL
    assert second.time == pytest.approx(2.0517, abs=0.01)
    assert second.since(1.96) == pytest.approx(2.0, abs=0.01)
    assert second.since(2.03) == second.time  # it was slowing down already


def test_speeding_up_again_is_an_onset() -> None:
    times = np.arange(0.0, 3.5, 0.01)
    first, second = trapezoid(0.5, 10.0, 1.5)(times - 1.5), trapezoid(0.5, 10.0, 1.5)(times - 1.95)
    found = onsets(times, first + second)
    assert [each.start for each in found] == [Start.REST, Start.SPEED_UP]
    assert found[1].since(1.9) == pytest.approx(1.95, abs=0.02)


def test_a_motion_is_known_while_it_lasts_and_afterwards() -> None:
    joint = JointMotion('head_yaw', Settings())
    times = np.arange(0.0, 3.5, 0.01)
    for time, position in zip(times, trapezoid(0.4, 10.0, 1.0)(times - 1.5), strict=True):  # until 2.0
        joint.update(float(time), float(position))
    assert [joint.moving_at(time) for time in (1.0, 1.6, 1.9, 2.3)] == [False, True, True, False]


def test_a_clock_set_back_begins_anew() -> None:
    joint = JointMotion('head_yaw', Settings())
    for base in (100.0, 3.0):
        times = np.arange(0.0, 2.5, 0.01)
        found = [joint.update(base + float(t), float(x))
                 for t, x in zip(times, trapezoid(0.4, 10.0, 1.5)(times - 1.5), strict=True)]
        assert [each.time for each in found if each] == pytest.approx([base + 1.505], abs=0.003)


def test_a_gap_is_no_motion() -> None:
    times = np.concatenate([np.arange(0.0, 1.0, 0.01), np.arange(2.0, 3.0, 0.01)])
    assert onsets(times, np.where(times < 1.5, 0.0, 0.8)) == []
