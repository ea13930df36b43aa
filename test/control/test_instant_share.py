from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Filler
from pace_ros.control.instant_share import InstantShare


def test_before_any_decision_every_place_counts_the_prior() -> None:
    assert InstantShare(32, 0.3).value == pytest.approx(0.3)
    assert (Filler().decisions, Filler().prior) == (32, 0.3)


def test_the_first_decisions_by_hand() -> None:
    share = InstantShare(4, 0.3)
    seen = []
    for instant in (True, True, False, True, False, False, False):
        share.observe(instant=instant)
        seen.append(share.value)
    assert seen == pytest.approx([1.9 / 4, 2.6 / 4, 2.3 / 4, 3 / 4, 2 / 4, 1 / 4, 1 / 4])


def test_seven_tenths_is_passed_only_after_many_instant_turns() -> None:
    share, turns = InstantShare(32, 0.3), 0
    while share.value <= 0.7:
        share.observe(instant=True)
        turns += 1
    assert turns == 19  # 0.3 + 0.7 n / 32 > 0.7


@given(
    places=st.integers(1, 40),
    prior=st.floats(0.0, 1.0),
    decisions=st.lists(st.booleans(), max_size=120),
)
def test_it_is_the_share_among_the_last_decisions(places: int, prior: float, decisions: list[bool]) -> None:
    share = InstantShare(places, prior)
    for number, instant in enumerate(decisions, start=1):
        share.observe(instant=instant)
        kept = decisions[max(0, number - places):number]
        assert share.value == pytest.approx((sum(kept) + prior * (places - len(kept))) / places)
        assert 0.0 <= share.value <= 1.0


def test_it_holds_no_more_than_its_places() -> None:
    share = InstantShare(32, 0.3)
    for number in range(100_000):
        share.observe(instant=number % 3 == 0)
    assert len(share._decisions) == 32
    assert share.value in (10 / 32, 11 / 32)
