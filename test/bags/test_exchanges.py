"""Which turn an utterance led to."""
from __future__ import annotations

from pace_ros.bags.exchanges import End, Input, exchanges, identified


def said(number: int, time: float, conversation: str = 'a', utterance_id: str = '') -> Input:
    return Input(number, time, conversation, utterance_id, final=True)


def test_by_id_and_by_order_where_the_node_gave_the_id() -> None:
    inputs = [said(0, 1.0), said(1, 2.0, utterance_id='known'), said(2, 3.0, 'b'), said(3, 4.0)]
    ends = [End(1.5, 'a', '9c81'), End(3.5, 'b', '77aa'), End(3.6, 'a', 'known'), End(5.0, 'a', '1234')]
    assert [(each.said.number, each.end) for each in exchanges(inputs, ends)] == [(0, 0), (1, 2), (2, 1), (3, 3)]


def test_a_turn_that_was_not_recorded() -> None:
    inputs = [said(0, 1.0, utterance_id='x'), said(1, 2.0), said(2, 9.0)]
    found = exchanges(inputs, [End(3.0, 'a', '55')])
    assert [each.ended for each in found] == [None, 3.0, None]


def test_an_id_used_twice_goes_in_order() -> None:
    inputs = [said(0, 1.0, utterance_id='x'), said(1, 5.0, utterance_id='x')]
    assert [each.ended for each in exchanges(inputs, [End(2.0, 'a', 'x'), End(6.0, 'a', 'x')])] == [2.0, 6.0]


def test_an_empty_conversation_is_the_default_one() -> None:
    [found] = exchanges([said(0, 1.0, '')], [End(2.0, 'default', 'abc')])
    assert found.ended == 2.0


def test_partial_hypotheses_make_no_turn_and_get_no_id() -> None:
    partial = Input(0, 1.0, 'a', '')
    assert exchanges([partial], [End(2.0, 'a', 'x')]) == []
    assert [each.utterance_id for each in identified([partial, said(1, 2.0), said(2, 3.0, utterance_id='y')])] == [
        '', 'replay-1', 'y']


def test_the_outcome_tells_what_came_first_where_the_recorder_heard_it_the_other_way_round() -> None:
    inputs = [said(0, 1.0, utterance_id='x'), said(1, 2.001, utterance_id='y'), said(2, 9.0, utterance_id='z')]
    cut, answered = End(2.0, 'a', 'x', preempted=True), End(9.002, 'a', 'y', preempted=False)
    found = exchanges(inputs, [cut, answered])
    assert found[0].ended is not None
    assert found[0].ended > 2.001
    assert found[1].ended == 9.0
    alone = exchanges(inputs, [End(5.0, 'a', 'x', preempted=True)])  # nobody spoke near that
    assert alone[0].ended == 5.0


def test_voice_activity_that_preempted_a_turn_came_before_its_end() -> None:
    inputs = [said(0, 1.0, utterance_id='x'), Input(1, 2.001), said(2, 5.0, utterance_id='y')]
    [first, _] = exchanges(inputs, [End(2.0, 'a', 'x', preempted=True)])
    assert first.ended is not None
    assert first.ended > 2.001
