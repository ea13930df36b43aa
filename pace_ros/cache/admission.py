"""Whether an answer may enter the cache, and for how long."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Admission:
    """The decision with its reason; ``ttl`` in s from writing, None for ever."""

    admitted: bool
    reason: str
    ttl: float | None = None


def admit(*, volatile: bool, policy: str, ttl: float) -> Admission:
    """Volatile and deny: rejected; volatile and ttl: kept ``ttl`` s; everything else is kept until evicted."""
    if not volatile or policy == 'off':
        return Admission(True, 'stable' if not volatile else 'volatility off')
    if policy == 'ttl':
        return Admission(True, 'volatile: ttl', ttl)
    return Admission(False, 'volatile: deny')
