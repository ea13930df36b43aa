"""One run of the simulator: what is served, by what, how."""
from __future__ import annotations

from dataclasses import dataclass

RATES, POWER, PREDICTION, APPEND = 'rates', 'power', 'prediction', 'append'
PARTS = (RATES, POWER, PREDICTION, APPEND)
HOMOGENEOUS, HETEROGENEOUS = 'homogeneous', 'heterogeneous'


@dataclass(frozen=True)
class Cell:
    """``load``: arriving conversations over the nominal capacity (nominal.py); ``error``: share of wrong predictions;
    ``mean_append``: mean tokens of a later turn's new prompt, 0: as the workload has them.
    """

    part: str
    workload: str
    fleet: str
    arm: str
    load: float
    seed: int
    error: float = 0.0
    mean_append: int = 0

    @property
    def name(self) -> str:
        """Of its files."""
        return (f'{self.part}.{self.workload}.{self.fleet}.{self.arm}.c{self.load:g}.e{self.error:g}'
                f'.a{self.mean_append}.s{self.seed}')
