"""Collocated serving: every replica reads and answers, a conversation stays where it began."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class Collocated(Policy):
    """Sticky, too, but prompts are read beside the answers of others. With small batches a prompt is read in pieces
    between their tokens: a matter of the replica's own ``-b``, not of placement.
    """

    name = 'collocated'
    settles = True
    role_blind = True

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """Where it is read soonest, of those with room; all replicas count, whatever their role."""
        if home is not None:
            stays = any(each.name == home and each.goes_on(turn.tokens) for each in fleet)
            return Placement(home, home) if stays else None
        fitting = [each for each in fleet if each.fits(turn.tokens)]
        if not fitting:
            return None
        chosen = min(fitting, key=lambda each: (each.delay(turn.prompt), each.streams, -each.free, each.name))
        return Placement(chosen.name, chosen.name)
