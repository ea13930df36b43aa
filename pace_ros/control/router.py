"""Which thresholds a turn is routed by: the static operating point, behind a protocol that other routers share."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pace_ros.config import Router as RouterSettings


@dataclass(frozen=True)
class Decision:
    """What one turn is routed by. ``load_index`` and ``p_instant`` are NaN where a router does not measure them."""

    theta_cache: float
    theta_direct: float
    gate: str
    load_index: float = math.nan
    p_instant: float = math.nan


@dataclass(frozen=True)
class RouterState:
    """What the router would say of itself right now; NaN where it does not measure."""

    decision: Decision
    ttft_ewma: float = math.nan
    arrival_rate: float = math.nan
    quiet_windows: int = 0


class Router(Protocol):
    """Observes arrivals, first tokens and paths; decides thresholds."""

    def observe_arrival(self) -> None:
        """An utterance has come in."""
        ...

    def observe_ttft(self, seconds: float) -> None:
        """L2 gave its first token after ``seconds``; failures and timeouts are no observation."""
        ...

    def observe_path(self, *, instant: bool) -> None:
        """A turn took an instant path (L0, L1), or not."""
        ...

    def decide(self) -> Decision:
        """The thresholds for the turn that starts now."""
        ...

    def state(self) -> RouterState:
        """A snapshot for the operator."""
        ...


class StaticRouter:
    """Thresholds pinned at the operating point of the configuration (0.95 / 0.75 by default)."""

    def __init__(self, settings: Callable[[], RouterSettings]) -> None:
        self._settings = settings

    def observe_arrival(self) -> None:
        """Load does not move a pinned threshold."""

    def observe_ttft(self, seconds: float) -> None:
        """Load does not move a pinned threshold."""

    def observe_path(self, *, instant: bool) -> None:
        """Nor does the share of instant paths."""

    def decide(self) -> Decision:
        """The operating point."""
        settings = self._settings()
        return Decision(settings.theta_cache, settings.theta_direct, gate='static')

    def state(self) -> RouterState:
        """The operating point; nothing is measured."""
        return RouterState(self.decide())
