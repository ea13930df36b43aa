"""The load index: how busy cloud and floor are, between 0 and 1."""
from __future__ import annotations

from pace_ros.config import Router


def clip(value: float, low: float, high: float) -> float:
    """The value of [low, high] nearest to ``value``."""
    return min(max(value, low), high)


def load_index(ttft: float, rate: float, settings: Router) -> float:
    """Lambda = clip(0.7 z(x) + 0.3 z(r), 0, 1) of the averaged TTFT x (s) and the arrival rate r (1/s).

    z maps [1, 4] s and [0, 8] 1/s to [0, 1], clipped; weights and anchors are settings (design section 5).
    """
    z_ttft = clip((ttft - settings.ttft_low) / (settings.ttft_high - settings.ttft_low), 0.0, 1.0)
    z_rate = clip((rate - settings.rate_low) / (settings.rate_high - settings.rate_low), 0.0, 1.0)
    return clip(settings.ttft_weight * z_ttft + (1.0 - settings.ttft_weight) * z_rate, 0.0, 1.0)
