"""Whether an arm is not inferior to a reference: neither notably slower nor notably worse."""
from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pace_ros.study.statistics.interval import Interval
from pace_ros.study.statistics.mean_difference import mean_difference
from pace_ros.study.statistics.measured import cell
from pace_ros.study.statistics.percentile_ratio import percentile_ratio

MARGIN = 0.10
QUALITY_MARGIN = 0.1


@dataclass(frozen=True)
class NotInferior:
    """``ratio`` of a percentile of waits and ``quality`` difference, arm against reference, with the margins they are
    held to. Each bound is one of a two-sided 95 % interval, so each question is asked at a one-sided level of 2.5 %.
    """

    arm: str
    reference: str
    concurrency: float
    ratio: Interval
    margin: float
    quality: Interval
    quality_margin: float

    @property
    def fast_enough(self) -> bool:
        """Whether the ratio's upper bound lies below 1 + margin."""
        return self.ratio.high < 1.0 + self.margin

    @property
    def good_enough(self) -> bool:
        """Whether the lower bound of the quality difference lies above -quality_margin."""
        return self.quality.low > -self.quality_margin

    @property
    def holds(self) -> bool:
        """Whether it is shown not to be inferior. False does not show that it is."""
        return self.fast_enough and self.good_enough

    def __str__(self) -> str:
        verdict = 'not inferior to' if self.holds else 'not shown to be not inferior to'
        return (f'{self.arm} is {verdict} {self.reference} at c = {self.concurrency:g}: P95 ratio {self.ratio.shown()} '
                f'(margin {1 + self.margin:.2f}), quality difference {self.quality.shown()} '
                f'(margin {-self.quality_margin:.2f})')


def not_inferior(
    rows: pd.DataFrame, concurrency: float, *, arm: str = 'pace-gated', reference: str = 'pace-static',
    margin: float = MARGIN, quality_margin: float = QUALITY_MARGIN, part: str | None = None, seed: int = 0,
) -> NotInferior:
    """Compare by PTFR P95 and by mean quality, on the same requests.

    Raises StatisticsError where an arm has no rows, or nothing was judged under both.
    """
    own, other = cell(rows, arm, concurrency, part=part), cell(rows, reference, concurrency, part=part)
    return NotInferior(
        arm, reference, concurrency, percentile_ratio(own, other, 'ptfr', 95, seed=seed).ratio, margin,
        mean_difference(own, other, 'quality', seed=seed), quality_margin,
    )
