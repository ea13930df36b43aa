"""Least loaded: what any load balancer does, without a look at caches."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class LeastLoaded(Policy):
    """Turn by turn to the replica with the fewest answers under way; a cache is found by chance."""

    name = 'least-loaded'
    role_blind = True

    def __init__(self) -> None:
        self._last = ''

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """Of the least loaded ones with room, the next by name."""
        del home
        fitting = [each for each in fleet if each.fits(turn.tokens)]
        if not fitting:
            return None
        least = min((each.streams, each.waiting) for each in fitting)
        names = sorted(each.name for each in fitting if (each.streams, each.waiting) == least)
        self._last = next((name for name in names if name > self._last), names[0])
        return Placement(self._last, self._last, stays=False)
