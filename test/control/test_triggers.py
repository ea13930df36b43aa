from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pace_ros.config import Gate
from pace_ros.control.triggers import Trigger, Window, load_step, rate_dispersion, rate_ratio, ratio_p

LITERAL = Gate(significance=1.0)
COUNTS = st.integers(0, 120)
SPANS = st.sampled_from([1, 10, 60, 90])


def window(count: int, load: float = 0.2, span: float = 60.0) -> Window:
    return Window(count, span, load)


def binomial_p(now: int, before: int, share: Fraction) -> float:
    """Twice the smaller tail of a binomial, by adding up fractions."""
    total = now + before
    chance = [math.comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(total + 1)]
    return float(min(Fraction(1), 2 * min(sum(chance[:now + 1]), sum(chance[now:]))))


def dispersion(*counts: int, settings: Gate = LITERAL) -> Trigger:
    return rate_dispersion([window(count) for count in counts], settings)


# -- ratio ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('now', 'before', 'value', 'fired'),
    [
        (149, 100, 1.49, False),
        (150, 100, 1.5, False),
        (151, 100, 1.51, True),
        (100, 149, 1 / 1.49, False),
        (100, 150, 2 / 3, False),
        (100, 151, 1 / 1.51, True),
        (3, 2, 1.5, False),
        (2, 3, 2 / 3, False),
        (0, 0, 1.0, False),
        (1, 0, math.inf, True),
        (0, 1, 0.0, True),
        (70, 70, 1.0, False),
    ],
)
def test_a_rate_may_differ_by_half_as_much_again_in_either_direction(
    now: int, before: int, value: float, *, fired: bool
) -> None:
    trigger = rate_ratio(window(now), window(before), LITERAL)
    assert trigger.name == 'rate ratio'
    assert trigger.value == pytest.approx(value)
    assert trigger.fired is fired


def test_rates_are_compared_and_not_counts() -> None:
    assert not rate_ratio(window(50, span=25.0), window(50, span=37.5), LITERAL).fired
    assert rate_ratio(window(50, span=25.0), window(50, span=37.6), LITERAL).fired


@given(now=COUNTS, before=COUNTS, span=SPANS, other=SPANS)
def test_the_literal_ratio_is_that_of_the_rates(now: int, before: int, span: int, other: int) -> None:
    rate, earlier = Fraction(now, span), Fraction(before, other)
    outside = rate * 2 > earlier * 3 or rate * 3 < earlier * 2
    assert rate_ratio(window(now, span=span), window(before, span=other), LITERAL).fired is outside


@given(now=COUNTS, before=COUNTS, span=SPANS, other=SPANS)
def test_the_probability_of_a_ratio_is_the_exact_binomial(now: int, before: int, span: int, other: int) -> None:
    p = ratio_p(window(now, span=span), window(before, span=other))
    assert p == pytest.approx(binomial_p(now, before, Fraction(span, span + other)), rel=1e-9, abs=1e-15)


def test_the_probability_of_a_ratio_by_hand() -> None:
    assert ratio_p(window(5), window(0)) == ratio_p(window(0), window(5)) == pytest.approx(2 / 2**5)
    assert ratio_p(window(0), window(0)) == 1.0
    assert ratio_p(window(1), window(0)) == 1.0
    assert ratio_p(window(2, span=30.0), window(0, span=60.0)) == pytest.approx(2 / 9)


@pytest.mark.parametrize(('now', 'before', 'fired'), [(10, 0, False), (11, 0, True), (40, 16, False), (50, 18, True)])
def test_by_default_a_ratio_must_be_improbable_as_well(now: int, before: int, *, fired: bool) -> None:
    """2 / 2^10 is above 0.001, 2 / 2^11 below it; 40 to 16 has p 0.0019, 50 to 18 p 0.00013."""
    for pair in ((now, before), (before, now)):
        assert rate_ratio(window(pair[0]), window(pair[1]), Gate()).fired is fired
        assert rate_ratio(window(pair[0]), window(pair[1]), LITERAL).fired


# -- dispersion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('counts', 'value', 'fired'),
    [
        ((3, 5), 0.25, False),                     # mean 4, deviation 1
        ((3, 5) * 5, 0.25, False),
        ((300, 501), 201 / 801, True),             # 0.2509
        ((300, 499), 199 / 799, False),            # 0.2491
        ((20, 26, 34, 44), 9 / 31, True),
        ((20, 26, 34), math.sqrt(296 / 9) / (80 / 3), False),
        ((7, 7, 7), 0.0, False),
        ((0, 0), 0.0, False),
        ((0, 1), 1.0, True),
        ((9,), 0.0, False),                        # one window says nothing
    ],
)
def test_dispersion_is_the_population_deviation_over_the_mean(
    counts: tuple[int, ...], value: float, *, fired: bool
) -> None:
    trigger = dispersion(*counts)
    assert trigger.name == 'rate dispersion'
    assert trigger.value == pytest.approx(value)
    assert trigger.fired is fired


@given(counts=st.lists(st.tuples(COUNTS, SPANS), min_size=2, max_size=10))
def test_the_probability_of_a_dispersion_is_that_of_the_index_under_chi_squared(counts: list[tuple[int, int]]) -> None:
    trigger = rate_dispersion([window(count, span=span) for count, span in counts], LITERAL)
    total, time = sum(count for count, _ in counts), sum(span for _, span in counts)
    if trigger.fired:
        index = sum((count - total * span / time) ** 2 / (total * span / time) for count, span in counts)
        assert trigger.p == pytest.approx(float(stats.chi2.sf(index, len(counts) - 1)), rel=1e-9, abs=1e-300)
    else:
        assert trigger.p == 1.0


def test_the_probability_of_a_dispersion_by_hand() -> None:
    """Two degrees of freedom: exp(-index / 2); 2, 8, 20 about 10 give 64/10 + 4/10 + 100/10."""
    assert dispersion(2, 8, 20).p == pytest.approx(math.exp(-16.8 / 2))


def test_by_default_a_dispersion_must_be_improbable_as_well() -> None:
    assert not dispersion(20, 26, 34, 44, settings=Gate()).fired  # index 10.5, p 0.015
    assert dispersion(40, 52, 68, 88, settings=Gate()).fired      # as unlike, twice the visitors: 20.9, p 0.0001


# -- load -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('before', 'now', 'fired'),
    [
        (0.2, 0.249, False),
        (0.2, 0.25, False),
        (0.25, 0.3, False),  # in binary a hair more than 0.05 apart
        (0.2, 0.251, True),
        (0.3, 0.251, False),
        (0.3, 0.249, True),
        (0.0, 1.0, True),
        (0.4, 0.4, False),
    ],
)
def test_load_may_move_by_a_twentieth_in_either_direction(before: float, now: float, *, fired: bool) -> None:
    trigger = load_step(window(60, now), window(60, before), 1.0, LITERAL)
    assert trigger.name == 'load step'
    assert trigger.value == pytest.approx(abs(now - before))
    assert trigger.fired is fired


@pytest.mark.parametrize(
    ('now', 'before', 'p_ttft', 'p'),
    [
        (60, 60, 1e-4, 3e-4),
        (60, 60, 0.2, 0.6),
        (60, 60, 0.9, 1.0),      # a probability is at most 1
        (12, 0, 1.0, 6 / 2**12),  # two sides of 1 / 2**12, looked at three ways
        (12, 0, 1e-6, 3e-6),
        (0, 0, 1e-3, 3e-3),
    ],
)
def test_load_moves_with_first_tokens_or_with_arrivals_whichever_is_less_probable(
    now: int, before: int, p_ttft: float, p: float
) -> None:
    trigger = load_step(window(now, 0.9), window(before, 0.1), p_ttft, LITERAL)
    assert trigger.p == pytest.approx(p)
    assert trigger.fired
    assert load_step(window(now, 0.9), window(before, 0.1), p_ttft, Gate()).fired is (p <= 0.001)


# -- all of them ------------------------------------------------------------------------------------------------------


@given(
    counts=st.lists(COUNTS, min_size=2, max_size=10),
    loads=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    p_ttft=st.floats(0, 1),
)
def test_every_p_is_a_probability_and_1_within_the_limits(
    counts: list[int], loads: tuple[float, float], p_ttft: float
) -> None:
    windows = [window(count, loads[0]) for count in counts[:-1]] + [window(counts[-1], loads[1])]

    def all_three(settings: Gate) -> tuple[Trigger, Trigger, Trigger]:
        return (
            rate_ratio(windows[-1], windows[-2], settings),
            rate_dispersion(windows, settings),
            load_step(windows[-1], windows[-2], p_ttft, settings),
        )

    for literal, default in zip(all_three(LITERAL), all_three(Gate()), strict=True):
        assert 0.0 <= literal.p <= 1.0
        assert literal.fired or literal.p == 1.0
        assert (literal.name, literal.value, literal.p) == (default.name, default.value, default.p)
        assert default.fired is (literal.fired and literal.p <= 0.001)


def test_a_trigger_tells_what_it_saw() -> None:
    assert str(rate_ratio(window(50), window(18), Gate())) == 'rate ratio 2.78, p 0.00013'
    assert str(Trigger('load step', 0.0512, 1.0, fired=True)) == 'load step 0.0512, p 1'
