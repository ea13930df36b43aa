"""The steady-state gate: thresholds are pinned to the certified operating point while load is steady."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from pace_ros.config import Gate as GateSettings
from pace_ros.control.scatter import TtftScatter
from pace_ros.control.triggers import Trigger, Window, load_step, rate_dispersion, rate_ratio


@dataclass(frozen=True)
class GateState:
    """STATIC (pinned) or ADAPTIVE, and why: ``triggers`` are those of the last close, empty before a comparison."""

    static: bool = False
    quiet_windows: int = 0
    windows: int = 0
    triggers: tuple[Trigger, ...] = ()
    reason: str = 'cold start'


class Gate:
    """H quiet windows in a row close it, any trigger opens it; it starts open (design section 5).

    The window that opens it is the first of a new regime, as the very first window is: it counts as nobody's quiet
    window, and dispersion is taken over the windows since then, ``dispersion_windows`` at most. So one step of load
    holds the gate open for H windows after the one that saw it, and H + 1 if it fell into the middle of a window.
    """

    def __init__(self, settings: Callable[[], GateSettings]) -> None:
        self._settings = settings
        self._regime: deque[Window] = deque(maxlen=settings().dispersion_windows)
        self._scatter = TtftScatter(recent=settings().quiet_windows)
        self.state = GateState()

    def observe_ttft(self, seconds: float) -> None:
        """L2 gave a first token after ``seconds``."""
        self._scatter.observe(seconds)

    def close_window(self, window: Window) -> GateState:
        """Compare a finished window with those before it, and decide for the next one."""
        settings = self._settings()
        before = self._regime[-1] if self._regime else None
        self._regime.append(window)
        triggers: tuple[Trigger, ...] = ()
        if before is not None:
            triggers = (
                rate_ratio(window, before, settings),
                rate_dispersion(self._regime, settings),
                load_step(window, before, self._scatter.p_value(), settings),
            )
        fired = [trigger for trigger in triggers if trigger.fired]
        if fired:
            self._regime.clear()
            self._regime.append(window)
        self._scatter.recent = settings.quiet_windows
        self._scatter.next_window(forget=bool(fired))
        self.state = self._next(before, triggers, fired, settings.quiet_windows)
        return self.state

    def _next(
        self, before: Window | None, triggers: tuple[Trigger, ...], fired: list[Trigger], wanted: int
    ) -> GateState:
        quiet = 0 if fired or before is None else self.state.quiet_windows + 1
        if fired:
            reason = ', '.join(str(trigger) for trigger in fired)
        elif quiet >= wanted:
            reason = f'{quiet} quiet windows'
        else:
            reason = self.state.reason
        return GateState(quiet >= wanted, quiet, self.state.windows + 1, triggers, reason)
