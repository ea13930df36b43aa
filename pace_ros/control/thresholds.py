"""The similarity thresholds of one turn."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.config import Router


@dataclass(frozen=True)
class Thresholds:
    """Cosines from which L0 and L1 answer."""

    cache: float
    direct: float


def operating_point(settings: Router) -> Thresholds:
    """The certified static point, 0.95 / 0.75 by default."""
    return Thresholds(settings.theta_cache, settings.theta_direct)


def under_load(load: float, settings: Router) -> Thresholds:
    """Theta = high - lambda (high - low): the secant through both boundary solutions (design section 5, property 2)."""
    return Thresholds(
        _between(settings.cache_high, settings.cache_low, load),
        _between(settings.direct_high, settings.direct_low, load),
    )


def _between(high: float, low: float, load: float) -> float:
    return min(high, max(low, high - load * (high - low)))  # rounding must not leave the interval
