"""One run of one arm on one stream: the unit that is computed, kept and resumed."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PARTS = ('campaign', 'cold', 'steady', 'ramp', 'volatility', 'transfer')
RAMP = 0.0  # the concurrency of a cell in which it changes


@dataclass(frozen=True, order=True)
class Cell:
    """``concurrency`` is the offered one, c; 0 in a ramp. The same part, data set, c and seed are the same stream."""

    part: str
    dataset: str
    arm: str
    concurrency: float
    seed: int

    @property
    def name(self) -> str:
        """A file name without its ending."""
        offered = f'-c{self.concurrency:g}' if self.concurrency else ''
        return f'{self.part}-{Path(self.dataset).stem}-{self.arm}{offered}-s{self.seed}'
