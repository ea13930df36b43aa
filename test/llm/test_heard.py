"""What of a stream may be said, and what it calls."""
from __future__ import annotations

from pace_ros.llm.delta import Delta
from pace_ros.llm.heard import Heard
from pace_ros.llm.tools.call import CallDelta

LEAKED = '<tool_call>{"name": "price", "arguments": {"model": "Lark"}}</tool_call>'
SENT = Delta(calls=(CallDelta(0, 'c1', 'price', '{"model": "Lark"}'),))


def said(heard: Heard, *deltas: Delta | str) -> str:
    pieces = [heard.feed(Delta(text=each) if isinstance(each, str) else each) for each in deltas]
    return ''.join(pieces) + heard.flush()


def test_a_call_that_was_sent_and_leaked_is_one_call() -> None:
    for deltas in ((LEAKED, SENT), (SENT, LEAKED)):
        heard = Heard(('price',))
        assert said(heard, *deltas) == ''
        assert [(call.name, call.call_id, call.leaked) for call in heard.calls] == [('price', 'c1', False)]


def test_after_a_call_nothing_is_said() -> None:
    for call in (LEAKED, SENT):
        heard = Heard(('price',))
        assert said(heard, 'Let me', ' see. ', call, ' The Lark', ' costs 99.') == 'Let me see. '
        assert len(heard.calls) == 1


def test_what_comes_with_the_call_or_was_held_before_it_is_said() -> None:
    together = Delta(text='One moment. ', calls=SENT.calls)
    assert said(Heard(('price',)), together, 'It costs 99.') == 'One moment. '
    assert said(Heard(('price',)), 'Let me look up the price', SENT) == 'Let me look up the price'


def test_a_delta_that_names_no_call_mutes_nothing() -> None:
    heard = Heard(('price',))
    assert said(heard, Delta(calls=(CallDelta(0),)), 'Hello.') == 'Hello.'
    assert heard.calls == ()


def test_a_call_is_known_while_the_stream_runs() -> None:
    heard = Heard(('price',))
    heard.feed(Delta(text='Let me see. <tool_'))
    assert not heard.calls
    heard.feed(Delta(text='call>{"name'))
    assert heard.calls


def test_blanks_and_reasoning_before_the_answer_are_not_said() -> None:
    assert said(Heard(), '<think>hm', '</think>', ' \n', '</tool_call>', '\n It costs', ' 12.') == 'It costs 12.'
