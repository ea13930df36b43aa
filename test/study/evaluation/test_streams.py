"""What is put to the arms."""
from __future__ import annotations

import pytest

from pace_ros.study.datasets import load
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.streams import STEADY_WARM_UP, Sizes, changing, requests_of, steady_after
from pace_ros.study.workload.request import WARM_UP

SIZES = Sizes(warm_up=10, measured=40, ramp_warm_up=5, ramp_phase=8, transfer_measured=20)


@pytest.mark.parametrize(('part', 'warm_up', 'count'), [
    ('campaign', 10, 50), ('cold', 0, 40), ('transfer', 10, 30), ('steady', STEADY_WARM_UP, STEADY_WARM_UP + 40),
    ('ramp', 5, 45),
])
def test_a_part_has_its_sizes(part: str, warm_up: int, count: int) -> None:
    requests = requests_of(Cell(part, 'carqa', 'pace-full', 4.0, 1), load('carqa'), SIZES, 2.0)
    assert len(requests) == count
    assert sum(each.phase == WARM_UP for each in requests) == warm_up
    assert [each.index for each in requests] == list(range(count))


def test_every_arm_gets_the_same_stream() -> None:
    data = load('carqa')
    one, other = (requests_of(Cell('campaign', 'carqa', arm, 8.0, 2), data, SIZES, 2.0) for arm in ('a1', 'pure-llm'))
    assert one == other


def test_the_mean_rate_is_the_concurrency_over_the_completion_time() -> None:
    sizes = Sizes(warm_up=0, measured=4000)
    requests = requests_of(Cell('campaign', 'carqa', 'a1', 8.0, 2), load('carqa'), sizes, 2.0)
    assert len(requests) / requests[-1].at == pytest.approx(4.0, rel=0.05)  # 8 / 2 s


def test_facts_change_only_after_every_question_was_asked() -> None:
    data = load('carqa-volatile').in_language('zh')
    requests, events = changing(Cell('volatility', 'carqa-volatile', 'deny', 0.0, 1), data, Sizes())
    first = [each for each in requests if each.phase == WARM_UP]
    assert {each.question.meaning for each in first} == {each.meaning for each in data.seeds}
    assert len(events) == len(data.changes) == 104
    assert first[-1].at < min(at for at, _ in events)
    assert [at for at, _ in events] == sorted(at for at, _ in events)
    assert max(at for at, _ in events) <= 2 * 105 + 2 * 3600.0
    assert len(requests) == 105 + 4 * 2 * 105


@pytest.mark.parametrize(('shares', 'after'), [
    ([0.1, 0.3, 0.5, 0.52, 0.5], 400), ([0.5, 0.5], 200), ([0.1, 0.3, 0.5], 300), ([0.4], 100),
])
def test_warm_is_where_two_blocks_agree(shares: list[float], after: int) -> None:
    instant = [place < round(share * 100) for share in shares for place in range(100)]
    assert steady_after(instant) == after
