"""The measured scatter of first-token times."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from scipy import special

KEPT = 256  # samples that give the scatter, and samples of one window
ROUNDING = 1e-9  # logarithms nearer than this are equal


class TtftScatter:
    """Whether first-token times are what they were.

    Latencies scatter about their median by factors, so their logarithms are compared, in two ways: those of the window
    under way with all before it, which sees a sudden change under many samples; and those of the last ``recent``
    windows with the older ones, which sees a lasting change under few.
    """

    def __init__(self, recent: int) -> None:
        self._window: deque[float] = deque(maxlen=KEPT)
        self._recent: deque[tuple[float, ...]] = deque()
        self.recent = recent  # windows
        self._older: deque[float] = deque(maxlen=KEPT)

    def observe(self, ttft: float) -> None:
        """Add a first-token time (s) to the window under way."""
        self._window.append(math.log(max(ttft, 1e-3)))

    def p_value(self) -> float:
        """The two-sided probability under steady load of a mean as far off, the smaller of both ways."""
        recent = [each for window in self._recent for each in window]
        sudden = _student([*self._window], [*self._older, *recent])
        lasting = _student([*recent, *self._window], [*self._older])
        return min(sudden, lasting)

    def next_window(self, *, forget: bool) -> None:
        """Close the window; ``forget`` drops what was before it, since load has changed."""
        if forget:
            self._older.clear()
            self._recent.clear()
        self._recent.append(tuple(self._window))
        self._window.clear()
        while len(self._recent) >= self.recent:  # with the window under way they are so many
            self._older.extend(self._recent.popleft())


def _student(sample: Sequence[float], before: Sequence[float]) -> float:
    """Student's t of the sample's mean against the mean of those before, with the scatter of those before.

    1 where nothing can be said: without a sample, or with fewer than two before it.
    """
    count = len(before)
    if not sample or count < 2:
        return 1.0
    mean = sum(before) / count
    variance = sum((each - mean) ** 2 for each in before) / (count - 1)
    shift = abs(sum(sample) / len(sample) - mean)
    if variance < ROUNDING**2:
        return 1.0 if shift < ROUNDING else 0.0
    t = shift / math.sqrt(variance * (1 / len(sample) + 1 / count))
    return 2.0 * float(special.stdtr(count - 1, -t))
