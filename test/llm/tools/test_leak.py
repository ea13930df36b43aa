"""What is heard of an answer does not depend on how it is cut, and tool markup is never heard."""
from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.llm.tools.leak import LeakFilter
from pace_ros.llm.tools.markup import MARKUPS

NAMES = ('price', 'search_knowledge')
CALL = '{"name": "price", "arguments": {"model": "Lark"}}'
# The markup of one call as model families write it, each with the same call.
LEAKED = {
    'hermes': f'<tool_call>\n{CALL}\n</tool_call>',
    'hermes, cut': f'<tool_call>{CALL}',
    'qwen coder': '<tool_call>\n<function=price>\n<parameter=model>\nLark\n</parameter>\n</function>\n</tool_call>',
    'glm': '<tool_call>price\n<arg_key>model</arg_key>\n<arg_value>Lark</arg_value>\n</tool_call>',
    'llama function': '<function=price>{"model": "Lark"}</function>',
    'llama python tag': '<|python_tag|>{"name": "price", "parameters": {"model": "Lark"}}<|eom_id|>',
    'llama built-in': '<|python_tag|>price.call(model="Lark")',
    'pythonic': '[price(model="Lark")]',
    'mistral': f'[TOOL_CALLS] [{CALL}]',
    'mistral, new': '[TOOL_CALLS]price[ARGS]{"model": "Lark"}',
    'gemma': '```tool_code\nprint(price(model="Lark"))\n```',
    'fenced': f'```json\n{CALL}\n```',
    'bare': CALL,
    'bare list': f'[{CALL}]',
    'openai': '{"tool_calls": [{"type": "function", "function": {"name": "price", '
              '"arguments": "{\\"model\\": \\"Lark\\"}"}}]}',
    'kimi': '<|tool_calls_section_begin|><|tool_call_begin|>functions.price:0<|tool_call_argument_begin|>'
            '{"model": "Lark"}<|tool_call_end|><|tool_calls_section_end|>',
    'deepseek': '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>price\n'
                '```json\n{"model": "Lark"}\n```'
                '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    'harmony': '<|channel|>commentary to=functions.price <|constrain|>json<|message|>{"model": "Lark"}<|call|>',
    'anthropic': '<function_calls><invoke name="price"><parameter name="model">Lark</parameter></invoke>'
                 '</function_calls>',
}
ORDINARY = [
    'It is 3 < 5, and a < b.', 'A set {1, 2, 3} and {} and { }.', 'See [1], [price] and [a].',
    'Use `ls` or ```sh\nls\n```.',
    'the price(s) of {"colour": "red"}', '{"name": "Lark"}', '{"type": "range", "value": 3} km', '<b>bold</b> and <3',
    'a <| b |> c', 'x << y',
    '价格是<五万>元{约}', 'if f(x) < {y} then [z]',
    'ends with <', 'ends with {', 'ends with [', '`',
]


def heard(text: str, cuts: list[int] | None = None, names: tuple[str, ...] = NAMES) -> tuple[str, LeakFilter]:
    leak = LeakFilter(names)
    places = sorted({min(cut, len(text)) for cut in cuts or []} | {0, len(text)})
    said = ''.join(leak.feed(text[begin:end]) for begin, end in pairwise(places))
    return said + leak.flush(), leak


def each_alone(text: str) -> list[int]:
    return list(range(len(text)))


@pytest.mark.parametrize('markup', LEAKED.values(), ids=LEAKED)
@pytest.mark.parametrize('whole', [True, False], ids=['whole', 'by character'])
def test_a_leaked_call_is_not_heard_but_understood(markup: str, whole: bool) -> None:
    text = f'Let me see. {markup}'
    said, leak = heard(text, None if whole else each_alone(text))
    assert said == 'Let me see. '
    assert [(call.name, json.loads(call.arguments), call.leaked) for call in leak.calls] == [
        ('price', {'model': 'Lark'}, True)
    ]


@pytest.mark.parametrize('markup', [
    markup for name, markup in LEAKED.items()
    if name not in ('hermes, cut', 'llama built-in', 'mistral', 'mistral, new')
])
def test_what_follows_the_markup_is_heard(markup: str) -> None:
    assert heard(f'One.{markup} Two.')[0] == 'One. Two.'


@pytest.mark.parametrize('text', ORDINARY)
def test_ordinary_text_is_unharmed(text: str) -> None:
    for cuts in (None, each_alone(text)):
        said, leak = heard(text, cuts)
        assert (said, leak.calls) == (text, [])


@pytest.mark.parametrize('text', ['<tool_call>{"name": "pri', '{"name": "price", "argum', '<|python', '<tool_ca',
                                  '[TOOL_CALLS][{"name"', '```tool_code\nprint(', '<function=price>{"mod'])
def test_markup_cut_by_the_end_is_not_heard(text: str) -> None:
    assert heard(f'Well. {text}')[0] == heard(f'Well. {text}', each_alone(f'Well. {text}'))[0] == 'Well. '


def test_broken_markup_becomes_a_call_that_can_be_complained_of() -> None:
    said, leak = heard('<tool_call>{"name": price}</tool_call>')
    assert said == ''
    assert [call.name for call in leak.calls] == ['']


def test_what_a_model_makes_up_as_a_result_is_no_call() -> None:
    assert heard('<tool_response>{"price": 5}</tool_response>Fine.')[0] == 'Fine.'
    assert heard('<tool_response>{"price": 5}</tool_response>Fine.')[1].calls == []


def test_several_calls_in_a_row() -> None:
    _, leak = heard(f'<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>')
    assert [call.name for call in leak.calls] == ['price', 'price']


def test_an_endless_object_is_left_out_however_it_comes() -> None:
    text = 'A {"name": "' + 'x' * 9000 + '"} B'
    assert heard(text)[0] == heard(text, list(range(0, len(text), 700)))[0] == 'A '


PIECES = st.one_of(
    st.sampled_from([*LEAKED.values(), *ORDINARY, *(each.opener for each in MARKUPS)]),
    st.sampled_from(['<', '<|', '{', '{"', '{"name"', '"', '}', '[', '`', '```', '```json', '|>', ' ', '\n', 'tool',
                     'f', '</tool_call>', '"arguments": {', 'İ', '\\']),
    st.text(max_size=6),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(PIECES, max_size=8).map(''.join), st.data())
def test_any_cut_gives_the_same(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, max(1, len(text))), max_size=20))
    whole, by_cuts, by_character = heard(text), heard(text, cuts), heard(text, each_alone(text))
    assert whole[0] == by_cuts[0] == by_character[0]
    assert whole[1].calls == by_cuts[1].calls == by_character[1].calls


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_characters='<[{`', blacklist_categories=['Cs']), max_size=60))
def test_text_without_brackets_is_never_held(text: str) -> None:
    assert LeakFilter(NAMES).feed(text) == text


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(LEAKED.values())), st.lists(st.integers(0, 200), max_size=30))
def test_nothing_of_the_markup_is_heard_before_its_end_either(markup: str, cuts: list[int]) -> None:
    leak, places = LeakFilter(NAMES), sorted({min(cut, len(markup)) for cut in cuts} | {0, len(markup)})
    for begin, end in pairwise(places):
        assert leak.feed(markup[begin:end]) == ''
    assert leak.flush() == ''
