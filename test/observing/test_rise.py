from __future__ import annotations

import numpy as np
import pytest

from pace_ros.observing.bend import bend_at
from pace_ros.observing.rise import perceptible_at

TIMES = np.arange(0.0, 0.4, 0.01)


def test_constant_acceleration_reaches_the_speed_at_speed_over_acceleration() -> None:
    positions = 0.3 + 2.0 * np.clip(TIMES - 0.2, 0.0, None) ** 2  # 4 rad/s² from 0.2 s on: 0.05 rad/s after 12.5 ms
    assert perceptible_at(TIMES, positions, 0.3, 0.05) == pytest.approx(0.2125, abs=0.001)


def test_constant_jerk_reaches_the_speed_with_the_root() -> None:
    positions = -0.1 - 5.0 * np.clip(TIMES - 0.2, 0.0, None) ** 3  # speed 15 t²: 0.06 rad/s after 63.2 ms
    assert perceptible_at(TIMES, positions, 0.35, 0.06) == pytest.approx(0.2632, abs=0.002)


def test_an_onset_is_never_later_than_its_detection() -> None:
    assert perceptible_at(TIMES, 0.001 * TIMES, 0.2, 5.0) == 0.2


def test_a_bend_is_where_the_acceleration_changes() -> None:
    cruise = 1.5 * TIMES - 15.0 * np.clip(TIMES - 0.25, 0.0, None) ** 2
    assert bend_at(TIMES, cruise) == pytest.approx(0.25, abs=0.002)
    speeding_up = cruise + 3.0 * TIMES**2
    assert bend_at(TIMES, speeding_up) == pytest.approx(0.25, abs=0.002)


def test_too_few_samples_have_no_bend() -> None:
    assert bend_at(TIMES[:6], TIMES[:6]) == TIMES[5]
