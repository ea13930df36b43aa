"""Conversation-pinned placement (ConServe): observation, not prediction."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn


class Pinned(Policy):
    """The first prompt is read where that is done soonest by the prompt tokens waiting there, its cache is moved once
    to the decoder with most free KV, and there the conversation stays.

    While every prefiller that could take it is full, a first turn waits: read on a decoder it would hold up whoever is
    answered there. That happens only where no prefiller is well, has so long a context, or can hand over.
    """

    name = 'pinned'
    settles = True

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """By prompt length and KV occupancy alone."""
        if home is not None:
            stays = any(each.name == home and each.goes_on(turn.tokens) for each in fleet)
            return Placement(home, home) if stays else None
        decoders = [each for each in fleet if each.decodes and each.fits(turn.tokens)]
        if not decoders:
            return None
        decode = min(decoders, key=lambda each: (-each.free, -each.free_slots, each.name))
        if not decode.hands_over:
            return Placement(decode.name, decode.name)
        able = [each for each in fleet if each.prefills and each.hands_over and turn.prompt <= each.context]
        if not able:
            return Placement(decode.name, decode.name)
        readers = [each for each in able if each.fits(turn.prompt)]
        if not readers:
            return None
        prefill = min(readers, key=lambda each: (each.delay(turn.prompt), each.name != decode.name, each.name))
        return Placement(prefill.name, decode.name)
