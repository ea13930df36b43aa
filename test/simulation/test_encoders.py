from __future__ import annotations

import numpy as np
import pytest

from pace_ros.simulation.encoders import Encoders
from pace_ros.simulation.settings import Sensors


def test_the_noise_has_its_deviation_and_comes_again_with_the_same_seed() -> None:
    settings = Sensors(position_noise=0.01, velocity_noise=0.2, seed=3)
    positions, velocities = Encoders(settings).read([(1.0, -2.0)] * 4000)
    assert np.mean(positions) == pytest.approx(1.0, abs=0.001)
    assert np.std(positions) == pytest.approx(0.01, rel=0.1)
    assert np.std(velocities) == pytest.approx(0.2, rel=0.1)
    assert np.array_equal(positions, Encoders(settings).read([(1.0, -2.0)] * 4000)[0])


def test_without_noise_the_truth_is_read() -> None:
    positions, velocities = Encoders(Sensors(position_noise=0.0, velocity_noise=0.0)).read([(0.1, 0.2), (0.3, 0.4)])
    assert positions.tolist() == [0.1, 0.3]
    assert velocities.tolist() == [0.2, 0.4]
