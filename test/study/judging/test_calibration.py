from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pace_ros.study.evaluation.columns import KEYS
from pace_ros.study.judging.calibration import calibrate
from pace_ros.study.judging.error import JudgingError
from pace_ros.study.judging.human_scores import Pairs, read_human_scores, with_quality, with_verdicts


def pairs(judge: list[int], human: list[int]) -> Pairs:
    return Pairs(np.array(judge), np.array(human))


def test_perfect_agreement() -> None:
    found = calibrate(pairs([1, 2, 3, 4, 5] * 4, [1, 2, 3, 4, 5] * 4))
    assert (found.kappa, found.exact, found.within_one, found.bias, found.error) == (1.0, 1.0, 1.0, 0.0, 0.0)
    assert found.spearman == pytest.approx(1.0)
    assert found.expected == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert found.calibrated_error == 0.0
    assert found.confusion[2] == (0, 0, 4, 0, 0)


def test_a_judge_that_is_one_too_kind_is_mended_by_the_map() -> None:
    found = calibrate(pairs([2, 3, 4, 5] * 6, [1, 2, 3, 4] * 6))
    assert (found.exact, found.within_one, found.bias, found.error) == (0.0, 1.0, 1.0, 1.0)
    assert found.expected == (1.0, 1.0, 2.0, 3.0, 4.0)
    assert found.calibrated_error == 0.0
    # by hand: the squared differences are 1 in the mean, those by chance 2 * 1.25 + 1
    assert found.kappa == pytest.approx(1 - 1 / 3.5)


def test_opposite_scores() -> None:
    found = calibrate(pairs([1, 5] * 10, [5, 1] * 10))
    assert (found.kappa, found.spearman) == (pytest.approx(-1.0), pytest.approx(-1.0))
    assert found.expected == (3.0,) * 5  # no monotone map but the mean


def test_a_judge_with_one_score_has_no_correlation() -> None:
    found = calibrate(pairs([4] * 20, [4, 5] * 10))
    assert math.isnan(found.kappa)
    assert math.isnan(found.spearman)
    assert (found.exact, found.bias) == (0.5, -0.5)


def test_fewer_than_twenty_pairs_are_refused() -> None:
    with pytest.raises(JudgingError, match='19 answers'):
        calibrate(pairs([1] * 19, [1] * 19))


ROWS = pd.DataFrame([
    {'part': 'spot', 'dataset': 'carqa', 'arm': arm, 'concurrency': 4.0, 'seed': 1, 'index': index, 'locale': 'en',
     'text': f'q{index}',
     'reference': 'r', 'answer': f'{arm}{index}', 'quality': 5 if arm == 'a' else 2}
    for arm in ('a', 'b') for index in range(3)
])


def test_scores_are_joined_by_the_keys_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / 'human.csv'
    ROWS[list(KEYS)].assign(score=[1, 2, 3, 4, 5, 5]).to_csv(path, index=False)
    human = read_human_scores(path)
    found = with_quality(ROWS, human)
    assert sorted(zip(found.judge, found.human, strict=True)) == [(2, 4), (2, 5), (2, 5), (5, 1), (5, 2), (5, 3)]
    assert len(with_verdicts(ROWS, human, {}).judge) == 0


@pytest.mark.parametrize(('text', 'message'), [
    ('answer_id\nx\n', "column 'score'"), ('score\n3\n', 'answer_id'), ('answer_id,score\nx,3\ny,6\n', 'line 3'),
    ('answer_id,score\nx,3.5\n', 'line 2'), ('answer_id,score\nx,\n', 'line 2'), ('', 'cannot be read'),
])
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / 'human.csv'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(JudgingError, match=message):
        read_human_scores(path)
