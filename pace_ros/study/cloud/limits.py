"""What stands between a request and an answer: the rate limit, and outages."""
from __future__ import annotations

import math
from collections.abc import Sequence

from pace_ros.study.cloud.settings import Outage


class TokenBucket:
    """Lets ``burst`` requests pass at once and ``rate`` a second on end; a rate of 0 lets all pass."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._level = float(burst)
        self._filled = -math.inf

    def wait(self, now: float) -> float:
        """Take one request at ``now`` (s): 0 if it may pass, else the time (s) until one may."""
        if self._rate <= 0.0:
            return 0.0
        if math.isfinite(self._filled):
            self._level = min(self._burst, self._level + (now - self._filled) * self._rate)
        self._filled = now
        if self._level < 1.0:
            return (1.0 - self._level) / self._rate
        self._level -= 1.0
        return 0.0


class Outages:
    """When nobody is answered; times in s since the cloud began."""

    def __init__(self, outages: Sequence[Outage]) -> None:
        self._outages = tuple(outages)

    def hold(self, now: float) -> bool:
        """Whether one is on."""
        return any(each.begin <= now < each.end for each in self._outages)

    def next(self, now: float) -> float:
        """When the next one begins, infinite for never."""
        return min((each.begin for each in self._outages if each.begin > now), default=math.inf)
