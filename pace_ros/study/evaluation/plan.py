"""Which cells a study runs, from what is asked for on the command line."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pace_ros.config import Config
from pace_ros.settings import settings_of, value_of
from pace_ros.study.cloud import CloudSettings
from pace_ros.study.evaluation import arms as table
from pace_ros.study.evaluation.cell import PARTS, RAMP, Cell
from pace_ros.study.evaluation.own_arms import arm_of
from pace_ros.study.evaluation.streams import Sizes
from pace_ros.study.refusal import Refusal

CONCURRENCIES = (1.0, 4.0, 8.0, 16.0, 32.0)
FEW = (4.0, 16.0)  # of transfer
VOLATILE = 'carqa-volatile'


class PlanError(Refusal):
    """A study that cannot be run as asked; the message says why."""


@dataclass(frozen=True)
class Plan:
    """Everything that decides what comes out, but for the machine where computing is charged as measured.

    ``own`` are further arms with their settings; ``trace`` is a file of arrivals that takes the place of Poisson's in
    the parts campaign, cold and transfer.
    """

    parts: tuple[str, ...]
    time: str
    dataset: str = 'carqa'
    language: str = 'zh'
    transfer: tuple[str, ...] = ('cmrc2018', 'dureader', 'xquad', 'banking77')
    arms: tuple[str, ...] = ()
    concurrencies: tuple[float, ...] = CONCURRENCIES
    seeds: tuple[int, ...] = (1, 2, 3)
    sizes: Sizes = field(default_factory=Sizes)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    base_url: str = ''
    trace: str = ''
    own: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def __post_init__(self) -> None:
        for name in self.parts:
            if name not in PARTS:
                raise PlanError(f'There is no part {name!r}; there are {", ".join(PARTS)}.')
        for name in self.arms:
            self.arm(name)
        if not self.seeds or min(self.seeds) < 0 or not self.concurrencies or min(self.concurrencies) <= 0:
            raise PlanError('A study needs seeds of at least 0, and concurrencies above 0.')
        if self.sizes.warm_up < 0 or min(self.sizes.measured, self.sizes.transfer_measured) < 1:
            raise PlanError('A cell needs at least one measured request, and a warm-up of at least 0.')
        stems = [Path(name).stem for name in {self.dataset, *self.transfer, VOLATILE}]
        if len(set(stems)) < len(stems):
            raise PlanError('Two data sets of one name: rename one, since runs are kept under it.')
        if not self.cells():
            raise PlanError(f'No part of {", ".join(self.parts)} has an arm of {", ".join(self.arms)}.')

    def arm(self, name: str) -> table.Arm:
        """An arm by its name: one of the table's, or one of the study's own. Raises PlanError."""
        if name in table.ARMS:
            return table.ARMS[name]
        own = dict(self.own)
        if name not in own:
            raise PlanError(f'There is no arm {name!r}; there are {", ".join([*table.ARMS, *own])}.')
        return arm_of(name, own[name])

    def resolved(self) -> dict[str, dict[str, Any]]:
        """The settings of every arm that is run, where they differ from the shipped ones."""
        shipped = Config()
        return {
            name: {each.name: value for each in settings_of(Config)
                   if (value := value_of(config, each.name)) != value_of(shipped, each.name)}
            for name in sorted({cell.arm for cell in self.cells()}) for config in [self.arm(name).config(shipped)]
        }

    def cells(self) -> list[Cell]:
        """All cells, in order of part, data set, concurrency, seed and arm."""
        return [cell for part in PARTS if part in self.parts for cell in self._of(part)]

    def as_fields(self) -> dict[str, Any]:
        """The plan as JSON types."""
        fields: dict[str, Any] = dataclasses.asdict(self)
        return fields

    def _of(self, part: str) -> list[Cell]:
        own = [name for name, _ in self.own]
        arms = {
            'campaign': (*table.PAPER, *table.BEYOND, *own), 'cold': (*table.COLD, *own), 'steady': table.STEADY,
            'ramp': table.RAMP, 'volatility': table.VOLATILITY, 'transfer': table.TRANSFER,
        }[part]
        chosen = [name for name in arms if not self.arms or name in self.arms]
        offered: Sequence[float] = self.concurrencies
        if part == 'transfer':
            offered = [each for each in self.concurrencies if each in FEW] or self.concurrencies[:1]
        if part in ('ramp', 'volatility'):
            offered = [RAMP]
        datasets = {'volatility': (VOLATILE,), 'transfer': self.transfer}.get(part, (self.dataset,))
        return [
            Cell(part, dataset, arm, concurrency, seed)
            for dataset in datasets for concurrency in offered for seed in self.seeds for arm in chosen
        ]
