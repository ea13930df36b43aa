"""What is heard of an answer does not depend on how it is cut, and tool markup is never heard."""
from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaked_formats import CALL, LEAKED, MADE_UP, ORDINARY

from pace_ros.llm.tools.assembler import MOST_CALLS
from pace_ros.llm.tools.leak import LeakFilter

NAMES = ('price', 'search_knowledge')
PREAMBLES = ['', 'One.', 'Let me see. ', 'Let me see.\n', '我看一下。', 'A "quote", 3 < 5 and (so on): ']
BY_NAME = (
    'pythonic, alone', 'mistral, bare', 'kimi, bare', 'name and colon', 'apertus, bare', 'react', 'code span',
    'tag of a tool', 'tag of a tool, attribute', 'tag of a tool, tags', 'tool and params', 'tool and kwargs',
    'tool and flat arguments', 'action and flat arguments',
)


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


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PREAMBLES), st.sampled_from(sorted(LEAKED.values())), st.sampled_from(['', ' It costs 12.']),
       st.lists(st.integers(0, 250), max_size=30))
def test_nothing_of_a_call_is_heard_and_all_before_it_however_it_is_cut(
    before: str, markup: str, after: str, cuts: list[int]
) -> None:
    said, leak = heard(before + markup + after, cuts)
    assert said == before
    assert leak.calls


@pytest.mark.parametrize('markup', [
    markup for name, markup in LEAKED.items() if name not in BY_NAME and not markup[0].isalpha()
])
def test_without_tools_nothing_of_it_is_heard_either_unless_it_begins_with_a_word(markup: str) -> None:
    assert heard(f'One. {markup}', names=())[0] == heard(f'One. {markup}', each_alone(markup), names=())[0] == 'One. '


@pytest.mark.parametrize('word', ['a', 'to', 'Action', 'function', 'commentary', 'print'])
def test_without_tools_no_word_is_held_back(word: str) -> None:
    assert LeakFilter(()).feed(word) == word


@pytest.mark.parametrize('markup', ['[get_price(model="Lark")]', '```py\nget_price(model="Lark")\n```'])
def test_a_call_of_a_tool_that_is_not_there_is_not_heard(markup: str) -> None:
    for names in (NAMES, ()):
        assert heard(f'One. {markup}', names=names)[0] == 'One. '


@pytest.mark.parametrize('markup', LEAKED.values(), ids=LEAKED)
def test_what_the_model_says_after_its_call_is_not_heard(markup: str) -> None:
    assert heard(f'One. {markup} The Lark costs 99,000 euros.')[0] == 'One. '


@pytest.mark.parametrize('markup', MADE_UP.values(), ids=MADE_UP)
@pytest.mark.parametrize('whole', [True, False], ids=['whole', 'by character'])
def test_what_a_model_makes_up_as_a_result_is_no_call(markup: str, whole: bool) -> None:
    text = f'One. {markup}Fine.'
    said, leak = heard(text, None if whole else each_alone(text))
    assert (said, leak.calls) == ('One. Fine.', [])


def test_a_call_made_on_a_made_up_result_is_not_taken() -> None:
    _, leak = heard(f'<tool_call>{CALL}</tool_call><tool_response>12</tool_response>'
                    '<tool_call>{"name": "search_knowledge", "arguments": {"query": "12"}}</tool_call>')
    assert [call.name for call in leak.calls] == ['price']


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=3).map('.\n'.join), st.lists(st.integers(0, 200)))
def test_ordinary_text_is_unharmed_however_it_is_cut(text: str, cuts: list[int]) -> None:
    for names in (NAMES, ()):
        said, leak = heard(text, cuts, names)
        assert (said, leak.calls) == (text, [])


@pytest.mark.parametrize('text', ORDINARY)
def test_ordinary_text_is_unharmed(text: str) -> None:
    for cuts in (None, each_alone(text)):
        assert heard(text, cuts)[0] == heard(text, cuts, ())[0] == text


@pytest.mark.parametrize('text', ['<tool_call>{"name": "pri', '{"name": "price", "argum', '<|python', '<tool_ca',
                                  '[TOOL_CALLS][{"name"', '[TOOL_', '```tool_code\nprint(', '<function=price>{"mod',
                                  '<function', 'price(mod', 'to=functions.pr', '{"name": "price", "arguments": {"'])
def test_markup_cut_by_the_end_is_not_heard(text: str) -> None:
    assert heard(f'Well. {text}')[0] == heard(f'Well. {text}', each_alone(f'Well. {text}'))[0] == 'Well. '


@pytest.mark.parametrize('text', ['<tool_call>{"name": price}</tool_call>', '{"name": "price", "arguments": {model}}'])
def test_broken_markup_becomes_a_call_that_can_be_complained_of(text: str) -> None:
    said, leak = heard(text)
    assert (said, [(call.name, call.arguments) for call in leak.calls]) == ('', [('', text)])


def test_several_calls_in_a_row_but_not_any_number() -> None:
    _, leak = heard(f'<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>')
    assert [call.name for call in leak.calls] == ['price', 'price']
    assert [call.name for call in heard(f'{CALL}\n{CALL}')[1].calls] == ['price', 'price']
    assert len(heard(f'<tool_call>{CALL}</tool_call>' * 100)[1].calls) == MOST_CALLS


def test_a_lone_surrogate_in_a_call_can_be_sent() -> None:
    _, leak = heard('<tool_call>{"name": "price\\ud83d", "arguments": {"model": "Lark\\ud83d"}}</tool_call>')
    assert [(call.name, call.arguments) for call in leak.calls] == [('price\ufffd', '{"model": "Lark\ufffd"}')]


def test_an_endless_object_is_left_out_however_it_comes() -> None:
    text = 'A {"name": "price", "arguments": {"model": "' + 'x' * 9000 + '"}} B'
    assert heard(text)[0] == heard(text, list(range(0, len(text), 700)))[0] == 'A '


PIECES = st.one_of(
    st.sampled_from([*LEAKED.values(), *MADE_UP.values(), *ORDINARY]),
    st.sampled_from(['<', '<|', '{', '{"', '{"name"', '"', '}', '[', '`', '```', '```json', '|>', ' ', '\n', 'tool',
                     'f', '</tool_call>', '"arguments": {', 'İ', '\\', '&lt;', 'price', '(', 'to=', '<|start|>',
                     '<tool_response>', 'Action:', "'", '<|message|>', ')', 'model=', ':', '_', '<|channel|>']),
    st.text(max_size=6),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(PIECES, max_size=8).map(''.join), st.data())
def test_any_cut_gives_the_same(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, max(1, len(text))), max_size=20))
    whole, by_cuts, by_character = heard(text), heard(text, cuts), heard(text, each_alone(text))
    assert whole[0] == by_cuts[0] == by_character[0]
    assert whole[1].calls == by_cuts[1].calls == by_character[1].calls


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_characters='<[{`&✿', blacklist_categories=['Cs']), max_size=60))
def test_text_without_brackets_is_held_for_a_word_at_most(text: str) -> None:
    leak = LeakFilter(NAMES)
    said = leak.feed(text)
    assert text.startswith(said)
    assert len(text) - len(said) < 50
    assert said + leak.feed('. .') == f'{text}. .'


@pytest.mark.parametrize('text', [
    '<tool_call>' + '[' * 7900, '<tool_call>' + '{"a":' * 1500, '{"name":' * 1000, '{' * 20_000, '`' * 20_000,
    '<' * 20_000, '{"name":' + '[' * 7000, '<tool_call>' + '<parameter=a>' * 600, '[TOOL_CALLS]' + 'f(' * 3900,
    '<tool_call>' + '<arg_key>' * 800, 'price ' * 4000, '<|start|>' * 2000, '<tool_response>' + '<' * 20_000,
], ids=lambda text: text[:24])
def test_no_text_holds_the_event_loop_up(text: str) -> None:
    leak, begin = LeakFilter(NAMES), time.process_time()
    leak.feed(text)
    leak.flush()
    assert len(leak.calls) <= MOST_CALLS
    assert time.process_time() - begin < 5.0  # s
