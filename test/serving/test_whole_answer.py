from __future__ import annotations

from typing import Any

from pace_ros.serving.whole_answer import whole_answer


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {'id': 'c1', 'object': 'chat.completion.chunk', 'created': 5, 'model': 'm',
            'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}], **more}


USAGE = {'prompt_tokens': 3, 'completion_tokens': 2}


def test_words_are_put_together() -> None:
    whole = whole_answer([
        chunk({'role': 'assistant', 'content': None}), chunk({'content': 'Good '}), chunk({'content': 'day'}),
        chunk({}, 'stop'), {'choices': [], 'usage': USAGE},
    ])
    assert whole == {
        'id': 'c1', 'object': 'chat.completion', 'created': 5, 'model': 'm', 'usage': USAGE,
        'choices': [{'index': 0, 'message': {'role': 'assistant', 'content': 'Good day'}, 'finish_reason': 'stop'}],
    }


def test_nothing_said_is_an_empty_string() -> None:
    assert whole_answer([chunk({}, 'stop')])['choices'][0]['message']['content'] == ''


def test_calls_are_put_together_by_their_index() -> None:
    whole = whole_answer([
        chunk({'tool_calls': [{'index': 1, 'id': 'b', 'type': 'function', 'function': {'name': 'stock'}}]}),
        chunk({'tool_calls': [{'index': 0, 'id': 'a', 'type': 'function', 'function': {'name': 'pri'}}]}),
        chunk({'tool_calls': [{'index': 0, 'function': {'name': 'ce', 'arguments': '{"of": '}}]}),
        chunk({'tool_calls': [{'index': 0, 'function': {'arguments': '"ioniq"}'}}]}),
        chunk({}, 'tool_calls'),
    ])
    message = whole['choices'][0]['message']
    assert message == {'role': 'assistant', 'content': None, 'tool_calls': [
        {'id': 'a', 'type': 'function', 'function': {'name': 'price', 'arguments': '{"of": "ioniq"}'}},
        {'id': 'b', 'type': 'function', 'function': {'name': 'stock', 'arguments': ''}},
    ]}
    assert whole['choices'][0]['finish_reason'] == 'tool_calls'


def test_words_before_a_call_stay() -> None:
    whole = whole_answer([chunk({'content': 'One moment.'}), chunk({'tool_calls': [{'index': 0, 'id': 'a'}]})])
    assert whole['choices'][0]['message']['content'] == 'One moment.'


def test_log_probabilities_are_in_their_order() -> None:
    one, other = {'token': 'One', 'logprob': -0.5}, {'token': ' two', 'logprob': -1.5}
    chunks = [chunk({'content': each['token']}) for each in (one, other)]
    for made, told in zip(chunks, (one, other), strict=True):
        made['choices'][0]['logprobs'] = {'content': [told]}
    whole = whole_answer([*chunks, chunk({}, 'stop')])
    assert whole['choices'][0]['logprobs'] == {'content': [one, other]}
    assert 'logprobs' not in whole_answer([chunk({'content': 'One'}), chunk({}, 'stop')])['choices'][0]


def test_reasoning_is_apart() -> None:
    message = whole_answer([chunk({'reasoning_content': 'hm'}), chunk({'content': 'Yes'})])['choices'][0]['message']
    assert message == {'role': 'assistant', 'content': 'Yes', 'reasoning_content': 'hm'}
