"""When a motion out of rest became perceptible, from noisy positions."""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# A joint leaves rest as t² under a limit of acceleration, as t³ under one of jerk.
POWERS = (2.0, 3.0)
STEP = 0.002  # s between the starts that are tried


def perceptible_at(times: Array, positions: Array, latest: float, speed: float) -> float:
    """The instant at which a motion out of rest first reaches ``speed``.

    The rise x = b + c (t - t0)^p is fitted by least squares to the end of the rest and the beginning of the motion,
    for p of ``POWERS`` and t0 up to ``latest`` (s); the better one is differentiated. ``times`` (s, increasing) and
    ``positions`` (rad) have shape (n,), n >= 3. Never later than ``latest``, never before ``times[0]``.
    """
    origin = float(times[0])
    moments = times - origin
    starts = np.arange(0.0, max(latest - origin, STEP), STEP)
    best = (np.inf, latest)
    for power in POWERS:
        lead = np.clip(moments[None, :] - starts[:, None], 0.0, None) ** power
        lead_c = lead - lead.mean(axis=1, keepdims=True)
        offset = positions - positions.mean()
        variance = (lead_c**2).sum(axis=1)
        slope = np.divide(lead_c @ offset, variance, out=np.zeros_like(variance), where=variance > 0)
        errors = (offset**2).sum() - slope**2 * variance
        index = int(np.argmin(errors))
        if errors[index] < best[0] and slope[index] != 0.0:
            wait = (speed / (power * abs(slope[index]))) ** (1.0 / (power - 1.0))
            best = (float(errors[index]), origin + float(starts[index]) + float(wait))
    return min(best[1], latest)
