from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pace_ros.control.scatter import KEPT, TtftScatter

TIMES = st.lists(st.floats(0.05, 20.0), min_size=2, max_size=40)
WINDOWS = st.lists(st.lists(st.floats(0.05, 20.0), max_size=5), min_size=2, max_size=12)


def watch(windows: list[list[float]], now: list[float], *, recent: int = 1000) -> TtftScatter:
    """Windows that have been closed, and the one under way."""
    made = TtftScatter(recent)
    for window in windows:
        for each in window:
            made.observe(each)
        made.next_window(forget=False)
    for each in now:
        made.observe(each)
    return made


def scatter(earlier: list[float], window: list[float]) -> TtftScatter:
    """One first token a window earlier."""
    return watch([[each] for each in earlier], window)


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


def test_p_of_batches_by_hand() -> None:
    """Two windows of two, means -1/2 and 1/2: s^2 = 2/4 + 2/4 = 1 with 1 degree. Against 3 twice: t = 3 / sqrt(1/2 +
    1/4) = 2 sqrt 3; p = 1 - 2/pi atan t."""
    e = float(np.e)
    made = watch([[1 / e, 1.0], [1.0, e]], [e**3, e**3])
    assert made.p_value() == pytest.approx(1 - 2 / np.pi * np.arctan(2 * 3**0.5))


@given(windows=WINDOWS, now=st.lists(st.floats(0.05, 20.0), min_size=1, max_size=5))
def test_windows_weigh_as_much_as_they_hold(windows: list[list[float]], now: list[float]) -> None:
    """Independently: weighted least squares of window means on an intercept, and its prediction."""
    held = [np.log(each) for each in windows if each]
    if len(held) < 2 or max(abs(each.mean() - held[0].mean()) for each in held) < 1e-3:
        return
    means, sizes = np.array([each.mean() for each in held]), np.array([len(each) for each in held])
    root = np.sqrt(sizes)[:, None]
    (level,), (residual,), *_ = np.linalg.lstsq(root, root[:, 0] * means)
    error = np.sqrt(residual / (len(held) - 1) * (1 / len(now) + 1 / sizes.sum()))
    expected = 2 * stats.t.sf(abs(np.log(now).mean() - level) / error, len(held) - 1)
    assert watch(windows, now).p_value() == pytest.approx(expected, rel=1e-4, abs=1e-9)


@given(earlier=TIMES, window=TIMES, factor=st.floats(0.2, 5.0))
def test_a_faster_endpoint_is_judged_like_a_slower_one(
    earlier: list[float], window: list[float], factor: float
) -> None:
    if np.log(earlier).std() > 1e-6:
        scaled = scatter([factor * each for each in earlier], [factor * each for each in window])
        assert scaled.p_value() == pytest.approx(scatter(earlier, window).p_value(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(('earlier', 'window'), [
    ([], []), ([], [9.0]), ([[1.0, 2.0, 3.0]], [9.0]), ([[], [1.0], []], [9.0]), ([[1.0], [2.0], [3.0]], []),
])
def test_where_nothing_can_be_said_nothing_is_improbable(earlier: list[list[float]], window: list[float]) -> None:
    assert watch(earlier, window).p_value() == 1.0


@given(constant=st.floats(0.01, 60.0), earlier=st.integers(2, 300), window=st.integers(1, 60))
def test_first_tokens_without_any_scatter_are_all_alike(constant: float, earlier: int, window: int) -> None:
    assert scatter([constant] * earlier, [constant] * window).p_value() == 1.0


@given(constant=st.floats(0.01, 60.0), earlier=st.integers(2, 300), factor=st.sampled_from([0.5, 0.99, 1.01, 3.0]))
def test_without_any_scatter_another_time_is_impossible(constant: float, earlier: int, factor: float) -> None:
    assert scatter([constant] * earlier, [factor * constant]).p_value() < 1e-9


def test_an_instant_first_token_has_a_logarithm_too() -> None:
    assert 0.0 <= scatter([0.0, 1.0, 2.0], [0.0]).p_value() <= 1.0


def test_a_finished_window_becomes_what_the_next_is_compared_with() -> None:
    made = scatter([1.0, 1.2, 0.9], [1.1])
    made.next_window(forget=False)
    made.observe(2.0)
    assert made.p_value() == pytest.approx(students([1.0, 1.2, 0.9, 1.1], [2.0]))


def test_a_new_regime_forgets_all_but_the_window_that_showed_it() -> None:
    made = scatter([1.0, 1.2, 0.9], [3.1])
    made.next_window(forget=True)
    made.observe(2.8)
    assert made.p_value() == 1.0  # of one window nothing can be said
    made.next_window(forget=False)
    made.observe(2.0)
    assert made.p_value() == pytest.approx(students([3.1, 2.8], [2.0]))


def test_it_keeps_the_latest_and_no_more() -> None:
    rng = Random(3)
    samples = [rng.lognormvariate(0.5, 0.5) for _ in range(3 * KEPT)]
    made = watch([[each] for each in samples], [4.0], recent=1)
    assert made.p_value() == pytest.approx(students(samples[-KEPT:], [4.0]))
    assert len(made._older) == KEPT


def test_empty_windows_leave_what_was_before_them() -> None:
    made = scatter([1.0, 1.2, 0.9], [])
    for _ in range(4):
        made.next_window(forget=False)
    made.observe(2.0)
    assert made.p_value() == pytest.approx(students([1.0, 1.2, 0.9], [2.0]))


@pytest.mark.parametrize(('windows', 'size', 'shared'), [(3, 1, 0.0), (11, 1, 0.0), (11, 25, 0.0), (11, 25, 0.15)])
def test_under_steady_load_p_is_uniform_even_if_a_queue_is_shared(windows: int, size: int, shared: float) -> None:
    """``shared``: the deviation of what all of a window have in common, beside 0.33 of each alone."""
    rng, runs = np.random.default_rng(11), 4000
    values = []
    for _ in range(runs):
        logs = rng.normal(0.6, 0.33, (windows + 1, size)) + rng.normal(0.0, shared, (windows + 1, 1))
        *before, now = [[*row] for row in np.exp(logs)]
        values.append(watch(before, now).p_value())
    assert stats.kstest(values, 'uniform').pvalue > 0.001
    assert sum(value <= 0.01 for value in values) == pytest.approx(0.01 * runs, abs=5 * (0.01 * runs) ** 0.5)


@pytest.mark.parametrize(('factor', 'shared'), [(1.75, 0.0), (2.5, 0.1)])
def test_a_real_step_is_improbable_in_its_first_window(factor: float, shared: float) -> None:
    """Eleven windows of 25 before it, as when the gate has just closed; at the default significance, looked thrice."""
    rng = np.random.default_rng(7)
    seen = 0
    for _ in range(200):
        logs = rng.normal(0.6, 0.33, (12, 25)) + rng.normal(0.0, shared, (12, 1))
        *before, now = [[*row] for row in np.exp(logs)]
        seen += watch(before, [factor * each for each in now]).p_value() < 0.001 / 3
    assert seen >= 180


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
    older, recent, now = [1.0, 1.2, 0.9, 1.1], [3.0, 2.5], [2.8]
    made = watch([[each] for each in older + recent], now, recent=3)
    expected = min(students(older, recent + now), students(older + recent, now))
    assert made.p_value() == pytest.approx(expected)


def test_after_a_change_the_past_is_forgotten_in_both_ways() -> None:
    made = watch([[1.0], [1.1], [0.9], [1.0]], [9.0], recent=2)
    assert made.p_value() < 0.01
    made.next_window(forget=True)
    made.observe(9.0)
    assert made.p_value() == 1.0
