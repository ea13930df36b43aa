"""Full disaggregation: every turn's prompt is read on a prefiller and its cache moved, turn by turn."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class Disaggregated(Policy):
    """No turn is read where others are answered; no conversation stays anywhere."""

    name = 'disaggregated'

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The prefiller that is done soonest, the decoder with most free KV."""
        del home
        decoders = [each for each in fleet if each.decodes and each.fits(turn.tokens)]
        readers = [each for each in fleet if each.prefills and each.hands_over and each.fits(turn.prompt)]
        if not decoders or not readers:
            return None
        decode = max(decoders, key=lambda each: (each.free, each.free_slots))
        return Placement(min(readers, key=lambda each: each.delay(turn.prompt)).name, decode.name, stays=False)
