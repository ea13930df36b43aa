from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pace_ros.study.cloud.draw import Draw
from pace_ros.study.cloud.settings import CloudSettings

SETTINGS = CloudSettings(first_token_median=0.8, first_token_sigma=0.5, gap_mean=0.04, gap_shape=3.0, knee=8.0,
                         power=2.0)


def test_first_tokens_follow_the_stated_lognormal() -> None:
    drawn = [Draw.of(7, f'question {number}', 1, 1).first_token(SETTINGS, 0) for number in range(2000)]
    assert stats.kstest(drawn, stats.lognorm(0.5, scale=0.8).cdf).pvalue > 0.01


def test_gaps_of_merged_tokens_follow_the_gamma_of_their_sum() -> None:
    drawn = [Draw.of(7, number).gaps((1, 5), SETTINGS) for number in range(2000)]
    for column, tokens in enumerate((1, 5)):
        law = stats.gamma(3.0 * tokens, scale=0.04 / 3.0)
        assert stats.kstest([each[column] for each in drawn], law.cdf).pvalue > 0.01


def test_uniforms_are_uniform_and_independent_of_the_delay() -> None:
    drawn = [Draw.of(number) for number in range(2000)]
    for name in ('fault', 'place', 'wording'):
        values = [getattr(each, name) for each in drawn]
        assert stats.kstest(values, 'uniform').pvalue > 0.01
        assert abs(np.corrcoef(values, [each.normal for each in drawn])[0, 1]) < 0.08


def test_a_key_always_draws_the_same() -> None:
    one, again = Draw.of(1, '云雀多少钱', 2, 1), Draw.of(1, '云雀多少钱', 2, 1)
    assert (one.normal, one.fault, one.place, one.wording) == (again.normal, again.fault, again.place, again.wording)
    assert one.gaps((3, 4), SETTINGS) == again.gaps((3, 4), SETTINGS)
    # No part of a key runs into the next.
    assert len({Draw.of(*key).normal for key in ((1, 11), (11, 1), (1, 1, 1), (1, 'q', 1, 2), (1, 'q', 2, 1))}) == 5


def test_the_draw_is_pinned_so_that_runs_of_other_days_can_be_compared() -> None:
    assert Draw.of(1, 'q', 1, 1).normal == pytest.approx(PINNED, abs=1e-12)


def test_load_slows_by_its_law() -> None:
    draw = Draw.of(1)
    alone = draw.first_token(SETTINGS, 0)
    assert [draw.first_token(SETTINGS, others) / alone for others in (4, 8, 16)] == pytest.approx([1.25, 2.0, 5.0])


def test_no_gap_takes_no_time() -> None:
    assert Draw.of(1).gaps((2, 2), SETTINGS.changed(gap_mean=0.0)) == [0.0, 0.0]
    assert Draw.of(1).gaps((), SETTINGS) == []


PINNED = -0.047942511741063676
