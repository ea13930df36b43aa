from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pace_ros.control.scatter import KEPT, TtftScatter

TIMES = st.lists(st.floats(0.05, 20.0), min_size=2, max_size=40)


def scatter(earlier: list[float], window: list[float]) -> TtftScatter:
    made = TtftScatter(10)
    for each in earlier:
        made.observe(each)
    made.next_window(forget=False)
    for each in window:
        made.observe(each)
    return made


def students(earlier: list[float], window: list[float]) -> float:
    """Independently: the predictive distribution of a mean of so many further samples."""
    before, now = np.log(earlier), np.log(window)
    error = before.std(ddof=1) * np.sqrt(1 / len(now) + 1 / len(before))
    return float(2 * stats.t.sf(abs(now.mean() - before.mean()) / error, len(before) - 1))


@given(earlier=TIMES, window=TIMES)
def test_p_is_students(earlier: list[float], window: list[float]) -> None:
    if np.log(earlier).std() > 1e-6:
        assert scatter(earlier, window).p_value() == pytest.approx(students(earlier, window), rel=1e-6, abs=1e-12)


def test_p_by_hand() -> None:
    """Logs -1, 0, 1 (mean 0, s 1) against 2: t = 2 / sqrt(1 + 1/3) = sqrt 3 with 2 degrees, p = 1 - sqrt(3/5)."""
    e = float(np.e)
    assert scatter([1 / e, 1.0, e], [e * e]).p_value() == pytest.approx(1 - (3 / 5) ** 0.5)


@given(earlier=TIMES, window=TIMES, factor=st.floats(0.2, 5.0))
def test_a_faster_endpoint_is_judged_like_a_slower_one(
    earlier: list[float], window: list[float], factor: float
) -> None:
    if np.log(earlier).std() > 1e-6:
        scaled = scatter([factor * each for each in earlier], [factor * each for each in window])
        assert scaled.p_value() == pytest.approx(scatter(earlier, window).p_value(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(('earlier', 'window'), [([], []), ([], [9.0]), ([1.0], [9.0]), ([1.0, 2.0, 3.0], [])])
def test_where_nothing_can_be_said_nothing_is_improbable(earlier: list[float], window: list[float]) -> None:
    assert scatter(earlier, window).p_value() == 1.0


@given(constant=st.floats(0.01, 60.0), earlier=st.integers(2, 300), window=st.integers(1, 60))
def test_first_tokens_without_any_scatter_are_all_alike(constant: float, earlier: int, window: int) -> None:
    assert scatter([constant] * earlier, [constant] * window).p_value() == 1.0


@given(constant=st.floats(0.01, 60.0), earlier=st.integers(2, 300), factor=st.sampled_from([0.5, 0.99, 1.01, 3.0]))
def test_without_any_scatter_another_time_is_impossible(constant: float, earlier: int, factor: float) -> None:
    assert scatter([constant] * earlier, [factor * constant]).p_value() < 1e-9


def test_an_instant_first_token_has_a_logarithm_too() -> None:
    assert 0.0 <= scatter([0.0, 1.0, 2.0], [0.0]).p_value() <= 1.0


def test_a_finished_window_becomes_what_the_next_is_compared_with() -> None:
    made = scatter([1.0, 1.2, 0.9], [1.1, 1.0])
    made.next_window(forget=False)
    made.observe(2.0)
    assert made.p_value() == pytest.approx(students([1.0, 1.2, 0.9, 1.1, 1.0], [2.0]))


def test_a_new_regime_forgets_all_but_the_window_that_showed_it() -> None:
    made = scatter([1.0, 1.2, 0.9], [3.1, 3.0, 2.8])
    made.next_window(forget=True)
    made.observe(2.0)
    assert made.p_value() == pytest.approx(students([3.1, 3.0, 2.8], [2.0]))


def test_it_keeps_the_latest_and_no_more() -> None:
    rng = Random(3)
    samples = [rng.lognormvariate(0.5, 0.5) for _ in range(3 * KEPT)]
    made = scatter(samples, [4.0])
    assert made.p_value() == pytest.approx(students(samples[-KEPT:], [4.0]))
    for _ in range(10):
        for each in samples:
            made.observe(each)
        made.next_window(forget=False)
    assert len(made._older) == KEPT
    assert len(made._window) == 0
    assert max(len(each) for each in made._recent) == KEPT


@pytest.mark.parametrize(('earlier', 'window'), [(3, 1), (10, 2), (40, 12)])
def test_under_steady_load_p_is_uniform_even_from_few_samples(earlier: int, window: int) -> None:
    rng, runs = Random(11), 4000

    def latencies(count: int) -> list[float]:
        return [rng.lognormvariate(0.6, 0.5) for _ in range(count)]

    values = [scatter(latencies(earlier), latencies(window)).p_value() for _ in range(runs)]
    assert stats.kstest(values, 'uniform').pvalue > 0.001
    assert sum(value <= 0.01 for value in values) == pytest.approx(0.01 * runs, abs=5 * (0.01 * runs) ** 0.5)


def test_a_lasting_change_under_few_samples_adds_up() -> None:
    """One sample a window: no single one is improbable, eight in a row against the twenty before are."""
    chance = Random(5)
    made = TtftScatter(10)
    for _ in range(30):
        made.observe(chance.lognormvariate(0.0, 0.5))
        made.next_window(forget=False)
    alone = []
    for _ in range(8):
        made.observe(2.2)  # log 0.79 = 1.6 sigma
        alone.append(students([1.0, float(np.exp(0.5)), float(np.exp(-0.5))] * 10, [2.2]))
        p = made.p_value()
        made.next_window(forget=False)
    assert min(alone) > 0.03
    assert p < 0.001


def test_the_recent_windows_are_compared_with_the_older_ones_alone() -> None:
    made = TtftScatter(3)
    older, recent, now = [1.0, 1.2, 0.9, 1.1], [3.0, 2.5], [2.8]
    for window in ([*older[:2]], [*older[2:]], [recent[0]], [recent[1]]):
        for each in window:
            made.observe(each)
        made.next_window(forget=False)
    for each in now:
        made.observe(each)
    expected = min(students(older, recent + now), students(older + recent, now))
    assert made.p_value() == pytest.approx(expected)


def test_after_a_change_the_past_is_forgotten_in_both_ways() -> None:
    made = TtftScatter(2)
    for value in (1.0, 1.1, 0.9, 1.0):
        made.observe(value)
        made.next_window(forget=False)
    made.observe(9.0)
    assert made.p_value() < 0.01
    made.next_window(forget=True)
    made.observe(9.0)
    assert made.p_value() == 1.0
