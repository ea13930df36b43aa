"""What the joints' sensors make of the true motion."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pace_ros.simulation.settings import Sensors

Values = npt.NDArray[np.float64]


class Encoders:
    """Adds Gaussian noise; the same seed gives the same noise."""

    def __init__(self, settings: Sensors) -> None:
        self._settings = settings
        self._random = np.random.default_rng(settings.seed)

    def read(self, states: Iterable[tuple[float, float]]) -> tuple[Values, Values]:
        """Positions (rad) and velocities (rad/s) of shape (n,) from n true states."""
        true = np.array(list(states), dtype=np.float64).reshape(-1, 2)
        noise = self._random.standard_normal(true.shape)
        noisy = true + noise * (self._settings.position_noise, self._settings.velocity_noise)
        return noisy[:, 0], noisy[:, 1]
