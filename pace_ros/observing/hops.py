"""Levels of samples that come in chunks of any length."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pace_ros.embodiment.level import FULL_SCALE, HOP

GAP = 0.05  # s; after a longer one the hops start anew


class Hops:
    """Cuts a microphone's chunks into hops; what is left over opens the next one."""

    def __init__(self) -> None:
        self._left: npt.NDArray[np.float64] = np.zeros(0)
        self._end = 0.0

    def cut(self, stamp: float, samples: Sequence[int], sample_rate: int) -> tuple[float, list[float]]:
        """Begin (s) of the first hop and the rms (0..1) of each; ``stamp`` (s) is that of the first sample (16 bit).

        Raises ValueError for a rate at which a hop has no sample.
        """
        size = round(HOP * sample_rate)
        if size < 1:
            raise ValueError(f'A microphone at {sample_rate} samples a second cannot be heard in hops of {HOP} s.')
        if abs(stamp - self._end) > GAP:
            self._left = np.zeros(0)
        begin = stamp - len(self._left) / sample_rate
        joined = np.concatenate([self._left, np.asarray(samples, dtype=np.float64) / FULL_SCALE])
        count = len(joined) // size
        self._left = joined[count * size:]
        self._end = stamp + len(samples) / sample_rate
        hops = joined[: count * size].reshape(count, size)
        return begin, [float(each) for each in np.sqrt((hops**2).mean(axis=1))]
