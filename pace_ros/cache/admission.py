"""Whether an answer may enter the cache, and for how long."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.aging import STABLE, Aging


@dataclass(frozen=True)
class Admission:
    """The decision with its reason; ``ttl`` in s from writing, None for ever."""

    admitted: bool
    reason: str
    ttl: float | None = None


def admit(aging: Aging, category: str, locale: str) -> Admission:
    """By the policy for the class of volatility: deny rejects, ttl keeps for its life, off keeps until evicted."""
    policy, ttl = aging.of(category, locale)
    if policy == 'deny':
        return Admission(False, f'{category}: deny')
    if policy == 'ttl':
        return Admission(True, f'{category}: ttl {ttl:g} s', ttl)
    return Admission(True, category if category == STABLE else f'{category}: off')
