from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.contents import Contents
from pace_ros.serving.ledger import Account

HERE = Account('v', 'd1', 0, held=5)
TOKENS = st.lists(st.integers(0, 3), max_size=12)


def test_what_two_prompts_share_must_be_there() -> None:
    contents = Contents()
    contents.put(HERE, [1, 2, 3, 4])
    assert contents.known(HERE) == 4
    assert contents.shared(HERE, [1, 2, 9, 4, 5]) == 2
    assert contents.shared(HERE, [1, 2, 3, 4]) == 3  # the last one is read in any case


def test_a_prompt_that_goes_on_finds_the_answer_before() -> None:
    contents = Contents()
    contents.put(HERE, [1, 2, 3])  # and 2 tokens of answer
    assert contents.to_read(HERE, [1, 2, 3, 4, 5, 6, 7]) == 2
    assert contents.to_read(HERE, [1, 2, 9, 4, 5, 6, 7]) == 5


def test_nothing_is_known_of_another_conversations_slot() -> None:
    contents = Contents()
    contents.put(HERE, [1, 2, 3])
    later = Account('w', 'd1', 0)
    assert contents.shared(later, [1, 2, 3, 4]) == 0
    contents.forget(later)
    assert contents.known(HERE) == 3
    contents.forget(HERE)
    assert contents.known(HERE) == 0


def test_a_lost_replica_takes_all_with_it() -> None:
    contents, elsewhere = Contents(), Account('w', 'd2', 0)
    contents.put(HERE, [1])
    contents.put(elsewhere, [1])
    contents.drop('d1')
    assert (contents.known(HERE), contents.known(elsewhere)) == (0, 1)


@settings(max_examples=50, deadline=None)
@given(TOKENS, TOKENS.filter(bool))
def test_it_is_the_common_prefix(before: list[int], now: list[int]) -> None:
    contents = Contents()
    contents.put(HERE, before)
    shared = contents.shared(HERE, now)
    assert before[:shared] == now[:shared]
    assert shared == min(len(before), len(now) - 1) or before[shared] != now[shared]
    assert 1 <= contents.to_read(HERE, now) <= len(now)
