"""Messages made of the core's vocabulary."""
from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pace_msgs import msg
from pace_ros.ros.conversions import FROM_RECORD, stamp_of, turn_message
from pace_ros.turn import Arm, Outcome, Path, TurnRecord

RECORD = TurnRecord(
    't1', 'anna', utterance_id='u1', path=Path.L2, outcome=Outcome.ANSWERED, ptfr=3.5, completion=4.25, ttft=3.25,
    ttfet=3.5, ttfet_preamble=0.875, tool_rounds=2, filler_shown=True, filler_elapsed=0.75, gate='static',
    arm=Arm(label='PACE-full'), answer='Let me see. Twelve thousand.', refused=('L0 x: number',),
)


def test_a_turn_with_tools_says_when_preamble_and_answer_began_and_how_many_rounds_it_took() -> None:
    message = turn_message(RECORD, stamp_of(12.5))
    assert (message.ttfet, message.ttfet_preamble, message.tool_rounds) == (3.5, 0.875, 2)
    assert (message.ptfr, message.ttft, message.perceived_latency, message.completion) == (3.5, 3.25, 0.75, 4.25)
    assert (message.path, message.outcome, message.gate) == (3, msg.Turn.OUTCOME_ANSWERED, 2)
    assert (message.arm, message.answer, list(message.refused)) == (
        'PACE-full', 'Let me see. Twelve thousand.', ['L0 x: number'])
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 500_000_000)


def test_a_turn_without_tools_has_no_preamble_and_no_rounds() -> None:
    message = turn_message(replace(RECORD, ttfet_preamble=math.nan, tool_rounds=0), stamp_of(0.0))
    assert math.isnan(message.ttfet_preamble)
    assert message.tool_rounds == 0
    nothing = turn_message(TurnRecord('t1', 'anna'), stamp_of(0.0))
    assert math.isnan(nothing.ttfet)
    assert (nothing.gate, nothing.path) == (msg.ControllerState.GATE_UNKNOWN, 0)


@pytest.mark.parametrize('name', FROM_RECORD)
def test_every_field_taken_as_it_stands_is_that_of_the_record(name: str) -> None:
    mine, theirs = getattr(RECORD, name), getattr(turn_message(RECORD, stamp_of(0.0)), name)
    assert mine == theirs or (math.isnan(mine) and math.isnan(theirs))


def test_every_field_of_a_turn_is_filled() -> None:
    made = {*FROM_RECORD, 'header', 'path', 'outcome', 'arm', 'gate', 'refused'}
    assert made == set(msg.Turn.get_fields_and_field_types())
