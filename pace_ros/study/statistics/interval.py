"""An estimate with its interval."""
from __future__ import annotations

import math
from dataclasses import dataclass

LEVEL = 0.95
INFINITE, NOTHING = '∞', '–'


@dataclass(frozen=True)
class Interval:
    """``estimate`` with the bounds of its 95 % interval; ``n`` values went into it.

    NaN: not to be had, as the bounds of a single value. Infinite: where no answer counts as an infinite wait.
    """

    estimate: float
    low: float
    high: float
    n: int

    def shown(self, digits: int = 3) -> str:
        """As text: "1.234 [1.100, 1.400]", without bounds where there are none."""
        if math.isnan(self.low) and math.isnan(self.high):
            return shown(self.estimate, digits)
        return f'{shown(self.estimate, digits)} [{shown(self.low, digits)}, {shown(self.high, digits)}]'

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of ``value``; not where a bound is unknown."""
        return self.low > value or self.high < value

    def __str__(self) -> str:
        return self.shown()


def shown(value: float, digits: int = 3) -> str:
    """A number as text; infinite as ∞, NaN as a dash."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return INFINITE if value > 0 else f'−{INFINITE}'
    return f'{value:.{digits}f}'
