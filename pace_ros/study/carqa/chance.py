"""Chance that is the same each time: every decision has a source of its own, named by what it is about."""
from __future__ import annotations

import random


def chance(*about: object) -> random.Random:
    """A source for one decision, such as ``chance(seed, 'kept')``: no other decision shifts it."""
    return random.Random('/'.join(map(str, about)))  # noqa: S311  a catalogue, no secret
