from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pace_ros.record import to_json
from pace_ros.study.cloud import CloudError
from pace_ros.study.cloud.calibration import fit, like
from pace_ros.turn import TurnRecord


def test_a_fit_finds_the_settings_of_its_values() -> None:
    random = np.random.default_rng(1)
    settings = fit(random.lognormal(np.log(1.4), 0.35, 4000), random.gamma(3.0, 0.01, 4000))
    assert settings.first_token_median == pytest.approx(1.4, rel=0.03)
    assert settings.first_token_sigma == pytest.approx(0.35, rel=0.05)
    assert settings.gap_mean == pytest.approx(0.03, rel=0.03)
    assert settings.gap_shape == pytest.approx(3.0, rel=0.1)


def test_means_of_many_gaps_give_the_shape_of_one() -> None:
    means = np.random.default_rng(1).gamma(3.0 * 20, 0.03 / (3.0 * 20), 3000)
    assert fit([1.0] * 5, means, gaps_per_answer=20.0).gap_shape == pytest.approx(3.0, rel=0.1)


def test_what_never_varies_is_fitted_too() -> None:
    settings = fit([2.0] * 10, [0.05] * 10)
    assert (settings.first_token_median, settings.first_token_sigma) == pytest.approx((2.0, 0.0))
    assert settings.gap_mean == pytest.approx(0.05)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(CloudError, match='5 times to the first token or more, not to 2'):
        fit([1.0, 2.0, float('nan')])


def test_a_log_gives_its_cloud(tmp_path: Path) -> None:
    path = tmp_path / 'turns.jsonl'
    turns = [TurnRecord('t', 'c', ttft=2.0, ptfr=2.1, completion=3.1, l2_attempts=1, tokens_out=21)] * 6
    turns += [TurnRecord('t', 'c'), TurnRecord('t', 'c', ttft=9.0, l2_attempts=2)]
    path.write_text(''.join(json.dumps(to_json(each)) + '\n' for each in turns) + '{"torn')
    settings = like(path)
    assert settings.first_token_median == pytest.approx(2.0)
    assert settings.gap_mean == pytest.approx(0.05)


def test_a_log_without_l2_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'turns.jsonl'
    path.write_text(json.dumps(to_json(TurnRecord('t', 'c'))) + '\n')
    with pytest.raises(CloudError, match=r'turns\.jsonl has no turn that was answered by L2'):
        like(path)
    with pytest.raises(CloudError, match='cannot be read'):
        like(tmp_path / 'none.jsonl')
