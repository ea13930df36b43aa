from __future__ import annotations

import math

import pandas as pd
import pytest

from pace_ros.study.judging.rates import Rate, rates


def row(path: str = 'L2', **other: object) -> dict[str, object]:
    return {
        'arm': 'pace-full', 'concurrency': 4.0, 'phase': 'measured', 'path': path, 'outcome': 'ANSWERED',
        'quality': 5, 'correct': True, 'stale': False, 'cache_error': False, 'filler_shown': False,
        'filler_conflict': '', 'after_change': False, **other,
    }


ROWS = pd.DataFrame([
    row(), row('L0'), row('L1'),
    row('L0', correct=False, quality=2, cache_error=True),
    row('L0', correct=False, quality=2, cache_error=True, stale=True, after_change=True),
    row('L2', after_change=True, filler_shown=True),
    row('L2', filler_shown=True, filler_conflict='money'),
    row('UNKNOWN', outcome='FAILED', quality=1, correct=False, filler_shown=True, filler_conflict='money'),
    row('L0', phase='warm-up', correct=False, quality=1, cache_error=True),
])


def test_rates_by_hand() -> None:
    found = rates(ROWS)
    assert (found.quality, found.judged) == (pytest.approx((5 * 5 + 2 * 2 + 1) / 8), 8)
    assert found.correct == Rate(5, 8)
    assert found.cache_errors == Rate(2, 4)
    assert found.conflicts == Rate(1, 2)  # the failed turn has no answer to disagree with
    assert found.stale == Rate(1, 2)
    assert found.stale.share == 0.5


def test_missing_values_are_no_hits() -> None:
    found = rates(ROWS.assign(filler_conflict=None, stale=float('nan')))
    assert found.conflicts == Rate(0, 2)
    assert found.stale == Rate(0, 2)


def test_nothing_has_no_share() -> None:
    assert math.isnan(rates(ROWS.iloc[:0]).correct.share)
