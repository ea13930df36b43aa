from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.simulation import Body, NotUnderstood, Shown, SimRobot
from pace_ros.simulation.motions import MOTIONS, RANGES
from pace_ros.turn import Content, Modality

SETTINGS = SimRobot()
TO_SPEED = 0.05 / 30.0  # perceptible speed over acceleration
HEAD_DELAY, ARM_DELAY = 0.03, 0.04
AT_VISITOR = math.atan2(-0.4, 1.5)
HERE = (0.0, 0.0, 0.0)


@pytest.fixture
def body() -> Body:
    return Body(SETTINGS, 100.0)


def advanced(body: Body, begin: float, end: float) -> list[Shown]:
    """The truth told tick by tick."""
    ticks = round((end - begin) / 0.01)
    return [each for tick in range(ticks + 1) for each in body.advance(begin + tick * 0.01)]


def pose(body: Body, at: float) -> dict[str, float]:
    return {name: round(joint.at(at)[0], 6) for name, joint in body.joints.items() if joint.at(at)[0]}


def test_it_begins_at_rest_and_stays_there(body: Body) -> None:
    assert advanced(body, 100.0, 110.0) == []
    assert pose(body, 110.0) == {'head_yaw': 0.35}


def test_a_look_turns_the_head_to_the_visitor(body: Body) -> None:
    body.look(101.0, 'visitor', HERE, stamp=100.99, name='gaze target stamped 100.99')
    [shown] = advanced(body, 101.0, 102.0)
    assert shown.instant == pytest.approx(101.0 + HEAD_DELAY + TO_SPEED, abs=1e-9)
    assert shown.command.modality is Modality.GAZE
    assert shown.detail == 'gaze target stamped 100.99: head_yaw'
    assert pose(body, 102.0) == {'head_yaw': round(AT_VISITOR, 6)}


def test_left_is_positive_yaw_and_up_is_negative_pitch(body: Body) -> None:
    body.look(101.0, 'base_link', (1.0, 1.0, 1.2 + math.sqrt(2.0) * math.tan(0.3)), stamp=101.0)
    advanced(body, 101.0, 103.0)
    assert pose(body, 103.0) == {'head_yaw': pytest.approx(math.pi / 4), 'head_pitch': pytest.approx(-0.3)}


def test_a_look_where_it_looks_already_shows_nothing(body: Body) -> None:
    body.look(101.0, 'visitor', HERE, stamp=101.0)
    advanced(body, 101.0, 102.0)
    body.look(102.0, 'visitor', HERE, stamp=102.0)
    [shown] = advanced(body, 102.0, 102.1)
    assert math.isnan(shown.instant)
    assert shown.detail == 'gaze target: no perceptible motion'


def test_the_head_turns_away_when_nothing_happens(body: Body) -> None:
    body.look(101.0, 'visitor', HERE, stamp=101.0)
    advanced(body, 101.0, 104.0)
    body.stay_awake(104.0)
    advanced(body, 104.0, 107.9)
    assert pose(body, 107.9) == {'head_yaw': round(AT_VISITOR, 6)}
    assert advanced(body, 108.0, 109.0) == []
    assert pose(body, 109.0) == {'head_yaw': 0.35}


def test_a_nod_goes_down_and_comes_up(body: Body) -> None:
    body.gesture(101.0, 'nod', stamp=101.0, turn_id='t1')
    [shown] = advanced(body, 101.0, 101.2)
    assert shown.instant == pytest.approx(101.0 + HEAD_DELAY + TO_SPEED, abs=1e-9)
    assert (shown.command.turn_id, shown.command.content) == ('t1', Content.ACKNOWLEDGEMENT)
    assert pose(body, 101.25) == {'head_yaw': 0.35, 'head_pitch': 0.22}
    assert advanced(body, 101.2, 102.0) == []
    assert pose(body, 102.0) == {'head_yaw': 0.35}


def test_look_and_nod_at_once_show_both_on_their_own_joint(body: Body) -> None:
    body.look(101.0, 'visitor', HERE, stamp=101.0)
    body.gesture(101.002, 'nod', stamp=101.0, turn_id='t1')
    look, nod = advanced(body, 101.01, 102.0)
    assert (look.detail, nod.detail) == ('gaze target: head_yaw', 'gesture nod: head_pitch')
    assert nod.instant - look.instant == pytest.approx(0.002)


def test_a_thinking_pose_is_held_for_its_duration(body: Body) -> None:
    body.gesture(101.0, 'think', stamp=101.0, turn_id='t1')
    [shown] = advanced(body, 101.0, 105.0)
    assert shown.instant == pytest.approx(101.0 + ARM_DELAY + TO_SPEED, abs=1e-9)
    assert pose(body, 105.0)['right_elbow'] == 2.0
    advanced(body, 105.0, 107.0)
    assert pose(body, 107.0) == {'head_yaw': 0.35}


def test_a_gesture_ends_the_one_before_on_the_same_part(body: Body) -> None:
    body.gesture(101.0, 'think', stamp=101.0)
    advanced(body, 101.0, 103.0)
    body.gesture(103.0, 'nod', stamp=103.0)
    advanced(body, 103.0, 104.0)
    assert pose(body, 104.0)['right_elbow'] == 2.0
    body.gesture(104.0, 'ponder', stamp=104.0)
    [shown] = advanced(body, 104.0, 106.0)
    assert shown.detail.startswith('gesture ponder: left_')
    assert set(pose(body, 106.0)) == {'head_yaw', 'left_shoulder_pitch', 'left_shoulder_roll', 'left_elbow'}


def test_intensity_scales_the_angles(body: Body) -> None:
    body.gesture(101.0, 'think', stamp=101.0, intensity=0.5)
    advanced(body, 101.0, 103.0)
    assert pose(body, 103.0)['right_elbow'] == 1.0


def test_what_is_not_understood_is_said(body: Body) -> None:
    with pytest.raises(NotUnderstood, match="no frame 'moon'"):
        body.look(101.0, 'moon', HERE, stamp=101.0)
    with pytest.raises(NotUnderstood, match='no looking'):
        body.look(101.0, 'visitor', (math.nan, 0.0, 0.0), stamp=101.0)
    with pytest.raises(NotUnderstood, match="no gesture 'wave'; there are nod, think"):
        body.gesture(101.0, 'wave', stamp=101.0)
    with pytest.raises(NotUnderstood, match='intensity nan'):
        body.gesture(101.0, 'nod', stamp=101.0, intensity=math.nan)


def test_rest_leaves_the_gaze_alone(body: Body) -> None:
    body.look(101.0, 'visitor', HERE, stamp=101.0)
    body.gesture(101.001, 'rest', stamp=101.001)
    rest, look = advanced(body, 101.01, 102.0)
    assert (look.detail, rest.detail) == ('gaze target: head_yaw', 'gesture rest: no perceptible motion')
    assert pose(body, 102.0) == {'head_yaw': round(AT_VISITOR, 6)}


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(sorted(MOTIONS)), st.floats(0.0, 5.0))
def test_rest_ends_every_gesture_within_a_tenth_of_a_second(name: str, after: float) -> None:
    body = Body(SETTINGS, 100.0)
    body.gesture(101.0, name, stamp=101.0)
    stop = 101.0 + after
    advanced(body, 101.0, stop)
    body.gesture(stop, 'rest', stamp=stop)
    home = {joint: 0.35 if joint == 'head_yaw' else 0.0 for joint in RANGES}
    for tick in range(200):
        now = stop + 0.1 + tick * 0.01
        body.advance(now)
        for joint, goal in home.items():
            position, velocity = body.joints[joint].at(now)
            assert velocity * (goal - position) >= -1e-6  # only ever homewards
    assert pose(body, stop + 2.0) == {'head_yaw': 0.35}


def test_rest_before_a_gesture_takes_effect_leaves_nothing_of_it(body: Body) -> None:
    body.gesture(101.0, 'think', stamp=101.0, turn_id='old')
    body.gesture(101.02, 'rest', stamp=101.02)
    old, rest = advanced(body, 101.02, 102.0)
    assert rest.command.modality is Modality.UNKNOWN
    assert (old.detail, math.isnan(old.instant)) == ('gesture think: superseded', True)
    assert (rest.detail, math.isnan(rest.instant)) == ('gesture rest: no perceptible motion', True)
    assert pose(body, 102.0) == {'head_yaw': 0.35}


def test_time_may_pass_in_any_steps() -> None:
    def end(steps: int) -> list[float]:
        body = Body(SETTINGS, 100.0)
        told = []
        body.look(101.0, 'visitor', HERE, stamp=101.0)
        body.gesture(101.005, 'nod', stamp=101.0)
        for step in range(1, steps + 1):
            told += body.advance(101.005 + step * 8.0 / steps)
        return [each.instant for each in told] + [joint.at(109.005)[0] for joint in body.joints.values()]

    assert end(1) == pytest.approx(end(800))
