"""The measured scatter of first-token times."""
from __future__ import annotations

import math
from collections import deque

from scipy import special

KEPT = 256
ROUNDING = 1e-9  # logarithms nearer than this are equal


class TtftScatter:
    """Whether the first-token times of a window are like those before it.

    Latencies scatter about their median by factors, so their logarithms are compared: Student's t of the window's mean
    against the mean of the earlier samples, with the earlier samples' own standard deviation.
    """

    def __init__(self) -> None:
        self._earlier: deque[float] = deque(maxlen=KEPT)
        self._window: deque[float] = deque(maxlen=KEPT)

    def observe(self, ttft: float) -> None:
        """Add a first-token time (s) to the window under way."""
        self._window.append(math.log(max(ttft, 1e-3)))

    def p_value(self) -> float:
        """The two-sided probability of the window's mean under steady load; 1 where nothing can be said."""
        if not self._window or len(self._earlier) < 2:
            return 1.0
        count, mean = len(self._earlier), sum(self._earlier) / len(self._earlier)
        variance = sum((each - mean) ** 2 for each in self._earlier) / (count - 1)
        shift = sum(self._window) / len(self._window) - mean
        if variance < ROUNDING**2:
            return 1.0 if abs(shift) < ROUNDING else 0.0
        t = abs(shift) / math.sqrt(variance * (1 / len(self._window) + 1 / count))
        return 2.0 * float(special.stdtr(count - 1, -t))

    def next_window(self, *, forget: bool) -> None:
        """Close the window; ``forget`` drops what was before it, since load has changed."""
        if forget:
            self._earlier.clear()
        self._earlier.extend(self._window)
        self._window.clear()
