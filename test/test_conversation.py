"""What is remembered of each visitor, and for how long."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from pace_ros.clock import VirtualClock
from pace_ros.config import ConversationSettings
from pace_ros.conversation import HISTORY_LIMIT, Conversation, Conversations
from pace_ros.llm import Exchange


def opened(clock: VirtualClock, **settings: object) -> Conversations:
    return Conversations(lambda: ConversationSettings(**settings), clock)  # type: ignore[arg-type]


def busy(conversation: Conversation) -> SimpleNamespace:
    """Give the conversation a turn that is being spoken."""
    turn = SimpleNamespace(silent=False)
    conversation.turn = turn  # type: ignore[assignment]
    return turn


def test_the_same_id_is_the_same_conversation(clock: VirtualClock) -> None:
    conversations = opened(clock)
    mine = conversations.of('a')
    mine.remember('q', 'a')
    assert conversations.of('a') is mine
    assert conversations.of('b').history == []
    assert len(conversations) == 2
    assert [each.conversation_id for each in conversations] == ['a', 'b']


def test_history_keeps_the_latest_exchanges(clock: VirtualClock) -> None:
    conversation = opened(clock).of('a')
    for number in range(HISTORY_LIMIT + 7):
        conversation.remember(f'q{number}', f'a{number}')
    assert len(conversation.history) == HISTORY_LIMIT == 50
    assert conversation.history[0] == Exchange('q7', 'a7')
    assert conversation.history[-1] == Exchange('q56', 'a56')


def test_after_the_idle_timeout_the_next_visitor_starts_anew(clock: VirtualClock) -> None:
    conversations = opened(clock, idle_timeout=120.0)
    old = conversations.of('default')
    old.remember('q', 'a')
    old.last_filler = 'Good question!'
    clock.advance(120.0)
    assert conversations.of('default') is old, 'exactly at the timeout it is still remembered'
    clock.advance(120.001)
    new = conversations.of('default')
    assert new is not old
    assert (new.history, new.last_filler) == ([], '')


def test_every_use_starts_the_idle_time_again(clock: VirtualClock) -> None:
    conversations = opened(clock, idle_timeout=100.0)
    mine = conversations.of('a')
    for _ in range(5):
        clock.advance(99.0)
        assert conversations.of('a') is mine


def test_wall_clock_jumps_forget_nobody(clock: VirtualClock) -> None:
    conversations = opened(clock)
    mine = conversations.of('a')
    clock.jump_wall(1e6)
    assert conversations.of('a') is mine


def test_a_conversation_whose_turn_is_being_spoken_is_not_idle(clock: VirtualClock) -> None:
    conversations = opened(clock, idle_timeout=10.0)
    mine = conversations.of('a')
    turn = busy(mine)
    clock.advance(60.0)
    conversations.forget_idle()
    assert len(conversations) == 1
    turn.silent = True
    conversations.forget_idle()
    assert len(conversations) == 0


def test_a_long_turn_elsewhere_does_not_keep_an_idle_visitor_in_memory(clock: VirtualClock) -> None:
    """``last_used`` is also set when a turn ends, so the order of opening is not the order of last use."""
    conversations = opened(clock, idle_timeout=120.0)
    long_turn = conversations.of('long')
    clock.advance(10.0)
    default = conversations.of('default')
    default.remember('my secret', 'noted')
    clock.advance(60.0)
    long_turn.last_used = clock.monotonic()  # as the dialogue does at the end of a turn
    clock.advance(70.0)
    assert conversations.of('default').history == [], 'idle for 130 s, the next visitor inherits nothing'


def test_too_many_conversations_push_out_the_longest_idle(clock: VirtualClock) -> None:
    conversations = opened(clock, max_open=3)
    for name in 'abc':
        conversations.of(name)
    conversations.of('a')
    conversations.of('d')
    assert [each.conversation_id for each in conversations] == ['c', 'a', 'd']


def test_a_busy_conversation_is_not_pushed_out(clock: VirtualClock) -> None:
    conversations = opened(clock, max_open=1)
    turn = busy(conversations.of('a'))
    conversations.of('b')
    assert [each.conversation_id for each in conversations] == ['a', 'b']
    turn.silent = True
    conversations.of('c')
    assert [each.conversation_id for each in conversations] == ['c']


@pytest.mark.parametrize('known', [True, False])
def test_ending_a_conversation(clock: VirtualClock, known: bool) -> None:
    conversations = opened(clock)
    mine = conversations.of('a') if known else None
    assert conversations.end('a') is mine
    assert len(conversations) == 0
