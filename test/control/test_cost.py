from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Cost
from pace_ros.control import CostLedger

TOKENS = st.integers(0, 40)


def ledger(**settings: float) -> CostLedger:
    made = Cost(**settings)
    return CostLedger(lambda: made)


def turn(ledger: CostLedger, *, tokens: int = 0, fillers: int = 0) -> None:
    ledger.spend(tokens=tokens, fillers=fillers)
    ledger.end_turn()


# -- the mean ---------------------------------------------------------------------------------------------------------


def test_before_anything_nothing_was_spent() -> None:
    assert ledger().per_turn() == (0.0, 0.0)


def test_the_mean_of_a_turn_by_hand() -> None:
    made = ledger()
    turn(made, tokens=300, fillers=1)
    turn(made)
    made.spend(tokens=60)
    turn(made, tokens=40, fillers=1)
    assert made.per_turn() == (400 / 3, 2 / 3)


def test_what_a_turn_costs_counts_before_it_is_over() -> None:
    made = ledger()
    made.spend(tokens=50)
    assert made.per_turn() == (50.0, 0.0)


@given(window=st.integers(1, 8), costs=st.lists(st.tuples(TOKENS, st.integers(0, 2)), max_size=40))
def test_the_window_slides(window: int, costs: list[tuple[int, int]]) -> None:
    made = ledger(window=window)
    for number, (tokens, fillers) in enumerate(costs, start=1):
        turn(made, tokens=tokens, fillers=fillers)
        kept = costs[max(0, number - window):number]
        assert made.per_turn() == (sum(t for t, _ in kept) / len(kept), sum(f for _, f in kept) / len(kept))


def test_a_window_that_shrinks_while_it_runs_forgets_at_the_next_turns_end() -> None:
    settings = Cost(window=5)
    made = CostLedger(lambda: settings)
    for tokens in (100, 80, 60, 40, 20):
        turn(made, tokens=tokens)
    settings = Cost(window=2)
    turn(made, tokens=10)
    assert made.per_turn() == (15.0, 0.0)


def test_an_estimate_that_was_too_high_is_taken_back() -> None:
    made = ledger(tokens=100.0)
    assert made.try_spend(tokens=90)
    assert not made.may_spend(tokens=20)
    made.spend(tokens=-60)
    assert made.per_turn() == (30.0, 0.0)
    assert made.may_spend(tokens=70)
    made.end_turn()
    made.spend(tokens=-30)  # and even after the turn's end
    assert made.per_turn()[0] == 0.0


def test_it_holds_no_more_turns_than_its_window() -> None:
    made = ledger(window=100)
    for _ in range(10_000):
        turn(made, tokens=7)
    assert len(made._turns) == 100
    assert made.per_turn() == (7.0, 0.0)


# -- the ceiling ------------------------------------------------------------------------------------------------------


def test_by_default_there_is_none() -> None:
    made = ledger()
    turn(made, tokens=10**9, fillers=10**6)
    assert made.may_spend(tokens=10**9, fillers=10**6)
    assert made.try_spend(tokens=10**9)


def test_what_just_fits_is_granted_and_one_more_is_not() -> None:
    made = ledger(tokens=100.0, fillers=0.5, window=8)
    for _ in range(4):
        made.end_turn()
    for _ in range(4):
        turn(made, tokens=70)  # 280 in 8 turns: 520 more are 100 each
    assert made.may_spend(tokens=520)
    assert not made.may_spend(tokens=521)
    assert made.may_spend(fillers=4)
    assert not made.may_spend(fillers=5)
    assert not made.may_spend(tokens=521, fillers=0)
    assert made.per_turn() == (35.0, 0.0)  # asking costs nothing


def test_one_ceiling_does_not_stand_for_the_other() -> None:
    made = ledger(fillers=0.25)
    turn(made, tokens=10**6)
    assert made.may_spend(tokens=10**6)
    assert not made.may_spend(fillers=1)


def test_a_refused_cost_is_not_booked() -> None:
    made = ledger(tokens=10.0)
    assert not made.try_spend(tokens=11)
    assert made.per_turn() == (0.0, 0.0)
    assert made.try_spend(tokens=10)
    assert made.per_turn() == (10.0, 0.0)


def test_necessity_is_never_refused_and_leaves_no_room_beyond_the_ceiling() -> None:
    made = ledger(tokens=10.0)
    turn(made, tokens=500)
    assert made.per_turn() == (500.0, 0.0)
    assert not made.try_spend(tokens=1)


@given(
    window=st.integers(1, 10),
    ceiling=st.integers(1, 40),
    turns=st.lists(st.tuples(st.lists(TOKENS, max_size=3), st.lists(TOKENS, max_size=4)), max_size=40),
)
def test_nothing_optional_ever_lifts_the_mean_above_the_ceiling(
    window: int, ceiling: int, turns: list[tuple[list[int], list[int]]]
) -> None:
    """Whatever necessity has cost: a grant leaves the mean at or below the ceiling, a refusal leaves it alone."""
    made = ledger(window=window, tokens=float(ceiling))
    for necessary, optional in turns:
        for tokens in necessary:
            made.spend(tokens=tokens)
        for tokens in optional:
            may, before = made.may_spend(tokens=tokens), made.per_turn()
            assert made.try_spend(tokens=tokens) is may
            if may:
                assert made.per_turn()[0] <= ceiling
            else:
                assert made.per_turn() == before
        made.end_turn()


@dataclass
class Day:
    """Steady turns, each with its necessity first and then whatever optional costs are granted."""

    necessary: int
    ceiling: int
    optional: list[list[int]] = field(default_factory=list)


def days() -> st.SearchStrategy[Day]:
    return st.integers(1, 40).flatmap(
        lambda ceiling: st.builds(
            Day,
            necessary=st.integers(0, ceiling),
            ceiling=st.just(ceiling),
            optional=st.lists(st.lists(TOKENS, max_size=4), max_size=40),
        )
    )


@given(window=st.integers(1, 10), day=days())
def test_where_necessity_alone_keeps_the_ceiling_the_whole_does(window: int, day: Day) -> None:
    """The mean of a turn is read when it is over: one under way has its costs in the sum, but no place yet."""
    made = ledger(window=window, tokens=float(day.ceiling))
    for optional in day.optional:
        made.spend(tokens=day.necessary)
        for tokens in optional:
            made.try_spend(tokens=tokens)
        made.end_turn()
        assert made.per_turn()[0] <= day.ceiling


# -- threads ----------------------------------------------------------------------------------------------------------


def test_threads_together_stay_below_the_ceiling_and_lose_nothing() -> None:
    made = ledger(tokens=1000.0, window=1000)
    for _ in range(10):
        made.end_turn()
    granted: list[int] = []

    def work() -> None:
        granted.append(sum(made.try_spend(tokens=3) for _ in range(2000)))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert made.per_turn()[0] <= 1000.0
    assert made.per_turn()[0] > 900.0
    assert sum(granted) * 3 == pytest.approx(made._sum.tokens)
