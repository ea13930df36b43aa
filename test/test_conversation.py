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
    assert len(conversation.history) == HISTORY_LIMIT == 100
    assert conversation.history[0] == Exchange('q7', 'a7')
    assert conversation.history[-1] == Exchange('q106', 'a106')


@pytest.mark.parametrize(('turns', 'left'), [(0, []), (1, ['q2']), (2, ['q1', 'q2']), (9, ['q0', 'q1', 'q2'])])
def test_what_a_prompt_has_no_room_for_is_forgotten_and_turns_count_on(
    clock: VirtualClock, turns: int, left: list[str]
) -> None:
    conversation = opened(clock).of('a')
    for number in range(3):
        conversation.remember(f'q{number}', 'a')
    conversation.keep(turns)
    assert [each.question for each in conversation.history] == left
    conversation.remember('q3', 'a')
    assert conversation.history[-1].number == 3


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


def test_every_visit_has_a_name_of_its_own(clock: VirtualClock) -> None:
    """The same conversation id is another visit after its end, after idling, and on another robot."""
    conversations, ended = opened(clock, idle_timeout=100.0), []
    conversations._on_end = ended.append
    first = conversations.of('default').visit
    assert conversations.of('default').visit == first
    conversations.end('default')
    second = conversations.of('default').visit
    clock.advance(100.001)
    third = conversations.of('default').visit
    other = opened(clock).of('default').visit
    assert len({first, second, third, other}) == 4
    assert ended == [first, second]


def test_a_visit_that_is_expected_is_the_one_that_comes(clock: VirtualClock) -> None:
    conversations = opened(clock)
    expected = conversations.visit_of('a')
    assert conversations.visit_of('a') == expected
    assert len(conversations) == 0, 'it is not opened'
    assert conversations.of('a').visit == expected
    assert conversations.visit_of('a') == expected
    assert conversations.end('a') is not None
    assert conversations.visit_of('a') != expected


def test_a_visit_that_never_comes_ends_too(clock: VirtualClock) -> None:
    conversations, ended = opened(clock, idle_timeout=100.0, max_open=2), []
    conversations._on_end = ended.append
    expected = [conversations.visit_of(name) for name in 'abc']
    assert ended == expected[:1], 'no more are kept than conversations'
    conversations.end('b')
    assert ended == expected[:2]
    clock.advance(100.001)
    conversations.forget_idle()
    assert ended == expected
    assert conversations.of('c').visit not in expected


def test_one_expected_again_after_too_long_is_another(clock: VirtualClock) -> None:
    conversations, ended = opened(clock, idle_timeout=100.0), []
    conversations._on_end = ended.append
    expected = conversations.visit_of('a')
    clock.advance(100.001)
    assert conversations.visit_of('a') != expected
    assert ended == [expected]


def test_an_idle_conversation_s_history_is_nobody_s(clock: VirtualClock) -> None:
    conversations = opened(clock, idle_timeout=100.0)
    mine = conversations.of('a')
    mine.remember('my secret', 'noted')
    assert conversations.history_of('a') == (Exchange('my secret', 'noted'),)
    assert conversations.visit_of('a') == mine.visit
    clock.advance(100.001)
    assert conversations.history_of('a') == ()
    assert conversations.visit_of('a') != mine.visit


def test_all_may_be_forgotten(clock: VirtualClock) -> None:
    conversations, ended = opened(clock), []
    conversations._on_end = ended.append
    visits = [conversations.of('a').visit, conversations.visit_of('b')]
    conversations.forget_all()
    assert ended == visits
    assert len(conversations) == 0


def test_those_pushed_out_are_told(clock: VirtualClock) -> None:
    conversations, ended = opened(clock, max_open=1), []
    conversations._on_end = ended.append
    visit = conversations.of('a').visit
    conversations.of('b')
    assert ended == [visit]
