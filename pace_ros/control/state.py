"""Everything the operator is told about the controllers."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.control.router import RouterState


@dataclass(frozen=True)
class ControllerState:
    """What a turn that began now would get, and the counts behind it.

    ``mode`` is the node's own; ``budget`` the filler budget B (s) of a turn decided for L2 right now; ``asked_ahead``
    counts the requests of speculative turns, ``used_ahead`` those a final utterance took over.
    """

    mode: str
    router: RouterState
    filler_launch: bool
    filler_decision: str
    budget: float
    fillers_measured: int
    conflict_rate: float
    judged: int
    contradiction_rate: float
    tokens_per_turn: float
    fillers_per_turn: float
    hedged_share: float
    probes: int
    asked_ahead: int
    used_ahead: int
