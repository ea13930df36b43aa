"""Known motions, for tests: positions as functions of time, and joint states made of them."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Motion = Callable[[Array], Array]


def minimum_jerk(angle: float, duration: float) -> Motion:
    """Position at times since the start of a minimum-jerk motion."""
    def at(time: Array) -> Array:
        share = np.clip(time / duration, 0.0, 1.0)
        return angle * (10 * share**3 - 15 * share**4 + 6 * share**5)

    return at


def trapezoid(angle: float, acceleration: float, top: float) -> Motion:
    """Position at times since the start of a motion of bounded acceleration and speed."""
    ramp = min(top / acceleration, float(np.sqrt(angle / acceleration)))
    end = angle / (acceleration * ramp) + ramp

    def at(time: Array) -> Array:
        time = np.clip(time, 0.0, end)
        cruise = acceleration * ramp**2 / 2 + acceleration * ramp * (time - ramp)
        brake = angle - acceleration * (end - time) ** 2 / 2
        return np.where(time < ramp, acceleration * time**2 / 2, np.where(time < end - ramp, cruise, brake))

    return at


def reaches(motion: Motion, speed: float) -> float:
    """When the motion first has this speed, to 0.1 ms, found numerically."""
    times = np.arange(0.0, 2.0, 1e-4)
    return float(times[int(np.argmax(np.abs(np.gradient(motion(times), times)) >= speed))])


def stamps(span: float, rate: float, rng: np.random.Generator, *, jitter: float = 0.0, missing: float = 0.0) -> Array:
    """Sampling instants: ``jitter`` is a share of the period, ``missing`` the share of samples left out."""
    times = np.arange(0.0, span, 1.0 / rate)
    times += rng.uniform(-jitter, jitter, len(times)) / rate
    return times[rng.random(len(times)) >= missing]
