"""What a simulation has shown."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from pace_ros.serving.fleet import Fleet
from pace_ros.serving.simulator.engine import Engine

REPLICAS = {
    'replica': 'Its name.', 'role': 'Its role.', 'prefill': 'Time spent reading, s.', 'decode': 'Time answering, s.',
    'moving': 'Time saving and restoring caches, s.', 'idle': 'Time doing nothing, s.', 'read': 'Prompt tokens read.',
    'answered': 'Tokens given, those that end a prompt read for another included.', 'energy': 'Energy, J.',
}
"""The columns of ``Outcome.replicas``."""

OCCUPANCY = {
    'time': 'When, s.', 'replica': 'Its name.', 'held': 'Held tokens over its capacity, by the ledger.',
    'reserved': 'Reserved tokens over its capacity.', 'accounts': 'Conversations that have a slot.',
    'streams': 'Answers under way.', 'waiting': 'Turns that wait for a place, in the whole fleet.',
}
"""The columns of ``Outcome.occupancy``."""


@dataclass(frozen=True)
class Outcome:
    """``turns`` (columns: ``row.COLUMNS``), ``replicas`` and ``occupancy`` (sampled); ``duration``: s until the last
    turn had ended.
    """

    policy: str
    workload: str
    duration: float
    turns: pd.DataFrame
    replicas: pd.DataFrame
    occupancy: pd.DataFrame

    @property
    def energy(self) -> float:
        """J that the fleet drew."""
        return float(self.replicas['energy'].sum())

    @property
    def tokens_per_joule(self) -> float:
        """Tokens of answers over the fleet's energy; infinite where nothing draws any."""
        tokens = float(self.turns.loc[self.turns['refused'] == '', 'answer'].sum())
        return tokens / self.energy if self.energy > 0.0 else float('inf')


def replicas_of(fleet: Fleet, engines: Mapping[str, Engine], duration: float) -> pd.DataFrame:
    """A row a replica."""
    rows = []
    for each in fleet.replicas:
        meter = engines[each.name].meter
        rows.append((each.name, each.role, meter.prefill, meter.decode, meter.moving,
                     max(0.0, duration - meter.busy), meter.read, meter.answered, meter.energy(duration)))
    return pd.DataFrame(rows, columns=list(REPLICAS))
