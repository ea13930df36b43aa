"""Whether to launch a filler, and how long to wait for it."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.config import Filler as FillerSettings


@dataclass(frozen=True)
class FillerPlan:
    """One turn's decision: ``budget`` is B (s), counted from the decision for L2."""

    launch: bool
    budget: float
    reason: str


def plan(mode: str, settings: FillerSettings) -> FillerPlan:
    """Fixed: launch always, wait ``filler.budget``; off: never."""
    if mode == 'fixed':
        return FillerPlan(True, settings.budget, 'fixed')
    return FillerPlan(False, 0.0, 'off')
