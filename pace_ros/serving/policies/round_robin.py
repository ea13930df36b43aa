"""Round robin: one replica after the other."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class RoundRobin(Policy):
    """Turn by turn to the next replica that has room."""

    name = 'round-robin'
    role_blind = True

    def __init__(self) -> None:
        self._last = ''

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The next one by name."""
        del home
        fitting = sorted(each.name for each in fleet if each.fits(turn.tokens))
        if not fitting:
            return None
        self._last = next((name for name in fitting if name > self._last), fitting[0])
        return Placement(self._last, self._last, stays=False)
