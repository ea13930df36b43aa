"""Full disaggregation: every turn's prompt is read on a prefiller and its cache moved, turn by turn."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class Disaggregated(Policy):
    """No turn is read where others are answered, unless one replica has both roles, or no prefiller that is well could
    ever take it; no conversation stays anywhere.
    """

    name = 'disaggregated'

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The prefiller that is done soonest, the decoder with most free KV."""
        del home
        decoders = [each for each in fleet if each.decodes and each.fits(turn.tokens)]
        if not decoders:
            return None
        decode = min(decoders, key=lambda each: (-each.free, -each.free_slots, each.name))
        able = [
            each for each in fleet
            if each.prefills and turn.prompt <= each.context
            and (each is decode or (each.hands_over and decode.hands_over))
        ]
        if not able:
            return Placement(decode.name, decode.name, stays=False)
        readers = [each for each in able if each.fits(turn.prompt)]
        if not readers:
            return None
        prefill = min(readers, key=lambda each: (each.delay(turn.prompt), each is not decode, each.name))
        return Placement(prefill.name, decode.name, stays=False)
