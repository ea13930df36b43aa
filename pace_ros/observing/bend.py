"""When a joint that was in motion began to be steered otherwise, from noisy positions."""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STEP = 0.002  # s between the instants that are tried
SIDE = 3  # samples at least on either side of it


def bend_at(times: Array, positions: Array) -> float:
    """The instant (s) at which the acceleration changed.

    x = b + v t + a t²/2 + c (t - t0)² after t0 is fitted by least squares; ``times`` (s, increasing) and
    ``positions`` (rad) have shape (n,). The last time where there are too few.
    """
    if len(times) < 2 * SIDE + 2:
        return float(times[-1])
    moments = (times - times[0]) / (times[-1] - times[0])
    first, last = moments[SIDE - 1], moments[-SIDE]
    starts = np.arange(first, last, STEP / (times[-1] - times[0]))
    if not len(starts):
        return float(times[-1])
    smooth, _ = np.linalg.qr(np.stack([np.ones_like(moments), moments, moments**2], axis=1))
    leads = np.clip(moments[None, :] - starts[:, None], 0.0, None) ** 2
    leads -= (leads @ smooth) @ smooth.T
    rest = positions - smooth @ (smooth.T @ positions)
    norms = np.maximum((leads**2).sum(axis=1), 1e-12)
    explained = (leads @ rest) ** 2 / norms
    return float(times[0] + starts[int(np.argmax(explained))] * (times[-1] - times[0]))
