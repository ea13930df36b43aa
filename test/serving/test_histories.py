"""Conversations whose clients say nothing: found again by their history, never mixed up."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pace_ros.serving.histories import Histories

Message = dict[str, Any]


def says(role: str, content: object) -> Message:
    return {'role': role, 'content': content}


def called(arguments: object, name: str) -> object:
    return {'id': name, 'type': 'function', 'function': {'name': 'price', 'arguments': arguments}}


SYSTEM, HELLO, GO_ON = says('system', 'You are a robot.'), says('user', 'Hello'), says('user', 'And then?')


def answered(histories: Histories, messages: list[Message], answer: str, calls: list[object] | None = None) -> str:
    key = histories.conversation(messages)
    histories.ended(key, messages, {'content': answer, **({} if calls is None else {'tool_calls': calls})})
    return key


def test_two_robots_with_one_opener_never_collide() -> None:
    histories = Histories(100)
    opener = [SYSTEM, HELLO]
    first, second = histories.conversation(opener), histories.conversation(opener)
    assert first != second
    histories.ended(first, opener, {'content': 'Good day!'})
    assert histories.conversation(opener) not in (first, second), 'a first turn always begins a conversation'


def test_a_turn_goes_on_from_the_answer_before() -> None:
    histories, messages = Histories(100), [SYSTEM, HELLO]
    key = answered(histories, messages, 'One.')
    for answer in ('Two.', 'Three.'):
        messages = [*messages, says('assistant', 'One.' if answer == 'Two.' else 'Two.'), GO_ON]
        assert answered(histories, messages, answer) == key
    assert len(histories) == 1


def test_identical_histories_are_each_taken_once() -> None:
    histories, opener = Histories(100), [HELLO]
    keys = {answered(histories, opener, 'Good day!') for _ in range(3)}
    later = [HELLO, says('assistant', 'Good day!'), GO_ON]
    taken = [histories.conversation(later) for _ in range(4)]
    assert set(taken[:3]) == keys
    assert taken[3] not in keys
    assert len(histories) == 0


@pytest.mark.parametrize('edited', [
    [SYSTEM, says('user', 'Hallo'), says('assistant', 'Good day!'), GO_ON],
    [SYSTEM, HELLO, says('assistant', 'Good da'), GO_ON],
    [HELLO, says('assistant', 'Good day!'), GO_ON],
    [says('user', 'Hello'), says('user', 'You are a robot.'), says('assistant', 'Good day!'), GO_ON],
    [SYSTEM, HELLO, says('user', 'Good day!'), GO_ON],
])
def test_an_edited_history_begins_anew(edited: list[Message]) -> None:
    histories = Histories(100)
    key = answered(histories, [SYSTEM, HELLO], 'Good day!')
    assert histories.conversation(edited) != key


@pytest.mark.parametrize('opener', [
    [says('user', None)],
    [says('user', '\ud800 half a pair')],
    [{'role': 'user'}],
    [says('user', [{'type': 'text', 'text': 'Look:'}, {'type': 'image_url', 'image_url': {'url': 'data:,'}}])],
    [says('user', 7.5)],
])
@pytest.mark.parametrize('answer', ['Good day!', '', ' padded \n'])
def test_odd_contents_are_found_again(opener: list[Message], answer: str) -> None:
    histories = Histories(100)
    key = answered(histories, opener, answer)
    assert histories.conversation([*opener, says('assistant', answer.strip()), GO_ON]) == key


def test_one_text_is_one_text_however_it_is_written() -> None:
    histories = Histories(100)
    key = answered(histories, [says('user', 'Hello there')], '', [called('{"b": 1, "a": [2]}', 'call_1')])
    parts = says('user', [{'type': 'text', 'text': 'Hello '}, {'type': 'text', 'text': 'there'}])
    call = {'role': 'assistant', 'content': None, 'tool_calls': [called('{"a":[2],"b":1}', 'call_9')]}
    assert histories.conversation([parts, call, says('tool', '18 degrees')]) == key


@pytest.mark.parametrize('arguments', ['{"a": 2}', '', 'no json', '[' * 100_000, None])
def test_who_called_a_tool_otherwise_has_another_history(arguments: str | None) -> None:
    histories = Histories(100)
    mine = answered(histories, [HELLO], '', [called('{"a": 1}', 'call_1')])
    other = answered(histories, [HELLO], '', [called(arguments, 'call_1')])
    later = [[HELLO, {'role': 'assistant', 'content': '', 'tool_calls': [called(each, 'call_1')]}, says('tool', '3')]
             for each in (arguments, '{"a": 1}')]
    assert [histories.conversation(each) for each in later] == [other, mine]


def test_a_turn_that_was_refused_may_come_again() -> None:
    histories = Histories(100)
    keys = [answered(histories, [HELLO], 'Good day!') for _ in range(2)]
    later = [HELLO, says('assistant', 'Good day!'), GO_ON]
    assert histories.conversation(later) == keys[0]
    histories.unanswered(keys[0])
    histories.unanswered(keys[0])  # twice is once
    histories.unanswered('turn-unknown')
    assert [histories.conversation(later) for _ in range(2)] == keys


def test_a_prefilled_answer_is_no_end_of_a_turn() -> None:
    histories = Histories(100)
    key = answered(histories, [HELLO], 'Good day!')
    assert histories.conversation([HELLO, says('assistant', 'Good day!')]) != key


def test_the_oldest_are_forgotten() -> None:
    histories = Histories(3)
    keys = [answered(histories, [says('user', f'{number}')], 'Yes.') for number in range(5)]
    assert len(histories) == 3
    again = [histories.conversation([says('user', f'{number}'), says('assistant', 'Yes.'), GO_ON])
             for number in range(5)]
    assert [key == before for key, before in zip(again, keys, strict=True)] == [False, False, True, True, True]


class Robots(RuleBasedStateMachine):
    """Robots that say the same few words: each is always given the conversation it has, or one with the same past."""

    KEPT = 4

    def __init__(self) -> None:
        super().__init__()
        self.histories = Histories(self.KEPT)
        self.pasts: dict[str, list[Message]] = {}  # of the conversations that go on
        self.order: list[str] = []
        self.busy: dict[str, tuple[list[Message], bool]] = {}
        self.seen: set[str] = set()

    @rule(word=st.sampled_from(['a', 'b']), data=st.data())
    def ask(self, word: str, data: st.DataObject) -> None:
        past = [[], *self.pasts.values()][data.draw(st.integers(0, len(self.pasts)))]
        messages = [*past, says('user', word)]
        key = self.histories.conversation(messages)
        assert key not in self.busy, 'nobody has it'
        if past:
            assert self.pasts.pop(key) == past
            self.order.remove(key)
        else:
            assert key not in self.seen
        self.seen.add(key)
        self.busy[key] = (messages, bool(past))

    @precondition(lambda self: self.busy)
    @rule(answer=st.sampled_from(['yes', 'no']), fails=st.booleans(), data=st.data())
    def end(self, answer: str, fails: bool, data: st.DataObject) -> None:
        key = [*self.busy][data.draw(st.integers(0, len(self.busy) - 1))]
        messages, went_on = self.busy.pop(key)
        if fails:
            self.histories.unanswered(key)
            if not went_on:
                return
            self.pasts[key] = messages[:-1]
        else:
            self.histories.ended(key, messages, {'content': answer})
            self.pasts[key] = [*messages, says('assistant', answer)]
        self.order.append(key)
        for old in self.order[:-self.KEPT]:
            del self.pasts[old]
        self.order = self.order[-self.KEPT:]

    @invariant()
    def bounded(self) -> None:
        assert len(self.histories) == len(self.pasts) <= self.KEPT
        assert sum(map(len, self.histories._by_history.values())) == len(self.histories)
        assert len(self.histories._taken) <= self.KEPT


TestRobots = Robots.TestCase
TestRobots.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
