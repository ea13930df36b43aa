"""Which conversations are known, and when they are over."""
from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pace_ros.clock import VirtualClock
from pace_ros.serving.conversations import Conversation, Conversations, TooMany
from pace_ros.serving.ledger import Account


def made(clock: VirtualClock, *, idle: float = 100.0, grace: float = 10.0, most: int = 3) -> Conversations:
    return Conversations(clock, idle=idle, grace=grace, most=most)


def over(conversations: Conversations) -> list[str]:
    return [each.key for each in conversations.over()]


def test_a_conversation_is_over_once_it_has_been_idle(clock: VirtualClock) -> None:
    conversations = made(clock)
    conversations.leave(conversations.enter('ann'))
    clock.advance(99.9)
    assert over(conversations) == []
    clock.advance(0.1)
    assert over(conversations) == ['ann']
    conversations.enter('ann')
    assert over(conversations) == [], 'a turn came meanwhile'


def test_when_the_first_slot_becomes_free(clock: VirtualClock) -> None:
    conversations = made(clock)
    assert conversations.first_end() == 0.0
    ann, bob = conversations.enter('ann'), conversations.enter('bob')
    ann.seat = Account('ann', 'd', 0)
    assert conversations.first_end() == 100.0, 'it is being answered, and may be idle then'
    ann.seat, ann.home = None, Account('ann', 'd', 0)
    conversations.leave(ann)
    conversations.leave(bob, hung_up=True)
    clock.advance(30.0)
    assert conversations.first_end() == 70.0, 'bob has no slot'
    ann.under_way, ann.told = 1, True
    assert conversations.first_end() == 0.0, 'it ends with its turn'


def test_those_that_never_end_give_way_the_longest_idle_first(clock: VirtualClock) -> None:
    conversations = made(clock, most=9)
    for key in ('said', 'elsewhere', 'old', 'young', 'homeless', 'busy'):
        each = conversations.enter(key)
        each.derived = key != 'said'
        each.home = None if key == 'homeless' else Account(key, 'e' if key == 'elsewhere' else 'd', 0)
        if key != 'busy':
            conversations.leave(each)
        clock.advance(1.0)
    found = conversations.longest_idle({'d'})
    assert found is not None
    assert found.key == 'old'
    conversations.remove(found)
    assert conversations.longest_idle({'d'}) is conversations.get('young')
    conversations.enter('young')
    assert conversations.longest_idle({'d'}) is None


def test_a_client_that_has_hung_up_has_the_grace_alone_unless_it_comes_back(clock: VirtualClock) -> None:
    conversations = made(clock)
    conversations.leave(conversations.enter('ann'), hung_up=True)
    clock.advance(9.0)
    assert over(conversations) == []
    conversations.leave(conversations.enter('ann'))
    clock.advance(90.0)
    assert over(conversations) == []
    clock.advance(10.0)
    assert over(conversations) == ['ann']


def test_a_turn_that_did_not_come_in_leaves_a_conversation_what_it_had(clock: VirtualClock) -> None:
    conversations = made(clock)
    conversations.leave(conversations.enter('ann'))
    conversations.leave(conversations.enter('bob'), hung_up=True)
    clock.advance(9.0)
    for key in ('ann', 'bob'):
        conversations.leave(conversations.enter(key), answered=False)
    clock.advance(9.9)
    assert over(conversations) == []
    clock.advance(0.1)
    assert over(conversations) == ['bob'], 'it has its grace once more, not all that the answered have'
    clock.advance(80.9)
    assert over(conversations) == ['bob']
    clock.advance(0.1)
    assert over(conversations) == ['ann', 'bob']


def test_one_that_was_told_to_end_is_over_with_its_turn(clock: VirtualClock) -> None:
    conversations = made(clock)
    ann = conversations.enter('ann')
    ann.told = True
    assert over(conversations) == []
    conversations.leave(ann)
    assert over(conversations) == ['ann']


def test_the_grace_is_never_longer_than_idling(clock: VirtualClock) -> None:
    conversations = made(clock, idle=5.0, grace=30.0)
    conversations.leave(conversations.enter('ann'), hung_up=True)
    clock.advance(5.0)
    assert over(conversations) == ['ann']


def test_it_is_not_over_while_a_turn_is_under_way_however_long(clock: VirtualClock) -> None:
    conversations = made(clock)
    first, second = conversations.enter('ann'), conversations.enter('ann')
    assert first is second
    conversations.leave(first)
    clock.advance(1000.0)
    assert over(conversations) == []
    conversations.leave(second)
    with pytest.raises(ValueError, match='no turn of ann'):
        conversations.leave(second)


def test_one_that_was_ended_begins_anew(clock: VirtualClock) -> None:
    conversations = made(clock)
    before = conversations.enter('ann')
    conversations.leave(before)
    conversations.remove(before)
    assert conversations.get('ann') is None
    after = conversations.enter('ann')
    assert after is not before
    conversations.remove(before)
    assert conversations.get('ann') is after, 'what is removed twice takes nobody with it'


def test_no_more_are_taken_than_there_may_be(clock: VirtualClock) -> None:
    conversations = made(clock, most=2)
    for key in ('ann', 'bob'):
        conversations.leave(conversations.enter(key))
    with pytest.raises(TooMany, match='2 conversations'):
        conversations.enter('cy')
    conversations.enter('ann')
    conversations.remove(conversations.enter('bob'))
    assert conversations.enter('cy').key == 'cy'
    assert len(conversations) == 2


def test_conversations_may_end_while_one_looks_at_them(clock: VirtualClock) -> None:
    conversations = made(clock)
    for key in ('ann', 'bob'):
        conversations.enter(key)
    for each in conversations:
        conversations.remove(each)
    assert len(conversations) == 0


class AnyLife(RuleBasedStateMachine):
    """Turns that come and go in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.conversations = made(self.clock)
        self.turns: list[Conversation] = []

    @rule(key=st.sampled_from(['ann', 'bob', 'cy', 'dee']))
    def enter(self, key: str) -> None:
        full = len(self.conversations) == 3 and self.conversations.get(key) is None
        if full:
            with pytest.raises(TooMany):
                self.conversations.enter(key)
        else:
            self.turns.append(self.conversations.enter(key))

    @rule(hung_up=st.booleans(), answered=st.booleans())
    def leave(self, hung_up: bool, answered: bool) -> None:
        if self.turns:
            self.conversations.leave(self.turns.pop(0), hung_up=hung_up, answered=answered)

    @rule(seconds=st.floats(0.0, 60.0))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def sweep(self) -> None:
        for each in self.conversations.over():
            self.conversations.remove(each)

    @invariant()
    def those_under_way_are_known_and_not_over(self) -> None:
        assert len(self.conversations) <= 3
        for each in self.turns:
            assert self.conversations.get(each.key) is each
            assert not self.conversations.is_over(each)
        assert sum(each.under_way for each in self.conversations) == len(self.turns)


TestAnyLife = AnyLife.TestCase
TestAnyLife.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
