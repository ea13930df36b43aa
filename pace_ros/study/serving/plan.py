"""Which cells a study of serving has, from what is asked for on the command line."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pace_ros.study.refusal import Refusal
from pace_ros.study.serving.arms import ARMS, COLLOCATED, PINNED, PREDICTED, SMALL
from pace_ros.study.serving.cell import APPEND, HETEROGENEOUS, HOMOGENEOUS, PARTS, POWER, PREDICTION, RATES, Cell
from pace_ros.study.serving.served import AGENT, TWO_PHASE, WORKLOADS

LOADS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0)
"""Up to where every workload has more conversations than pinned serving can keep up with."""
ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
OF_POWER = (PINNED, PREDICTED, COLLOCATED, SMALL)
"""The arms whose energy is compared: those that keep up."""
APPENDS = (50, 200, 800, 3200, 10_700)


class ServingPlanError(Refusal):
    """A study that cannot be run as asked; the message says why."""


@dataclass(frozen=True)
class Plan:
    """Everything that decides what comes out. ``middle`` and ``high`` are the loads of the parts that need no sweep;
    ``conversations`` a cell, and as many as come within ``span`` s if that is more; ``slo``: how long a first token may
    take, over the time that reading the new part of its prompt takes alone; ``kv``: tokens of cache that the
    slots of a replica share, 0 where each has its context for itself; ``costs``: their file.
    """

    parts: tuple[str, ...] = PARTS
    workloads: tuple[str, ...] = WORKLOADS
    arms: tuple[str, ...] = tuple(ARMS)
    loads: tuple[float, ...] = LOADS
    errors: tuple[float, ...] = ERRORS
    appends: tuple[int, ...] = APPENDS
    seeds: tuple[int, ...] = (1, 2, 3)
    conversations: int = 150
    span: float = 120.0
    middle: float = 0.4
    high: float = 0.8
    slo: float = 5.0
    prefillers: int = 1
    decoders: int = 2
    slots: int = 256
    context: int = 65_536
    kv: int = 480_000
    costs: str = ''

    def __post_init__(self) -> None:
        for what, chosen, known in (('part', self.parts, PARTS), ('workload', self.workloads, WORKLOADS),
                                    ('arm', self.arms, tuple(ARMS))):
            for name in chosen:
                if name not in known:
                    raise ServingPlanError(f'There is no {what} {name!r}; there are {", ".join(known)}.')
        if not self.seeds or min(self.seeds) < 0 or not self.loads or min(self.loads) <= 0:
            raise ServingPlanError('A study needs seeds of at least 0, and loads above 0.')
        if self.conversations < 2 or self.slo <= 0 or min(self.prefillers, self.decoders) < 1:
            raise ServingPlanError('A study needs two conversations a cell, an SLO above 0, a prefiller and a decoder.')
        if not all(0.0 <= each <= 1.0 for each in self.errors) or any(each < 1 for each in self.appends):
            raise ServingPlanError('A prediction error is a share of 1, and an append has a token at least.')
        if not self.cells():
            raise ServingPlanError(f'No part of {", ".join(self.parts)} has anything to run.')

    @property
    def cache(self) -> int:
        """Tokens of KV cache a replica."""
        return self.kv or self.slots * self.context

    def cells(self) -> list[Cell]:
        """All cells, in order of part."""
        made = {RATES: self._rates, POWER: self._power, PREDICTION: self._prediction, APPEND: self._append}
        return [cell for part in PARTS if part in self.parts for cell in made[part]()]

    def as_fields(self) -> dict[str, Any]:
        """The plan as JSON types."""
        return dataclasses.asdict(self)

    def _rates(self) -> Iterator[Cell]:
        for workload in self.workloads:
            for load in self.loads:
                for seed in self.seeds:
                    for arm in self.arms:
                        yield Cell(RATES, workload, HOMOGENEOUS, arm, load, seed)

    def _power(self) -> Iterator[Cell]:
        for workload in self.workloads:
            for load in (self.middle, self.high):
                for seed in self.seeds:
                    for arm in (each for each in self.arms if each in OF_POWER):
                        for fleet in (HOMOGENEOUS, HETEROGENEOUS):
                            yield Cell(POWER, workload, fleet, arm, load, seed)

    def _prediction(self) -> Iterator[Cell]:
        workloads = [each for each in (TWO_PHASE, AGENT) if each in self.workloads]
        for workload in workloads:
            for load in (self.middle, self.high):
                for seed in self.seeds:
                    if PINNED in self.arms:
                        yield Cell(PREDICTION, workload, HOMOGENEOUS, PINNED, load, seed)
                    if PREDICTED in self.arms:
                        for error in self.errors:
                            yield Cell(PREDICTION, workload, HOMOGENEOUS, PREDICTED, load, seed, error)

    def _append(self) -> Iterator[Cell]:
        for append in self.appends if TWO_PHASE in self.workloads else ():
            for seed in self.seeds:
                for arm in self.arms:
                    yield Cell(APPEND, TWO_PHASE, HOMOGENEOUS, arm, self.middle, seed, mean_append=append)
