"""What is let in: prefill tokens a second against measured throughput, KV occupancy against capacity."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pace_ros.clock import Clock
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.placement import ReplicaView, Turn

SOON = 1.0  # s: the least that a refused client is asked to wait


@dataclass(frozen=True)
class Verdict:
    """Admitted, or why not, and after how long (s) there may be room."""

    admitted: bool
    reason: str = ''
    retry_after: float = 0.0


class Admission:
    """Decides by what has arrived and by what is held; it predicts nothing."""

    def __init__(self, settings: AdmissionSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._arrived: deque[tuple[float, int]] = deque()

    def arriving(self) -> float:
        """Prefill tokens a second that were admitted, over the window."""
        self._forget()
        return sum(tokens for _, tokens in self._arrived) / self._settings.window

    def verdict(self, turn: Turn, to_read: int, fleet: Sequence[ReplicaView], *, known: bool) -> Verdict:
        """Whether a turn with ``to_read`` prompt tokens not in any cache may come in; ``known``: its conversation lives
        somewhere, and needs no slot.
        """
        readers = [each for each in fleet if each.prefills] or list(fleet)
        if not readers:
            return Verdict(admitted=False, reason='no replica is well', retry_after=SOON)
        largest = max((each.context for each in fleet if each.decodes), default=0)
        if turn.tokens > largest:
            return Verdict(admitted=False, reason=f'{turn.tokens} tokens are more than a context of {largest}',
                           retry_after=math.inf)
        supply = sum(each.rate for each in readers) * self._settings.utilisation
        arriving = self.arriving()
        if arriving > 0.0 and arriving + to_read / self._settings.window > supply:
            return Verdict(admitted=False, reason=f'{arriving:.0f} prompt tokens/s arrive, {supply:.0f} can be read',
                           retry_after=max(SOON, (arriving - supply) / supply * self._settings.window))
        if not known and not any(each.decodes and each.fits(turn.tokens) and self._roomy(turn, each) for each in fleet):
            return Verdict(admitted=False, reason='every KV cache is full', retry_after=SOON)
        return Verdict(admitted=True)

    def admit(self, to_read: int) -> None:
        """So many prompt tokens come in."""
        self._forget()
        self._arrived.append((self._clock.monotonic(), to_read))

    def _roomy(self, turn: Turn, replica: ReplicaView) -> bool:
        return turn.tokens <= replica.free - (1.0 - self._settings.occupancy) * replica.capacity

    def _forget(self) -> None:
        since = self._clock.monotonic() - self._settings.window
        while self._arrived and self._arrived[0][0] <= since:
            self._arrived.popleft()
