"""An event that may be rung more than once."""
from __future__ import annotations

import simpy


def ring(bell: simpy.Event) -> None:
    """Let it happen, unless it has."""
    if not bell.triggered:
        bell.succeed()
