"""What is known of a request, and what a prompt is thought to cost."""
from __future__ import annotations

import math
import random
from dataclasses import asdict, fields

import pytest

from pace_ros.language import count_tokens
from pace_ros.llm import Completion, Message, estimated_tokens
from pace_ros.llm.tools.call import ToolCall

THE_CALLER_S = {'hedge', 'tokens_wasted', 'used', 'on_call'}
SPOKEN = Completion(attempts=2, ttft=1.5, sample=0.5, finish_reason='stop', tokens_in=11, tokens_out=3,
                    breaker_before='half-open', breaker_after='closed', hedge='second', tokens_wasted=7,
                    calls=(ToolCall('1', 'price', '{}'),), calling=True)


def test_taking_another_over_keeps_what_only_the_caller_knows() -> None:
    mine = Completion(hedge='first', tokens_wasted=99)
    mine.take(SPOKEN)
    assert asdict(mine) == {**asdict(SPOKEN), 'hedge': 'first', 'tokens_wasted': 99}


def test_every_field_but_the_caller_s_is_taken() -> None:
    nothing, mine = Completion(), Completion()
    mine.take(SPOKEN)
    untouched = {each.name for each in fields(Completion) if getattr(mine, each.name) == getattr(nothing, each.name)}
    assert untouched == THE_CALLER_S


def test_taking_over_leaves_the_other_alone_and_may_be_repeated() -> None:
    before, mine = asdict(SPOKEN), Completion()
    mine.take(SPOKEN)
    mine.ttft += 100.0
    assert asdict(SPOKEN) == before
    mine.take(SPOKEN)
    assert mine.ttft == SPOKEN.ttft


def test_taking_over_a_silent_request_forgets_what_was_there() -> None:
    mine = Completion(ttft=1.0, finish_reason='stop')
    mine.take(Completion())
    assert math.isnan(mine.ttft)
    assert mine.finish_reason == ''


@pytest.mark.parametrize(('finish', 'before', 'after', 'whole'), [
    ('stop', 'closed', 'closed', True),
    ('length', 'closed', 'closed', False),
    ('unsaid', 'closed', 'closed', False),
    ('', 'closed', 'closed', False),
    ('stop', 'half-open', 'closed', False),
    ('stop', 'closed', 'half-open', False),
    ('stop', 'closed', 'open', False),
    ('stop', 'half-open', 'half-open', False),
    ('stop', '', '', False),
])
def test_an_answer_is_whole_only_from_a_model_that_ended_by_itself_on_a_healthy_endpoint(
    finish: str, before: str, after: str, whole: bool
) -> None:
    assert Completion(finish_reason=finish, breaker_before=before, breaker_after=after).whole is whole


def test_an_answer_that_calls_a_tool_is_none() -> None:
    ended = {'finish_reason': 'stop', 'breaker_before': 'closed', 'breaker_after': 'closed'}
    assert not Completion(**ended, calls=(ToolCall('1', 'price', '{}'),)).whole  # type: ignore[arg-type]


def test_the_beginning_of_a_call_is_told_once() -> None:
    told: list[str] = []
    report = Completion(on_call=lambda: told.append('calls'))
    report.begin_call()
    report.begin_call()
    assert (report.calling, told) == (True, ['calls'])


def test_a_new_one_is_not_whole_and_has_no_times() -> None:
    report = Completion()
    assert not report.whole
    assert math.isnan(report.ttft)
    assert math.isnan(report.sample)


@pytest.mark.parametrize(('text', 'tokens'), [
    ('', 0),
    ('a', 1), ('abcd', 1), ('abcde', 2), ('Hello there', 3),
    ('你', 1), ('你好', 2), ('这辆车多少钱', 6),
    ('你好！', 3),            # full-width punctuation is no Han character
    ('续航 500 km', 4),       # 2 + 7 others
    ('𠀀', 1),                # a Han character beyond the basic plane
    ('こんにちは', 2), ('😀', 1), ('\n', 1),
])
def test_a_han_character_is_a_token_and_four_others_are(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_cutting_a_text_never_makes_it_cheaper() -> None:
    chance = random.Random(5)
    for _ in range(300):
        one, other = (''.join(chance.choices('ab 你好，1', k=chance.randrange(12))) for _ in range(2))
        assert max(count_tokens(one), count_tokens(other)) <= count_tokens(one + other)
        assert count_tokens(one + other) <= count_tokens(one) + count_tokens(other)


@pytest.mark.parametrize(('messages', 'tokens'), [
    ([], 0),
    ([{'role': 'user', 'content': ''}], 4),
    ([{'role': 'user', 'content': 'Hello'}], 6),
    ([{'role': 'user', 'content': '你好'}], 6),
    ([{'role': 'system', 'content': '请用中文回答'}, {'role': 'user', 'content': 'How far?'}], 16),
])
def test_a_prompt_costs_its_texts_and_four_tokens_a_message(messages: list[Message], tokens: int) -> None:
    assert estimated_tokens(messages) == tokens
