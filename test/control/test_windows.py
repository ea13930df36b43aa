from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.control.windows import LONGEST_ABSENCE, Close, WindowCutter


@given(
    span=st.integers(1, 64),
    start=st.integers(0, 10_000),
    looks=st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=1, max_size=60),
)
def test_whoever_looks_when_the_same_windows_end_with_the_same_counts(
    span: int, start: int, looks: list[tuple[int, bool]]
) -> None:
    """Instants are eighths of a second, exact in binary."""
    cutter, arrivals, closes, now = WindowCutter(span / 8, 0, start / 8), [], [], 0
    for gap, arrives in looks:
        now += gap
        closes += cutter.due((start + now) / 8)
        if arrives:
            arrivals.append(now)
            closes += cutter.arrival((start + now) / 8)
        assert len(closes) == now // span
    for number, close in enumerate(closes):
        inside = sum(number * span <= each < (number + 1) * span for each in arrivals)
        assert close == Close((start + (number + 1) * span) / 8, inside, span / 8)


def test_boundaries_do_not_drift_over_days() -> None:
    cutter, closes, now = WindowCutter(60.0, 0, 5.0), [], 5.0
    for jitter in itertools.islice(itertools.cycle((59.3, 61.1, 60.2, 59.8)), 10_000):
        now += jitter
        closes += cutter.due(now)
    assert [close.instant for close in closes] == [5.0 + 60.0 * number for number in range(1, len(closes) + 1)]
    assert len(closes) == (now - 5.0) // 60.0


def test_an_arrival_at_a_boundary_belongs_to_the_window_that_begins() -> None:
    cutter = WindowCutter(60.0, 0, 0.0)
    assert list(cutter.due(60.0)) == [Close(60.0, 0, 60.0)]
    assert list(cutter.arrival(60.0)) == []
    assert list(cutter.due(119.999)) == []
    assert list(cutter.due(120.0)) == [Close(120.0, 1, 60.0)]
    assert list(cutter.due(120.0)) == []


@pytest.mark.parametrize('windows', [LONGEST_ABSENCE - 1, LONGEST_ABSENCE, LONGEST_ABSENCE + 1, 10**9])
def test_a_long_absence_closes_a_bounded_number_of_windows_and_then_goes_on_as_before(windows: int) -> None:
    cutter = WindowCutter(60.0, 0, 0.0)
    closes = list(cutter.due(60.0 * windows))
    assert len(closes) == min(windows, LONGEST_ABSENCE)
    assert closes[-1].instant == 60.0 * windows
    list(cutter.arrival(60.0 * windows + 1))
    assert list(cutter.due(60.0 * windows + 59)) == []
    assert list(cutter.due(60.0 * windows + 60)) == [Close(60.0 * (windows + 1), 1, 60.0)]


@given(requests=st.integers(1, 50), gaps=st.lists(st.integers(0, 100), max_size=200))
def test_offline_a_window_ends_with_so_many_requests_whatever_time_it_took(requests: int, gaps: list[int]) -> None:
    cutter, closes, instants = WindowCutter(60.0, requests, 0.0), [], list(itertools.accumulate(gaps))
    for now in instants:
        assert list(cutter.due(float(now))) == []
        closes += cutter.arrival(float(now))
    assert len(closes) == len(instants) // requests
    ends = [0, *(instants[number * requests - 1] for number in range(1, len(closes) + 1))]
    for close, (begin, end) in zip(closes, itertools.pairwise(ends), strict=True):
        assert (close.instant, close.count) == (end, requests)
        assert close.span == max(end - begin, 1e-9)  # a rate is never a division by zero
