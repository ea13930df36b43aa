"""The router: observes load, and hands each turn one immutable decision."""
from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control.arrivals import ArrivalWindow
from pace_ros.control.ewma import TtftEwma
from pace_ros.control.gate import Gate, GateState
from pace_ros.control.instant_share import InstantShare
from pace_ros.control.load import load_index
from pace_ros.control.thresholds import operating_point, under_load
from pace_ros.control.triggers import Window
from pace_ros.control.windows import Close, WindowCutter


@dataclass(frozen=True)
class Decision:
    """What one turn is routed by. ``law`` is static (pinned) or adaptive; ``reason`` says how that came about."""

    theta_cache: float
    theta_direct: float
    law: str
    reason: str
    load_index: float
    p_instant: float
    ttft_ewma: float


@dataclass(frozen=True)
class RouterState:
    """A snapshot for the operator. ``ttft_age`` is s since the last sample (NaN: none yet)."""

    decision: Decision
    gate: GateState
    arrival_rate: float
    ttft_samples: int
    ttft_age: float
    starved: bool


class Router:
    """One for all modes: it observes alike whichever law routes a turn. Thread-safe; constant time a turn.

    All instants are the steady clock's: no jump of the wall clock reaches it. Only first tokens are samples of TTFT. A
    request that timed out, failed or was cancelled before its first token is none: it shows in the breaker, in FALLBACK
    turns, and, if it goes on, as a starved signal.
    """

    def __init__(self, config: Callable[[], Config], clock: Clock) -> None:
        now, start = config(), clock.monotonic()
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._ewma = TtftEwma(now.router.ttft_initial)
        self._arrivals = ArrivalWindow(now.router.rate_window)
        self._instant = InstantShare(now.filler.decisions, now.filler.prior)
        self._cutter = WindowCutter(now.gate.window, now.gate.window_requests, start)
        self._gate = Gate(lambda: config().gate)
        self._last_arrival = -math.inf
        self._unsampled_since: float | None = None  # the first arrival after the last sample

    def observe_arrival(self) -> None:
        """An utterance has come in."""
        with self._lock:
            now = self._advance()
            self._arrivals.observe(now)
            self._last_arrival = now
            if self._unsampled_since is None:
                self._unsampled_since = now
            self._close(self._cutter.arrival(now))

    def observe_ttft(self, seconds: float) -> None:
        """L2 gave its first token after ``seconds``."""
        with self._lock:
            now = self._advance()
            if self._ewma.observe(seconds, alpha=self._config().router.ttft_alpha, now=now):
                self._gate.observe_ttft(seconds)
                self._unsampled_since = None

    def observe_path(self, *, instant: bool) -> None:
        """A turn was decided for an instant path (L0, L1), or for L2."""
        with self._lock:
            self._instant.observe(instant=instant)

    def decide(self, mode: str) -> Decision:
        """The thresholds for the turn that starts now, under ``mode`` static, adaptive or gated."""
        with self._lock:
            return self._decide(mode, self._advance())

    def state(self) -> RouterState:
        """A snapshot under the node's own mode."""
        settings = self._config().router
        with self._lock:
            now = self._advance()
            return RouterState(
                decision=self._decide(settings.mode, now),
                gate=self._gate.state,
                arrival_rate=self._arrivals.rate(now),
                ttft_samples=self._ewma.samples,
                ttft_age=self._ewma.age(now),
                starved=self._starved(now, settings.signal_age),
            )

    def restore(self, ttft: float, age: float) -> None:
        """Go on with the average of an earlier run, whose last sample is ``age`` s old."""
        with self._lock:
            self._ewma.restore(ttft, last_sample=self._clock.monotonic() - age)

    def _decide(self, mode: str, now: float) -> Decision:
        settings = self._config().router
        load = load_index(self._ewma.value, self._arrivals.rate(now), settings)
        gate = self._gate.state
        pinned = mode == 'static' or (mode == 'gated' and gate.static)
        thresholds = operating_point(settings) if pinned else under_load(load, settings)
        return Decision(
            theta_cache=thresholds.cache,
            theta_direct=thresholds.direct,
            law='static' if pinned else 'adaptive',
            reason=f'gate: {gate.reason}' if mode == 'gated' else mode,
            load_index=load,
            p_instant=self._instant.value,
            ttft_ewma=self._ewma.value,
        )

    def _starved(self, now: float, limit: float) -> bool:
        """Visitors come, but none of their turns has given a first token for longer than ``limit`` s."""
        since = self._unsampled_since
        return since is not None and now - since > limit and now - self._last_arrival <= limit

    def _advance(self) -> float:
        """Close the windows that have ended before anything of the present is counted."""
        now = self._clock.monotonic()
        self._close(self._cutter.due(now))
        return now

    def _close(self, closes: Iterable[Close]) -> None:
        for each in closes:
            load = load_index(self._ewma.value, self._arrivals.rate(each.instant), self._config().router)
            self._gate.close_window(Window(each.count, each.span, load))
