from __future__ import annotations

import asyncio

import numpy as np
import pytest
from study_clouds import EXACT, PRICE, Robot, cloud_of, in_virtual_time

from pace_ros.study.cloud import CloudError, CloudSettings, regime
from pace_ros.study.cloud.load import anchored, offered, steady


def test_without_slow_down_it_is_littles_law() -> None:
    settings = EXACT.changed(first_token_median=2.0, gap_mean=0.1)
    found = steady(settings, 3.0, 11.0)
    assert (found.in_flight, found.first_token, found.completion) == pytest.approx((9.0, 2.0, 3.0))
    assert offered(settings, 9.0, 11.0).rate == pytest.approx(3.0)


def test_a_linear_slow_down_has_its_known_fixed_point() -> None:
    found = steady(EXACT.changed(knee=10.0, power=1.0), 5.0, 1.0)  # n = 5 (1 + n / 10)
    assert (found.in_flight, found.completion) == pytest.approx((10.0, 2.0))


def test_what_never_settles_is_refused() -> None:
    with pytest.raises(CloudError, match='never settles at 11 requests/s'):
        steady(EXACT.changed(knee=10.0, power=1.0), 11.0, 1.0)


def test_the_papers_regime_spans_the_load_anchors() -> None:
    medians = [offered(regime('paper'), c, 27.0).first_token for c in (1, 4, 8, 16, 32)]
    assert medians == sorted(medians)
    assert medians[0] == pytest.approx(1.0, abs=0.02)
    assert medians[-1] == pytest.approx(4.1, abs=0.15)  # 3.9 to 4.1 in runs of 600 requests


@pytest.mark.parametrize('c', [1.0, 32.0])
def test_the_fast_regime_is_fast(c: float) -> None:
    assert 0.3 < offered(regime('fast'), c, 27.0).first_token < 0.65


def test_anchors_are_met() -> None:
    settings = anchored(CloudSettings(power=0.5), (2.0, 0.5), (16.0, 1.5), 30.0)
    assert offered(settings, 2.0, 30.0).first_token == pytest.approx(0.5, rel=1e-3)
    assert offered(settings, 16.0, 30.0).first_token == pytest.approx(1.5, rel=1e-3)


def test_impossible_anchors_are_refused() -> None:
    with pytest.raises(CloudError, match='No such cloud has 2 s at c = 1 and 1 s at c = 32'):
        anchored(CloudSettings(), (1.0, 2.0), (32.0, 1.0), 40.0)


def test_the_closed_form_tells_what_a_run_does() -> None:
    settings, c, tokens = regime('paper').changed(deltas=1, gap_mean=0.0), 16.0, 1.0

    async def main() -> list[float]:
        robot = Robot(cloud_of(settings, seed=5))
        times = np.random.default_rng(5).exponential(1.0 / offered(settings, c, tokens).rate, 500).cumsum()
        heard = await asyncio.gather(*(robot.ask(PRICE.text, at=time) for time in times))
        return [each.report.ttft for each in heard[100:]]

    assert np.median(in_virtual_time(main)) == pytest.approx(offered(settings, c, tokens).first_token, rel=0.12)
