"""The measured scatter of first-token times."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

KEPT = 64  # windows with first tokens that give the scatter
ROUNDING = 1e-9  # logarithms nearer than this are equal


@dataclass
class Batch:
    """Logarithms of the first-token times of one window: how many, and their sum."""

    count: int = 0
    total: float = 0.0


class TtftScatter:
    """Whether first-token times are what they were.

    Latencies scatter about their median by factors, so their logarithms are compared, in two ways: those of the window
    under way with all before it, which sees a sudden change under many samples; and those of the last ``recent``
    windows with the older ones, which sees a lasting change under few. Requests of one queue wait together, so the
    times of a window are alike beyond chance: the scatter is that of window means, not of single times (the method of
    batch means).
    """

    def __init__(self, recent: int) -> None:
        self._window = Batch()
        self._recent: deque[Batch] = deque()
        self.recent = recent  # windows
        self._older: deque[Batch] = deque(maxlen=KEPT)

    def observe(self, ttft: float) -> None:
        """Add a first-token time (s) to the window under way."""
        self._window.count += 1
        self._window.total += math.log(max(ttft, 1e-3))

    def p_value(self) -> float:
        """The two-sided probability under steady load of a mean as far off, the smaller of both ways."""
        sudden = _student([self._window], [*self._older, *self._recent])
        lasting = _student([*self._recent, self._window], [*self._older])
        return min(sudden, lasting)

    def next_window(self, *, forget: bool) -> None:
        """Close the window; ``forget`` drops what was before it, since load has changed."""
        if forget:
            self._older.clear()
            self._recent.clear()
        if self._window.count or self._recent:
            self._recent.append(self._window)
        self._window = Batch()
        while len(self._recent) >= self.recent:  # with the window under way they are so many
            left = self._recent.popleft()
            if left.count:
                self._older.append(left)


def _student(sample: Sequence[Batch], before: Sequence[Batch]) -> float:
    """Student's t of the sample's mean against the mean of those before, with the scatter of the batches before.

    A batch of n has a mean with the variance s^2 / n, where s^2 also holds what its members share; k batches give s^2
    with k - 1 degrees of freedom. 1 where nothing can be said: without a sample, or with fewer than two batches.
    """
    sample, before = [each for each in sample if each.count], [each for each in before if each.count]
    if not sample or len(before) < 2:
        return 1.0
    now, count = sum(each.count for each in sample), sum(each.count for each in before)
    mean = sum(each.total for each in before) / count
    variance = sum((each.total - each.count * mean) ** 2 / each.count for each in before) / (len(before) - 1)
    shift = abs(sum(each.total for each in sample) / now - mean)
    if variance < ROUNDING**2:
        return 1.0 if shift < ROUNDING else 0.0
    t = shift / math.sqrt(variance * (1 / now + 1 / count))
    return 2.0 * float(special.stdtr(len(before) - 1, -t))
