"""Values: drawn within their limits, said the way people say them."""
from __future__ import annotations

import datetime
import random

import pytest

from pace_ros.study.carqa.values import Hour, Spec, Value, Weekday, draw, said


def drawn(spec: Spec, *, size: float = 0.5, drive: str = '', known: dict[str, Value] | None = None) -> list[Value]:
    return [draw(spec, random.Random(seed), size=size, drive=drive, drawn=known or {}) for seed in range(200)]


def test_a_grid_is_used_from_end_to_end() -> None:
    assert set(drawn({'from': 2, 'to': 5, 'step': 1})) == {2, 3, 4, 5}
    assert set(drawn({'from': 0.1, 'to': 0.3, 'step': 0.1})) == {0.1, 0.2, 0.3}


def test_what_grows_follows_the_size() -> None:
    spec = {'from': 0, 'to': 100, 'step': 1, 'grows': 1}
    assert max(map(float, drawn(spec, size=0.0))) < 25  # type: ignore[arg-type]
    assert min(map(float, drawn(spec, size=1.0))) > 75  # type: ignore[arg-type]
    assert min(map(float, drawn({**spec, 'grows': -1}, size=0.0))) > 75  # type: ignore[arg-type]


def test_shares_and_sums_of_other_values() -> None:
    assert set(drawn({'times': 'price', 'by': [0.1, 0.1], 'step': 10}, known={'price': 99_800})) == {9980}
    assert set(drawn({'plus': 'price', 'from': 1, 'to': 2, 'step': 1}, known={'price': 10})) == {11, 12}


def test_a_specification_by_drive() -> None:
    assert set(drawn({'ev': {'pick': [1]}, 'hybrid': {'pick': [2]}}, drive='hybrid')) == {2}


@pytest.mark.parametrize(('value', 'zh', 'en'), [
    (79_800, '79800', '79,800'),
    (4.5, '4.5', '4.5'),
    (datetime.date(2027, 3, 31), '3月31日', 'March 31'),
    (Hour(9.5), '早上9点半', '9:30 AM'),
    (Hour(12.0), '中午12点', '12 PM'),
    (Hour(20.0), '晚上8点', '8 PM'),
    (Weekday(2), '周三', 'Wednesday'),
])
def test_said(value: Value, zh: str, en: str) -> None:
    assert (said(value, 'zh'), said(value, 'en')) == (zh, en)
