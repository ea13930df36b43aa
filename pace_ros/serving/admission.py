"""What is let in: prefill tokens a second against measured throughput, KV occupancy against capacity."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pace_ros.clock import Clock
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.placement import ReplicaView, Turn

SOON = 1.0  # s: the least that a refused client is asked to wait
LATER = 60.0  # s: the most, where nothing says when a conversation will end


@dataclass(frozen=True)
class Verdict:
    """Admitted, or why not, and after how long (s) there may be room; infinite: never. ``outage``: it is no matter of
    room, a replica that could take it is not well; ``no_slot``: every slot has a conversation.
    """

    admitted: bool
    reason: str = ''
    retry_after: float = 0.0
    outage: bool = False
    no_slot: bool = False


class Admission:
    """Decides by what has arrived and by what is held; it predicts nothing.

    Prompts are metered as they come in, and the meter runs down at ``utilisation`` of the throughput measured. A first
    turn comes in while what came before it can be read within ``window``: so no more arrives in the long run than can
    be read, and a long prompt waits no longer than a short one. A conversation that is known has been let in for good.
    """

    def __init__(self, settings: AdmissionSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._arrived: deque[tuple[float, int]] = deque()
        self._unread = 0.0
        self._read_at = clock.monotonic()
        self._supply = 0.0
        self._full_since: float | None = None

    def arriving(self) -> float:
        """Prefill tokens a second that were admitted, over the window."""
        self._forget()
        return sum(tokens for _, tokens in self._arrived) / self._settings.window

    def verdict(self, turn: Turn, to_read: int, fleet: Sequence[ReplicaView], *, known: bool) -> Verdict:
        """Whether a turn with ``to_read`` prompt tokens not in any cache may come in; ``known``: its conversation lives
        somewhere, and needs no slot.
        """
        decoders = [each for each in fleet if each.decodes]
        if not decoders:
            return Verdict(admitted=False, reason='no decoder is well', retry_after=SOON, outage=True)
        largest = max(each.context for each in decoders)
        if turn.tokens > largest:
            return Verdict(admitted=False, reason=f'{turn.tokens} tokens are more than a context of {largest}',
                           retry_after=math.inf)
        self._run_down(self.throughput(fleet))
        if known or to_read <= 0:
            return Verdict(admitted=True)
        return self._rate() or self._room(turn, fleet) or Verdict(admitted=True)

    def admit(self, to_read: int) -> None:
        """So many prompt tokens come in, to be read by those whose throughput counts."""
        self._forget()
        self._arrived.append((self._clock.monotonic(), to_read))
        self._run_down(self._supply)
        self._unread += to_read

    def throughput(self, fleet: Sequence[ReplicaView]) -> float:
        """Prompt tokens a second that may arrive."""
        return sum(each.rate for each in readers(fleet)) * self._settings.utilisation

    def open_to_new(self, fleet: Sequence[ReplicaView]) -> Sequence[ReplicaView]:
        """The fleet as a first turn may fill it: what is beyond ``occupancy`` is for those to grow that are there. An
        empty replica is open in full: else the longest prompt would never have room.
        """
        kept = 1.0 - self._settings.occupancy
        if kept <= 0.0:
            return fleet
        return [
            replace(each, free=each.free - math.ceil(kept * each.capacity))
            if each.decodes and each.free < each.capacity else each
            for each in fleet
        ]

    def _rate(self) -> Verdict | None:
        over = self._unread - self._supply * self._settings.window
        if self._unread <= 0.0 or over < 0.0:
            return None
        reason = f'{self.arriving():.0f} prompt tokens/s arrive, {self._supply:.0f} can be read'
        return Verdict(admitted=False, reason=reason, retry_after=max(SOON, over / max(self._supply, 1e-9)))

    def _room(self, turn: Turn, fleet: Sequence[ReplicaView]) -> Verdict | None:
        """None if there is any. While there is none, a client is asked to wait as long again as that has lasted, unless
        somebody knows better.
        """
        if any(each.decodes and each.fits(turn.tokens) for each in self.open_to_new(fleet)):
            self._full_since = None
            return None
        now = self._clock.monotonic()
        if self._full_since is None:
            self._full_since = now
        after = min(LATER, max(SOON, now - self._full_since))
        no_slot = all_taken(fleet)
        reason = 'every slot is taken by a conversation' if no_slot else 'every KV cache is full'
        return Verdict(admitted=False, reason=reason, retry_after=after, no_slot=no_slot)

    def _run_down(self, supply: float) -> None:
        """What could be read since the last time has been."""
        now = self._clock.monotonic()
        self._unread = max(0.0, self._unread - self._supply * (now - self._read_at))
        self._read_at, self._supply = now, supply

    def _forget(self) -> None:
        since = self._clock.monotonic() - self._settings.window
        while self._arrived and self._arrived[0][0] <= since:
            self._arrived.popleft()


def all_taken(fleet: Sequence[ReplicaView]) -> bool:
    """Whether no decoder has a slot without a conversation."""
    return not any(each.decodes and each.free_slots > 0 for each in fleet)


def readers(fleet: Sequence[ReplicaView]) -> list[ReplicaView]:
    """Those whose throughput first turns have: prefillers that can hand over or answer themselves, else decoders."""
    able = [each for each in fleet if each.prefills and (each.decodes or each.hands_over)]
    return able or [each for each in fleet if each.decodes]
