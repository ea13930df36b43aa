"""Fleets to simulate: a gateway's configuration without servers."""
from __future__ import annotations

from typing import Any

from pace_ros.serving.fleet import Fleet, fleet_of


def simulated_fleet(
    *, prefillers: int = 1, decoders: int = 2, both: int = 0, slots: int = 8, prefiller_slots: int | None = None,
    context: int = 4096, rate: float = 200.0, **settings: Any,
) -> Fleet:
    """Replicas named prefill-1 ..., decode-1 ..., both-1 ...; ``rate``: what a replica is taken to read, prompt
    tokens/s, until it has been measured. ``settings`` are those of a fleet file (``admission={'wait': 5.0}``).

    Raises ConfigError.
    """
    counts = {'prefill': prefillers, 'decode': decoders, 'both': both}
    of_prefillers = slots if prefiller_slots is None else prefiller_slots
    replicas = [
        {'name': f'{role}-{number}', 'url': f'http://{role}-{number}.invalid', 'role': role, 'context': context,
         'prefill_rate': rate, 'slots': of_prefillers if role == 'prefill' else slots}
        for role, count in counts.items() for number in range(1, count + 1)
    ]
    return fleet_of({'replicas': replicas, **settings})
