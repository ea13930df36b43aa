from __future__ import annotations

import math

import pytest

from pace_ros.simulation.joint import Change, Joint, Layer, Limits
from pace_ros.simulation.settings import Perceptible
from pace_ros.simulation.truth import Command, GroundTruth, Shown
from pace_ros.turn import Modality

LIMITS = Limits(lower=-2.0, upper=2.0, velocity=2.0, acceleration=10.0, delay=0.03)
PERCEPTIBLE = Perceptible(speed=0.05, angle=0.01)


class Scene:
    """One joint under observation."""

    def __init__(self) -> None:
        self.joint = Joint('head_yaw', LIMITS, 0.0)
        self.truth = GroundTruth(PERCEPTIBLE)

    def command(self, at: float, value: float, number: int) -> None:
        self.advance(at)
        command = Command(Modality.GAZE, f'look {number}', at)
        self.truth.watch(number, command, at, {'head_yaw': self.joint.plan})
        self.joint.command(at, Layer.POSTURE, value, number)

    def advance(self, now: float) -> list[Change]:
        changes = self.joint.advance(now)
        for each in changes:
            self.truth.changed('head_yaw', each)
        return changes

    def told(self, now: float) -> dict[str, Shown]:
        self.advance(now)
        return {each.command.name: each for each in self.truth.settle(now)}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_it_is_told_once_and_not_before_it_shows(scene: Scene) -> None:
    scene.command(1.0, 0.5, 1)
    assert scene.told(1.034) == {}
    assert scene.told(1.036)['look 1'].instant == pytest.approx(1.035)  # 0.03 delay, 0.05 rad/s at 10 rad/s^2
    assert scene.told(9.0) == {}


def test_a_motion_too_small_to_see_is_none(scene: Scene) -> None:
    scene.command(1.0, 0.009, 1)
    assert math.isnan(scene.told(1.04)['look 1'].instant)


def test_in_motion_already_it_shows_where_it_departs_from_that_motion(scene: Scene) -> None:
    scene.command(1.0, 1.0, 1)
    scene.command(1.2, -1.0, 2)  # at 1.23 it has 2 rad/s and brakes at once: 0.05 rad/s less after 5 ms
    told = scene.told(2.0)
    assert told['look 2'].instant == pytest.approx(1.235)
    assert told['look 2'].detail == 'look 2: head_yaw, already moving'


def test_two_commands_at_once_both_depart_from_the_motion_they_met(scene: Scene) -> None:
    scene.command(1.0, 1.0, 1)
    scene.command(1.2, -0.5, 2)
    scene.command(1.202, -1.0, 3)  # the same way: nobody can tell the two apart
    told = scene.told(2.0)
    assert told['look 2'].instant == pytest.approx(1.235)
    assert told['look 3'].instant == pytest.approx(1.235)


def test_the_same_target_while_moving_there_shows_nothing_new(scene: Scene) -> None:
    scene.command(1.0, 1.0, 1)
    scene.command(1.2, 1.0, 2)
    assert math.isnan(scene.told(2.0)['look 2'].instant)


def test_a_command_overtaken_before_it_shows_is_superseded_unless_the_way_is_the_same(scene: Scene) -> None:
    scene.command(1.0, 0.5, 1)
    scene.command(1.002, -0.5, 2)
    told = scene.told(2.0)
    assert told['look 1'].detail == 'look 1: superseded'
    # From 1.032 on 0.02 rad/s are braked, then 0.05 rad/s reached the other way.
    assert told['look 2'].instant == pytest.approx(1.032 + 0.002 + 0.005)


def test_a_command_overtaken_by_one_the_same_way_is_shown_by_it(scene: Scene) -> None:
    scene.command(1.0, 0.5, 1)
    scene.command(1.002, 0.8, 2)
    told = scene.told(2.0)
    assert told['look 1'].instant == pytest.approx(1.035)
    assert told['look 2'].instant == pytest.approx(1.035)


def test_dropped_commands_are_superseded(scene: Scene) -> None:
    scene.command(1.0, 0.5, 1)
    scene.truth.dropped('head_yaw', scene.joint.drop(Layer.POSTURE))
    assert scene.told(1.5)['look 1'].detail == 'look 1: superseded'
