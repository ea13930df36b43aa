"""The observer as a whole, on a made-up clock: what it is told, and what it makes of it."""
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observing.motions import trapezoid

from pace_ros import packaged
from pace_ros.embodiment.gestures import GestureBook
from pace_ros.embodiment.level import Marker
from pace_ros.observing import Observation, Observer, ObserverSettings
from pace_ros.turn import Content, Modality, Onset, Outcome, Source

BOOK = GestureBook.read(packaged.config_dir() / 'gestures.yaml')
ACK, FILLER, ANSWER = Content.ACKNOWLEDGEMENT, Content.FILLER, Content.ANSWER
LOOK = trapezoid(0.4, 30.0, 1.8)  # perceptible 1.7 ms after its start, over after 0.28 s


class Room:
    """A robot whose joints are told to move, and an observer that looks on."""

    def __init__(self) -> None:
        self.observer = Observer(ObserverSettings(), BOOK)
        self.told: list[Observation] = []
        self.events: list[tuple[float, str, tuple[object, ...]]] = []
        self.moves: list[tuple[float, str, float]] = []

    def command(self, at: float, modality: Modality, content: Content, turn: str = 't1', *, receipt: float = 2.0,
                detail: str = '', audible: float = math.nan, conversation: str = 'c') -> None:
        onset = Onset(turn, conversation, modality, content, at - receipt, detail=detail, audible=audible)
        self.events.append((at, 'onset', (onset, at)))

    def move(self, at: float, joint: str, sign: float = 1.0) -> None:
        self.moves.append((at, joint, sign))

    def turn_ends(self, at: float, outcome: Outcome, turn: str = 't1') -> None:
        self.events.append((at, 'turn', (turn, outcome, at)))

    def run(self, end: float, names: tuple[str, ...] = ('head_yaw', 'head_pitch', 'right_elbow')) -> list[Observation]:
        rng = np.random.default_rng(3)
        times = np.arange(0.0, end, 0.01)
        places = {name: sum((sign * LOOK(times - at) for at, joint, sign in self.moves if joint == name),
                            rng.normal(0.0, 0.0005, len(times))) for name in names}
        self.events.sort(key=lambda each: each[0])
        waiting = list(self.events)
        for index, time in enumerate(times):
            while waiting and waiting[0][0] <= time:
                self._tell(*waiting.pop(0))
            if names:
                self.told += self.observer.hear_joints(
                    float(time), list(names), [float(places[name][index]) for name in names]
                )
            if index % 25 == 0:
                self.told += self.observer.tick(float(time), steady=float(time))
        return self.told

    def _tell(self, at: float, what: str, arguments: tuple[object, ...]) -> None:
        if what == 'onset':
            self.told += self.observer.hear_onset(*arguments, steady=at)  # type: ignore[arg-type]
        elif what == 'turn':
            self.observer.hear_turn(*arguments)  # type: ignore[arg-type]
        elif what == 'speech':
            self.observer.hear_speech(*arguments)  # type: ignore[arg-type]
        else:
            self.observer.hear_gesture(*arguments)  # type: ignore[arg-type]


def only(told: list[Observation]) -> Observation:
    (observation,) = told
    return observation


def test_a_look_is_observed_with_the_turn_it_belongs_to() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, ACK)
    room.move(2.05, 'head_yaw')
    seen = only(room.run(4.0))
    assert seen.stamp == pytest.approx(2.0517, abs=0.01)
    assert seen.onset.elapsed == pytest.approx(0.0517, abs=0.01)
    assert (seen.onset.turn_id, seen.onset.conversation_id) == ('t1', 'c')
    assert (seen.onset.modality, seen.onset.content, seen.onset.source) == (Modality.GAZE, ACK, Source.OBSERVED)
    assert seen.onset.detail.startswith('head_yaw from rest')


def test_the_nod_has_the_pitch_for_itself_and_the_yaw_tells_the_gaze() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, ACK)
    room.command(2.01, Modality.GESTURE, ACK, detail='nod')
    room.move(2.05, 'head_pitch')
    room.move(2.30, 'head_pitch', -1.0)
    room.move(2.15, 'head_yaw')
    told = room.run(4.0)
    assert [each.onset.modality for each in told] == [Modality.GESTURE, Modality.GAZE]
    assert [each.stamp for each in told] == pytest.approx([2.0517, 2.1517], abs=0.01)


def test_an_arm_shows_a_pose_and_no_gaze() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, FILLER)
    room.command(2.01, Modality.GESTURE, FILLER, detail='think')
    room.move(2.1, 'right_elbow')
    pose, gaze = room.run(5.0)
    assert (pose.onset.modality, pose.onset.elapsed) == (Modality.GESTURE, pytest.approx(0.1017, abs=0.01))
    assert math.isnan(gaze.onset.elapsed)
    assert gaze.onset.detail == 'not observed: no motion within 1.5 s'
    assert gaze.stamp == 2.01


def test_a_motion_belongs_to_the_latest_command_that_could_reach_the_joints() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, ACK)  # the robot looks there already
    room.command(2.61, Modality.GAZE, FILLER)
    room.move(2.65, 'head_yaw')
    filler, ack = room.run(5.0)
    assert (filler.onset.content, ack.onset.content) == (FILLER, ACK)
    assert math.isnan(ack.onset.elapsed)


def test_a_second_joint_of_a_look_that_was_seen_shows_no_older_one() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, ACK)  # the robot looks there already
    room.command(2.61, Modality.GAZE, FILLER)
    room.move(2.65, 'head_yaw')
    room.move(2.66, 'head_pitch')
    room.move(3.20, 'head_pitch', -1.0)
    assert [math.isnan(each.onset.elapsed) for each in room.run(5.0)] == [False, True]


def test_a_joint_in_motion_must_show_a_command_soon() -> None:
    room = Room()
    room.move(1.90, 'head_yaw')
    room.command(2.01, Modality.GAZE, ACK)
    room.move(2.60, 'head_yaw', -1.0)
    assert only(room.run(5.0)).onset.detail == 'not observed: already moving: head_yaw'


def test_a_motion_before_its_command_or_at_once_has_another_cause() -> None:
    room = Room()
    room.command(2.50, Modality.GAZE, ACK)
    room.move(2.48, 'head_yaw')
    assert only(room.run(5.0)).onset.detail == 'not observed: already moving: head_yaw'


def test_a_joint_in_motion_shows_a_command_by_turning_back() -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, FILLER)
    room.move(2.04, 'head_yaw')
    room.command(2.12, Modality.GAZE, ANSWER)
    room.move(2.16, 'head_yaw', -2.0)
    first, second = room.run(5.0)
    assert (first.onset.content, second.onset.content) == (FILLER, ANSWER)
    assert second.stamp == pytest.approx(2.16, abs=0.02)
    assert 'reversed' in second.onset.detail


def test_what_moves_after_its_turn_was_stopped_is_not_its_own() -> None:
    room = Room()
    room.command(2.60, Modality.GAZE, FILLER)
    room.turn_ends(2.62, Outcome.PREEMPTED)
    room.move(2.80, 'head_yaw')
    seen = only(room.run(5.0))
    assert seen.onset.detail == 'not observed: pre-empted 0.02 s after it, before any motion'


def test_the_next_utterance_of_a_conversation_stops_the_turn_before() -> None:
    room = Room()
    room.command(2.60, Modality.GAZE, FILLER)
    room.command(2.75, Modality.GAZE, ACK, 't2', receipt=2.74)
    room.move(2.90, 'head_yaw')
    told = {each.onset.turn_id: each for each in room.run(5.0)}
    assert math.isnan(told['t1'].onset.elapsed)
    assert told['t2'].onset.elapsed == pytest.approx(0.1617, abs=0.01)


def test_young_commands_of_two_turns_are_not_told_apart() -> None:
    room = Room()
    room.command(2.60, Modality.GAZE, FILLER, conversation='c1')
    room.command(2.63, Modality.GAZE, ACK, 't2', receipt=2.62, conversation='c2')
    room.move(2.66, 'head_yaw')
    told = room.run(5.0)
    assert [math.isnan(each.onset.elapsed) for each in told] == [True, True]
    assert all('ambiguous: head_yaw moved within 0.25 s of commands of two turns' in each.onset.detail for each in told)


def test_what_moves_after_an_answered_turn_was_silenced_is_not_its_own() -> None:
    room = Room()
    room.command(2.60, Modality.GESTURE, ANSWER, detail='beat_right')
    room.turn_ends(2.61, Outcome.ANSWERED)
    room.events.append((2.65, 'speech', ('t1', 'stopped', 2.65)))
    room.move(2.80, 'right_elbow')
    assert only(room.run(5.0)).onset.detail == 'not observed: silenced 0.05 s after it, before any motion'


def test_a_turn_whose_speech_has_ended_by_itself_is_not_stopped() -> None:
    room = Room()
    room.command(2.60, Modality.GESTURE, ANSWER, detail='beat_right')
    room.events.append((2.65, 'speech', ('t1', 'spoken', 2.65)))
    room.move(2.80, 'right_elbow')
    assert only(room.run(5.0)).onset.elapsed == pytest.approx(0.8017, abs=0.01)


def test_a_finished_turn_is_not_stopped() -> None:
    room = Room()
    room.command(2.60, Modality.GAZE, ANSWER)
    room.turn_ends(2.61, Outcome.ANSWERED)
    room.move(2.80, 'head_yaw')
    assert not math.isnan(only(room.run(5.0)).onset.elapsed)


def test_the_way_back_from_a_gesture_is_not_the_next_one() -> None:
    room = Room()
    room.events.append((2.60, 'gesture', ('', 'rest', 2.60)))
    room.command(2.61, Modality.GESTURE, FILLER, 't2', detail='think')
    room.move(2.64, 'right_elbow')
    assert 'a gesture before it was broken off' in only(room.run(5.0)).onset.detail


def test_a_nod_while_the_gaze_moves_its_joint_is_not_told_apart() -> None:
    room = Room()
    room.command(2.0, Modality.GAZE, FILLER)
    room.move(2.05, 'head_pitch')
    room.command(2.15, Modality.GESTURE, ACK, 't2', receipt=2.14, detail='nod')
    room.move(2.20, 'head_pitch', -2.0)
    told = {each.onset.modality: each for each in room.run(5.0)}
    assert not math.isnan(told[Modality.GAZE].onset.elapsed)
    assert 'head_pitch was already moving, and the gaze moves it too' in told[Modality.GESTURE].onset.detail


def test_the_end_of_a_nod_is_not_the_nod_of_the_next_turn() -> None:
    room = Room()
    room.command(2.01, Modality.GESTURE, ACK, 't1', receipt=2.0, detail='nod')
    room.move(2.05, 'head_pitch')
    room.command(2.25, Modality.GESTURE, ACK, 't2', receipt=2.24, detail='nod')
    room.move(2.40, 'head_pitch', -1.0)
    first, second = room.run(5.0)
    assert first.stamp == pytest.approx(2.0517, abs=0.01)
    assert second.onset.detail == 'not observed: ambiguous: head_pitch was moved by a gesture of another turn'


@pytest.mark.parametrize(('names', 'why'), [
    ((), 'not observed: no joint_states at all'),
    (('wheel', 'right_elbow'), 'not observed: none of its joints is in joint_states'),
])
def test_without_its_joints_a_look_is_not_observed(names: tuple[str, ...], why: str) -> None:
    room = Room()
    room.command(2.01, Modality.GAZE, ACK)
    assert only(room.run(6.0, names)).onset.detail == why


def test_a_frozen_clock_holds_up_no_report() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    observer.hear_onset(Onset('t1', 'c', Modality.GAZE, ACK, 0.01), 2.0, steady=50.0)
    told = [observer.tick(2.0, steady=50.0 + 0.5 * each) for each in range(12)]
    assert [len(each) for each in told].count(1) == 1
    assert observer.close() == []


def test_time_that_goes_slowly_is_waited_for() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    observer.hear_onset(Onset('t1', 'c', Modality.GAZE, ACK, 0.01), 2.0, steady=50.0)
    assert not any(observer.tick(2.0 + 0.1 * each, steady=50.0 + each) for each in range(28))


def test_a_clock_that_is_set_back_leaves_nothing_of_the_time_before() -> None:
    """The same turns come again, as in a bag that is played once more."""
    observer, told = Observer(ObserverSettings(), BOOK), list[list[Observation]]()
    for start in (50.0, 60.0):
        given_up = observer.tick(2.0, steady=start)
        observer.hear_joints(2.0, ['head_yaw'], [0.0])
        spoken(observer, ANSWER, 2.1, 0.2)
        told.append([*given_up, *observer.hear_level(2.19, 0.005, [0.0, 0.0, 0.1, 0.1], [Marker('t1', ANSWER, 2)])])
        observer.hear_turn('t1', Outcome.CANCELLED, 2.05)
        observer.hear_onset(Onset('t2', 'c', Modality.GAZE, ACK, 0.1), 9.0, steady=start + 7.0)
        assert observer.tick(9.0, steady=start + 7.0) == []
    (first,), (lost, second) = told
    assert (lost.onset.turn_id, lost.onset.detail) == ('t2', 'not observed: the clock was set back')
    assert first.onset.elapsed == second.onset.elapsed == pytest.approx(0.2)
    assert first.onset.turn_id == 't1'


def test_a_motion_after_the_clock_was_set_back_is_not_that_of_an_old_command() -> None:
    room = Room()
    room.observer.tick(20.0, steady=0.0)
    old = Onset('old', 'c0', Modality.GAZE, ACK, 0.01)
    room.observer.hear_onset(old, 20.0, steady=0.0)  # it would come into question again from 20 s on
    room.command(2.01, Modality.GAZE, ACK)
    room.move(2.05, 'head_yaw')
    lost, seen = room.run(4.0)
    assert (lost.onset.turn_id, seen.onset.turn_id) == ('old', 't1')
    assert seen.onset.elapsed == pytest.approx(0.0517, abs=0.01)


def test_a_clock_that_is_corrected_by_a_little_loses_nothing() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    observer.tick(2.0, steady=0.0)
    spoken(observer, ANSWER, 2.1, 0.2)
    assert observer.tick(1.5, steady=0.1) == []
    told = observer.hear_level(2.19, 0.005, [0.0, 0.0, 0.1], [Marker('t1', ANSWER, 2)])
    assert only(told).onset.elapsed == pytest.approx(0.2)


def test_at_the_end_every_command_has_its_report() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    for modality in (Modality.GAZE, Modality.SPEECH, Modality.TEXT):
        observer.hear_onset(Onset('t1', 'c', modality, ANSWER, 0.01), 2.0, steady=2.0)
    assert [(each.onset.modality, each.onset.detail) for each in observer.close()] == [
        (Modality.GAZE, 'not observed: the observer was stopped'),
        (Modality.SPEECH, 'not observed: the observer was stopped'),
    ]


def test_its_own_reports_are_no_commands() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    observer.hear_onset(Onset('t1', 'c', Modality.GAZE, ACK, 0.1, source=Source.OBSERVED), 2.0, steady=2.0)
    assert observer.close() == []


# -- speech ------------------------------------------------------------------------------------------------------------


def spoken(observer: Observer, content: Content, at: float, audible: float, turn: str = 't1') -> list[Observation]:
    """Speech of a turn received at 2.0 s was commanded, to be audible so long after that."""
    onset = Onset(turn, 'c', Modality.SPEECH, content, at - 2.0, audible=audible)
    return observer.hear_onset(onset, at, steady=at)


def test_a_marker_names_turn_and_content_whichever_comes_first() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    assert observer.hear_level(3.0, 0.005, [0.0, 0.1], [Marker('t1', FILLER, 0)]) == []
    filler = only(spoken(observer, FILLER, 2.99, 1.0))
    assert filler.onset.elapsed == pytest.approx(1.005)
    assert filler.onset.detail == '-20 dB at its marker'
    assert spoken(observer, ANSWER, 3.5, 1.5) == []
    answer = only(observer.hear_level(3.5, 0.005, [0.1], [Marker('t1', ANSWER, 0)]))
    assert (answer.onset.content, answer.onset.elapsed) == (ANSWER, pytest.approx(1.5))


def test_without_markers_the_speech_that_was_due_last_is_meant() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    observer.hear_level(2.0, 0.005, [0.0] * 200)
    spoken(observer, FILLER, 2.9, 1.0)
    spoken(observer, ANSWER, 3.4, 1.6)
    told = observer.hear_level(3.0, 0.005, [0.0] * 6 + [0.1] * 60 + [0.0] * 40)
    assert (only(told).onset.content, only(told).onset.elapsed) == (FILLER, pytest.approx(1.03))
    told = observer.hear_level(3.62, 0.005, [0.1] * 60)
    assert (only(told).onset.content, only(told).onset.elapsed) == (ANSWER, pytest.approx(1.62))


def test_speech_that_is_not_heard_is_reported_after_its_deadline() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    spoken(observer, ANSWER, 2.9, 1.0)
    assert observer.tick(6.9, steady=6.9) == []
    assert only(observer.tick(7.1, steady=7.1)).onset.detail == 'not observed: no audio_level at all'
    observer.hear_level(8.0, 0.005, [0.0])
    spoken(observer, ANSWER, 7.9, 6.0, 't2')
    assert only(observer.tick(12.1, steady=12.1)).onset.detail == 'not observed: no sound within 3 s'


def test_a_sentence_cut_off_before_it_sounds_is_not_observed() -> None:
    observer = Observer(ObserverSettings(), BOOK)
    spoken(observer, ANSWER, 2.9, 1.0)
    observer.hear_turn('t1', Outcome.CANCELLED, 3.0)
    assert observer.hear_level(2.95, 0.005, [0.0] * 10, [Marker('t1', ANSWER, 0)]) == []
    told = observer.hear_level(3.15, 0.005, [0.1] * 10)
    assert only(told).onset.detail == 'not observed: cancelled 0.10 s after it, before any sound'


# -- laws --------------------------------------------------------------------------------------------------------------


# The examples are the same each time: of some 500, one holds two opposite motions that cancel for an instant, and what
# goes on from there is attributed to a third turn (docs/observing.md).
@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(0.05, 1.2), st.floats(0.03, 0.09), st.booleans()), min_size=1, max_size=5))
def test_every_command_has_one_report_and_none_names_a_wrong_turn(turns: list[tuple[float, float, bool]]) -> None:
    """Each turn looks 10 ms after its receipt, which pre-empts the one before; every second look shows nothing."""
    room = Room()
    begin, sign, shown = 2.0, 1.0, {}
    for number, (gap, latency, moves) in enumerate(turns):
        begin += gap
        room.command(begin + 0.01, Modality.GAZE, ACK, f't{number}', receipt=begin)
        if moves:
            room.move(begin + 0.01 + latency, 'head_yaw', sign)
            shown[f't{number}'] = begin + 0.01 + latency
            sign = -sign
    told = room.run(begin + 3.0)
    assert sorted(each.onset.turn_id for each in told) == [f't{number}' for number in range(len(turns))]
    for each in told:
        if not math.isnan(each.onset.elapsed):
            # A motion that counters another one shows only when the joint turns back.
            causes = [turn for turn, start in shown.items() if -0.12 < each.stamp - start < 0.2]
            assert each.onset.turn_id in causes, (each, shown)
