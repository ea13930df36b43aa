"""The one confirmatory endpoint; every other figure of the study is exploratory."""
from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pace_ros.study.statistics.interval import shown
from pace_ros.study.statistics.measured import cell
from pace_ros.study.statistics.paired_tests import PairedTests, paired_tests
from pace_ros.study.statistics.percentile_ratio import PercentileRatio, percentile_ratio

ARM, REFERENCE, CONCURRENCY, COLUMN, PERCENT, PART = 'pace-full', 'pace-static', 16, 'ptfr', 95, 'campaign'


@dataclass(frozen=True)
class Confirmatory:
    """PTFR P95 at c = 16, PACE-full against PACE-static. ``tests`` describe the same pairs, and decide nothing."""

    p95: PercentileRatio
    tests: PairedTests
    status: str = 'confirmatory'
    endpoint: str = 'PTFR P95 at c = 16, PACE-full against PACE-static'

    @property
    def confirmed(self) -> bool:
        """Whether PACE-full is faster: the 95 % interval of the ratio lies wholly below 1."""
        return self.p95.ratio.high < 1.0

    def __str__(self) -> str:
        verdict = 'confirmed' if self.confirmed else 'not confirmed'
        return (f'Confirmatory: {self.endpoint}: {shown(self.p95.a)} s against {shown(self.p95.b)} s, ratio '
                f'{self.p95.ratio.shown()}, p {self.p95.p:.2g}, n = {self.p95.ratio.n}: {verdict}')


def confirmatory(rows: pd.DataFrame, *, seed: int = 0) -> Confirmatory:
    """Test it on the measured rows of the campaign. Raises StatisticsError where they are missing."""
    own = cell(rows, ARM, CONCURRENCY, part=PART)
    reference = cell(rows, REFERENCE, CONCURRENCY, part=PART)
    return Confirmatory(percentile_ratio(own, reference, COLUMN, PERCENT, seed=seed),
                        paired_tests(own, reference, COLUMN, seed=seed))
