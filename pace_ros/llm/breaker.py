"""Circuit breaker: after failures in a row the endpoint is left alone, then probed by one request at a time."""
from __future__ import annotations

import threading
from types import TracebackType

from pace_ros.clock import Clock
from pace_ros.llm.errors import BreakerOpen


class Permit:
    """Leave to make one request. As a context manager: an ``Exception`` is a failure, anything else that leaves the
    block early (cancellation, a closed generator) gives the permit back and counts as nothing.
    """

    def __init__(self, breaker: Breaker, *, probe: bool) -> None:
        self._breaker = breaker
        self.is_probe = probe
        self._settled = False

    def succeed(self) -> None:
        """Count the request as a success."""
        self._settle(outcome=True)

    def give_back(self) -> None:
        """Count the request as nothing: its failure says nothing of the endpoint."""
        self._settle(outcome=None)

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._settle(outcome=False if isinstance(error, Exception) else None)

    def _settle(self, *, outcome: bool | None) -> None:
        if not self._settled:
            self._settled = True
            self._breaker._settle(outcome=outcome, probe=self.is_probe)  # noqa: SLF001  two halves of one thing


class Breaker:
    """Closed until ``failures`` in a row, then open for ``cooldown`` s, then half open: one probe decides."""

    def __init__(self, *, failures: int, cooldown: float, clock: Clock) -> None:
        self._limit = failures
        self._cooldown = cooldown
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened: float | None = None
        self._probing = False

    @property
    def state(self) -> str:
        """``closed``, ``open`` or ``half-open``."""
        with self._lock:
            if self._opened is None:
                return 'closed'
            return 'open' if self._remaining() > 0 else 'half-open'

    def acquire(self) -> Permit:
        """Ask leave for one request. Raises BreakerOpen while open, and while another probe is under way."""
        with self._lock:
            if self._opened is None:
                return Permit(self, probe=False)
            remaining = self._remaining()
            if remaining > 0:
                raise BreakerOpen(f'breaker open for another {remaining:.1f} s')
            if self._probing:
                raise BreakerOpen('breaker half open, a probe is under way')
            self._probing = True
            return Permit(self, probe=True)

    def _remaining(self) -> float:
        assert self._opened is not None  # noqa: S101  both callers have just looked, under the lock
        return self._opened + self._cooldown - self._clock.monotonic()

    def _settle(self, *, outcome: bool | None, probe: bool) -> None:
        with self._lock:
            if probe:
                self._probing = False
            if outcome is True:
                self._failures = 0
                if probe:
                    self._opened = None
            elif outcome is False:
                self._failures += 1
                if probe or self._failures >= self._limit:
                    self._opened = self._clock.monotonic()
