"""Laws of a replay, checked against robots of any speed."""
from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.bags.exchanges import End, Exchange, Input, exchanges
from pace_ros.bags.replay_plan import planned, since_speech, spaced
from pace_ros.bags.replay_schedule import Schedule


@dataclass
class Robot:
    """Pre-empts per conversation, as the node does; a turn takes what ``lasting`` says of its utterance."""

    lasting: dict[int, float]
    sent: dict[int, float] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    preempted: set[int] = field(default_factory=set)
    running: dict[str, int] = field(default_factory=dict)
    ends: list[tuple[float, int]] = field(default_factory=list)

    def hear(self, said: Input, now: float) -> list[int]:
        """The turns that end at once."""
        self.sent[said.number] = now
        if not said.final:
            return []
        assert said.conversation is not None
        before = self.running.pop(said.conversation, None)
        self.running[said.conversation] = said.number
        heapq.heappush(self.ends, (now + self.lasting[said.number], said.number))
        if before is None or before in self.ended:
            return []
        self.preempted.add(before)
        self.ended[before] = now
        return [before]


def run(inputs: list[Input], order: list[Exchange], rate: float, robot: Robot, patience: float = 1e6) -> Schedule:
    """Play a plan to a robot in virtual time."""
    schedule = Schedule(planned(inputs, order, rate), start=0.0, patience=patience)
    by_number = {each.number: each for each in inputs}

    def end(number: int, now: float) -> None:
        said = by_number[number]
        assert schedule.ended(said.conversation or '', said.utterance_id, f't{number}', now)

    for _ in range(10_000):
        due = schedule.next_time()
        ends = robot.ends[0][0] if robot.ends else None
        if due is None and ends is None:
            return schedule
        if ends is not None and (due is None or ends <= due):
            now, number = heapq.heappop(robot.ends)
            if number not in robot.ended:
                robot.ended[number] = now
                end(number, now)
            continue
        assert due is not None
        for step in schedule.due(due):
            for number in robot.hear(step.said, due):
                end(number, due)
    raise AssertionError('the replay does not end')


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[Input], list[Exchange]]:
    """What a robot of some speed made of visitors who speak whenever they like."""
    count = draw(st.integers(1, 8))
    times = sorted(draw(st.lists(st.integers(0, 4000), min_size=count, max_size=count, unique=True)))
    inputs = [
        Input(number, time / 100, draw(st.sampled_from(['a', 'b'])), f'u{number}', final=draw(st.integers(0, 4)) > 0)
        if draw(st.integers(0, 4)) else Input(number, time / 100)
        for number, time in enumerate(times)
    ]
    robot = Robot({each.number: draw(st.integers(1, 1500)) / 100 + 1e-3 for each in inputs})
    for each in inputs:
        while robot.ends and robot.ends[0][0] <= each.time:
            now, number = heapq.heappop(robot.ends)
            robot.ended.setdefault(number, now)
        robot.hear(each, each.time)
    while robot.ends:
        now, number = heapq.heappop(robot.ends)
        robot.ended.setdefault(number, now)
    ends = sorted((End(time, inputs[n].conversation or '', inputs[n].utterance_id) for n, time in robot.ended.items()),
                  key=lambda each: each.time)
    return inputs, exchanges(inputs, ends)


@settings(max_examples=300, deadline=None)
@given(recordings(), st.sampled_from([0.5, 1.0, 4.0, math.inf]), st.data())
def test_no_interruption_is_invented_none_lost_and_order_kept(
    recording: tuple[list[Input], list[Exchange]], rate: float, data: st.DataObject
) -> None:
    inputs, order = recording
    robot = Robot({each.number: data.draw(st.integers(1, 3000)) / 100 + 1e-3 for each in inputs})
    schedule = run(inputs, order, rate, robot)
    assert schedule.overdue == []
    assert set(robot.sent) == {each.number for each in inputs}
    for one in order:
        lane = [each for each in inputs if each.conversation == one.said.conversation and each.number > one.said.number]
        for later in lane:
            assert robot.sent[later.number] >= robot.sent[one.said.number]
        assert one.ended is not None
        interrupting = [each for each in lane if each.time < one.ended]
        for later in interrupting:  # keeps its distance
            assert robot.sent[later.number] - robot.sent[one.said.number] == pytest.approx(later.time - one.said.time)
        for later in inputs:
            if later.time >= one.ended and later.conversation in (one.said.conversation, None):  # had ended then
                runs = [other for other in order if other.said.conversation != one.said.conversation
                        and other.said.time < later.time < (other.ended or 0.0)]
                if later.conversation is not None or not runs:
                    assert robot.sent[later.number] >= robot.ended[one.said.number] - 1e-9
    finals_interrupting = {
        one.said.number for one in order for later in order
        if later.said.conversation == one.said.conversation and one.said.time < later.said.time < (one.ended or 0.0)
    }
    assert robot.preempted <= finals_interrupting


@settings(max_examples=100, deadline=None)
@given(recordings())
def test_a_robot_as_fast_as_then_hears_everything_when_it_heard_it_then(
    recording: tuple[list[Input], list[Exchange]]
) -> None:
    inputs, order = recording
    robot = Robot({each.said.number: (each.ended or 0.0) - each.said.time for each in order})
    run(inputs, order, 1.0, robot)
    for each in inputs:
        assert robot.sent[each.number] == pytest.approx(each.time - inputs[0].time)


def test_the_rate_divides_pauses_and_leaves_interruptions() -> None:
    inputs = [Input(0, 10.0, 'a', 'u0', final=True), Input(1, 11.0, 'a', 'u1', final=True),
              Input(2, 20.0, 'a', 'u2', final=True)]
    order = exchanges(inputs, [End(11.01, 'a', 'u0'), End(13.0, 'a', 'u1'), End(21.0, 'a', 'u2')])
    steps = planned(inputs, order, 4.0)
    assert [step.gap for step in steps] == [0.0, 1.0, 9.0 / 4]
    assert [step.waits for step in steps] == [(), (), (0, 1)]


def test_without_turns_only_the_rate_counts() -> None:
    inputs = [Input(number, time, lane, '', final=True)
              for number, time, lane in ((0, 0.0, 'a'), (1, 2.0, 'a'), (2, 3.0, 'b'))]
    steps = planned(inputs, exchanges(inputs, []), 2.0)
    assert [(step.lane, step.gap, step.waits) for step in steps] == [('a', 0.0, ()), ('a', 1.0, ()), ('b', 1.5, ())]


def test_voice_activity_goes_with_the_turn_it_came_into_or_the_words_that_follow() -> None:
    inputs = [Input(0, 0.0), Input(1, 1.0, 'a', 'u1', final=True), Input(2, 1.5), Input(3, 5.0),
              Input(4, 6.0, 'b', 'u4', final=True), Input(5, 20.0)]
    order = exchanges(inputs, [End(2.0, 'a', 'u1'), End(7.0, 'b', 'u4')])
    assert [step.lane for step in planned(inputs, order, 1.0)] == ['a', 'a', 'a', 'b', 'b', 'b']


def test_a_turn_that_never_ends_is_given_up() -> None:
    inputs = [Input(0, 0.0, 'a', 'u0', final=True), Input(1, 5.0, 'a', 'u1', final=True)]
    schedule = Schedule(planned(inputs, exchanges(inputs, [End(1.0, 'a', 'u0')]), math.inf), start=100.0, patience=7.0)
    assert [step.said.number for step in schedule.due(100.0)] == [0]
    assert schedule.due(106.9) == []
    assert schedule.next_time() == 107.0
    assert [step.said.number for step in schedule.due(107.0)] == [1]
    assert schedule.overdue == [0]
    assert schedule.unanswered(113.9) == [1]
    assert schedule.unanswered(114.1) == []
    assert schedule.missing == [0, 1]


def test_a_turn_of_somebody_else_is_not_taken_for_ours() -> None:
    inputs = [Input(0, 0.0, '', 'u0', final=True)]
    schedule = Schedule(planned(inputs, [], 1.0), start=0.0)
    schedule.due(0.0)
    assert not schedule.ended('anna', 'u0', 't', 1.0)
    assert schedule.ended('default', 'u0', 't', 1.0)
    assert schedule.turns == {0: 't'}
    assert not schedule.ended('default', 'u0', 't2', 1.0)


def test_everything_is_only_spaced() -> None:
    assert [step.gap for step in spaced([Input(0, 3.0), Input(1, 4.0), Input(2, 4.0)], 0.5)] == [0.0, 2.0, 0.0]
    assert [step.gap for step in spaced([Input(0, 3.0), Input(1, 4.0)], math.inf)] == [0.0, 0.0]


@pytest.mark.parametrize('rate', [0.0, -1.0, math.nan])
def test_a_rate_is_above_zero(rate: float) -> None:
    with pytest.raises(ValueError, match='above 0'):
        planned([], [], rate)


def test_the_end_of_speech_is_known_only_from_a_stamp_of_the_same_clock() -> None:
    assert since_speech(100.5, 100.0) == 0.5
    assert math.isnan(since_speech(100.5, 0.0))
    assert math.isnan(since_speech(1.8e9, 12.0))
