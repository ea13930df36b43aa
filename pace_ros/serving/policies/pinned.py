"""Conversation-pinned placement (ConServe): observation, not prediction."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class Pinned(Policy):
    """The first prompt is read where that is done soonest, its cache is moved once to the decoder with most free KV,
    and there the conversation stays.
    """

    name = 'pinned'

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """By first-turn prompt length and KV occupancy alone."""
        if home is not None:
            return Placement(home, home)
        decoders = [each for each in fleet if each.decodes and each.fits(turn.tokens)]
        if not decoders:
            return None
        decode = max(decoders, key=lambda each: (each.free, each.free_slots))
        readers = [each for each in fleet if each.prefills and each.hands_over and each.fits(turn.prompt)]
        if not readers or not decode.hands_over:
            return Placement(decode.name, decode.name)
        prefill = min(readers, key=lambda each: (each.delay(turn.prompt), each.name != decode.name))
        return Placement(prefill.name, decode.name)
