"""The moving average of L2's time to first token, with what is known of its freshness."""
from __future__ import annotations

import math


class TtftEwma:
    """x <- x + alpha (TTFT - x), x0 = ``initial`` (s) (design section 5, property 4).

    A constant input is approached as (1 - alpha)^n; a drift of delta a sample is followed with a lag of at most
    delta (1 - alpha) / alpha.
    """

    def __init__(self, initial: float) -> None:
        self.value = initial
        self.samples = 0
        self.last_sample: float | None = None

    def observe(self, ttft: float, *, alpha: float, now: float) -> bool:
        """Take a first-token time (s) seen at the monotonic instant ``now``; says whether it is one at all."""
        if not math.isfinite(ttft) or ttft < 0:
            return False
        self.value += alpha * (ttft - self.value)
        self.samples += 1
        self.last_sample = now
        return True

    def restore(self, value: float, *, last_sample: float) -> None:
        """Go on where an earlier run ended; ``last_sample`` is monotonic (s)."""
        self.value = value
        self.last_sample = last_sample

    def age(self, now: float) -> float:
        """Seconds since the last sample, NaN if there was none."""
        return math.nan if self.last_sample is None else now - self.last_sample
