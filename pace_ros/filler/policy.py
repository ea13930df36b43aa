"""Whether to launch a filler, and how long to wait for it (design section 5)."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.config import Filler as FillerSettings


@dataclass(frozen=True)
class FillerPlan:
    """One turn's decision, with its reason."""

    launch: bool
    reason: str


def plan(mode: str, settings: FillerSettings, *, p_instant: float) -> FillerPlan:
    """Adaptive: launch iff P(inst) <= 0.7; fixed: always; off: never.

    With c the cost of a filler launched in vain and u the use of one that fills a wait, launching is Bayes-optimal iff
    P(inst) <= u / (c + u); the default belongs to c / (c + u) = 0.3 (property 5).
    """
    if mode != 'adaptive':
        return FillerPlan(mode == 'fixed', mode)
    launch = p_instant <= settings.launch_below
    return FillerPlan(launch, f'adaptive: P(inst) {p_instant:.3f} {"<=" if launch else ">"} {settings.launch_below:g}')


def budget(mode: str, settings: FillerSettings, *, ttft: float, elapsed: float) -> float:
    """B (s), counted from the decision for L2: the longest wait for the generator.

    Adaptive: B = clip(0.8 x - t_elapsed, 0.2, 1.2) of the averaged TTFT x and the time since receipt (s); fixed: 0.9.
    """
    if mode != 'adaptive':
        return settings.budget
    return min(max(settings.budget_share * ttft - elapsed, settings.budget_low), settings.budget_high)
