"""The published numbers at hand, and that nothing else is claimed."""
from __future__ import annotations

import math
from pathlib import Path

import pytest

from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.results.published import PublishedError, published


def test_the_packaged_file_holds_what_is_quoted_and_no_more() -> None:
    found = published()
    assert {(each.table, each.arm, each.measure): each.value for each in found.numbers} == {
        ('VI', 'pace-full', 'calls_saved'): 0.94, ('VII', 'admit-all', 'stale_rate'): 0.86,
        ('VII', 'ttl-1h', 'stale_rate'): 0.55, ('VII', 'ttl-15min', 'stale_rate'): 0.30,
        ('VII', 'deny', 'stale_rate'): 0.0,
    }
    assert all(each.origin for each in found.numbers)
    assert {each.arm for each in found.numbers} <= set(ARMS)


def test_a_number_holds_at_its_own_concurrency_only(tmp_path: Path) -> None:
    path = tmp_path / 'p.yaml'
    path.write_text('work: w\nnumbers:\n'
                    '- {table: IV, arm: pure-llm, measure: ptfr_p95, concurrency: 16, value: 3.5, from: there}\n')
    found = published(path)
    assert found.value('IV', 'pure-llm', 'ptfr_p95', 16.0) == 3.5
    assert math.isnan(found.value('IV', 'pure-llm', 'ptfr_p95', 8.0))
    assert math.isnan(found.value('IV', 'a1', 'ptfr_p95', 16.0))


@pytest.mark.parametrize(('text', 'words'), [
    ('numbers: [', 'no YAML'), ('work: x', "a list 'numbers'"), ('numbers: [{table: IV, arm: a}]', 'number 1'),
    ('numbers: [{table: IV, arm: a, measure: m, value: much, from: f}]', 'much'), ('numbers: [1]', 'number 1'),
])
def test_a_bad_file_is_refused_by_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(PublishedError, match=words):
        published(path)
    with pytest.raises(PublishedError, match='absent'):
        published(tmp_path / 'absent.yaml')
