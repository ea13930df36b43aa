"""Least loaded: what any load balancer does, without a look at caches."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class LeastLoaded(Policy):
    """Turn by turn to the replica with the fewest answers under way; a cache is found by chance."""

    name = 'least-loaded'

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The first of the least loaded ones with room."""
        del home
        fitting = [each for each in fleet if each.fits(turn.tokens)]
        if not fitting:
            return None
        chosen = min(fitting, key=lambda each: (each.streams, each.waiting))
        return Placement(chosen.name, chosen.name, stays=False)
