"""Looking at gaze targets through the actions of other packages."""
from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

skills = pytest.importorskip('interaction_skills.action', reason='interaction_skills is neither installed nor built')
control = pytest.importorskip('control_msgs.action', reason='control_msgs is neither installed nor built')

from geometry_msgs.msg import PointStamped  # noqa: E402
from std_skills.msg import Result  # noqa: E402

from pace_ros.ros.adapters.gaze import Gaze, LookAt, PointHead  # noqa: E402

KINDS = [(LookAt, skills.LookAt), (PointHead, control.PointHead)]
SUCCEEDED, CANCELED = 4, 5
pytestmark = pytest.mark.filterwarnings('ignore:coroutine .*_execute_goal.* was never awaited:RuntimeWarning')


def target(x: float) -> PointStamped:
    point = PointStamped()
    point.header.frame_id = 'visitor'
    point.point.x = x
    return point


@pytest.fixture
def gaze(client: Any, action_name: str) -> Any:
    made: list[Gaze] = []

    def make(kind: type[Gaze] = LookAt, deadline: float = 2.0) -> Gaze:
        made.append(client.call(lambda: kind(client.node, action_name, deadline)))
        return made[-1]

    yield make
    for each in made:
        each.destroy()


@pytest.mark.parametrize(('adapter', 'interface'), KINDS)
def test_a_target_is_sent_as_a_goal_without_waiting(
    gaze: Any, server: Any, action_name: str, until: Callable[..., None], adapter: type[Gaze], interface: Any
) -> None:
    one = server(interface, action_name)
    eyes = gaze(adapter)
    until(eyes.available)
    begin = time.monotonic()
    eyes.look(target(1.5))
    assert time.monotonic() - begin < 1.0
    until(lambda: bool(one.ends))
    goal = one.goals[0]
    assert (goal.target.point.x, goal.target.header.frame_id) == (1.5, 'visitor')
    assert one.begun[0] - begin < 2.0
    assert one.ends == [SUCCEEDED]
    assert eyes.problem == ''


def test_a_skill_is_told_who_calls_and_to_follow_the_target(
    client: Any, gaze: Any, server: Any, action_name: str, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name)
    eyes = gaze()
    until(eyes.available)
    eyes.look(target(1.0))
    until(lambda: bool(one.goals))
    assert (one.goals[0].meta.caller, one.goals[0].meta.priority) == (client.node.get_name(), 128)
    assert one.goals[0].policy == ''


def test_a_head_is_pointed_along_its_x_axis(
    gaze: Any, server: Any, action_name: str, until: Callable[..., None]
) -> None:
    one = server(control.PointHead, action_name)
    eyes = gaze(PointHead)
    until(eyes.available)
    eyes.look(target(1.0))
    until(lambda: bool(one.goals))
    axis = one.goals[0].pointing_axis
    assert (axis.x, axis.y, axis.z, one.goals[0].pointing_frame) == (1.0, 0.0, 0.0, '')


def test_a_new_target_replaces_and_cancels_the_former(
    gaze: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name, script(lasts=10.0))
    eyes = gaze()
    until(eyes.available)
    for nth in range(3):
        eyes.look(target(float(nth)))
        until(lambda nth=nth: len(one.begun) == nth + 1)
    until(lambda: one.ends == [CANCELED, CANCELED])
    eyes.stop()
    until(lambda: one.ends == [CANCELED] * 3)
    assert [goal.target.point.x for goal in one.goals] == [0.0, 1.0, 2.0]
    assert eyes.problem == ''


def test_a_burst_of_targets_ends_at_the_last(
    gaze: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name, script(lasts=10.0))
    eyes = gaze()
    until(eyes.available)
    for nth in range(6):
        eyes.look(target(float(nth)))
    until(lambda: one.ends == [CANCELED] * 5)
    assert [goal.target.point.x for goal in one.goals] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert eyes.problem == ''


@pytest.mark.parametrize(
    ('behaviour', 'problem'),
    [
        ({'accepts': False}, 'refused a goal'),
        ({'accepts_after': 0.8, 'lasts': 10.0}, 'did not accept a goal within 0.4 s'),
        ({'aborts': True, 'result': {'result': Result(error_code=134, error_msg='no such frame')}},
         'was aborted: no such frame'),
    ],
)
def test_what_goes_wrong_is_logged_once_and_forgotten_when_all_is_well_again(
    client: Any, gaze: Any, server: Any, action_name: str, script: Any, until: Callable[..., None],
    behaviour: dict[str, Any], problem: str,
) -> None:
    one = server(skills.LookAt, action_name, script(**behaviour), script(**behaviour), script())
    eyes = gaze(deadline=0.4 if 'accepts_after' in behaviour else 2.0)
    until(eyes.available)
    for nth in range(2):
        eyes.look(target(1.0))
        until(lambda nth=nth: problem in eyes.problem and len(one.requests) == nth + 1)
    if 'accepts_after' in behaviour:
        until(lambda: one.ends == [CANCELED] * 2)
    eyes.look(target(2.0))
    until(lambda: eyes.problem == '')
    assert [problem in each for each in client.warnings] == [True]


def test_a_goal_accepted_too_late_is_cancelled(
    gaze: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name, script(accepts_after=0.4, lasts=10.0))
    eyes = gaze(deadline=0.2)
    until(eyes.available)
    eyes.look(target(1.0))
    until(lambda: bool(one.ends))
    assert one.ends == [CANCELED]
    assert 'did not accept a goal within 0.2 s' in eyes.problem


def test_a_missing_server_is_a_problem_and_no_more(client: Any, gaze: Any, until: Callable[..., None]) -> None:
    eyes = gaze()
    assert not eyes.available()
    assert eyes.problem == ''
    eyes.look(target(1.0))
    eyes.look(target(2.0))
    until(lambda: 'has no server' in eyes.problem)
    until(lambda: len(client.warnings) == 1)


def test_a_server_that_goes_in_the_middle_is_a_problem(
    gaze: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name, script(lasts=10.0))
    eyes = gaze()
    until(eyes.available)
    eyes.look(target(1.0))
    until(lambda: bool(one.begun))
    one.die()
    until(lambda: 'has gone' in eyes.problem)
    eyes.look(target(2.0))
    until(lambda: 'has no server' in eyes.problem)
    assert len(one.begun) == 1, 'nothing of the second goal reached the server'


def test_an_adapter_left_out_does_nothing(client: Any) -> None:
    eyes = LookAt(client.node, 'none', 0.3)
    eyes.look(target(1.0))
    eyes.stop()
    assert (eyes.available(), eyes.problem) == (False, '')
    eyes.destroy()


def test_a_package_that_is_not_installed_does_nothing(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LookAt, 'package', 'no_such_package')
    eyes = LookAt(client.node, 'skill/look_at', 0.3)
    eyes.look(target(1.0))
    assert (eyes.available(), eyes.problem, client.warnings) == (False, '', [])
    eyes.destroy()


def test_an_interface_that_lacks_what_a_goal_needs_is_a_problem_said_once(
    client: Any, gaze: Any, action_name: str, until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Older(skills.LookAt):  # type: ignore[misc]
        """Its Meta knows no priorities by name."""

        Goal = staticmethod(lambda target: SimpleNamespace(target=target, meta=SimpleNamespace()))

    monkeypatch.setattr(skills, 'LookAt', Older)
    eyes = gaze()
    for nth in range(2):
        eyes.look(target(float(nth)))
    until(lambda: 'NORMAL_PRIORITY' in eyes.problem)
    client.call(lambda: None)
    assert eyes.problem.startswith(f'no goal of /{action_name} can be made: ')
    assert client.warnings == [eyes.problem]


def test_nothing_is_sent_after_the_adapter_has_been_taken_down(
    gaze: Any, server: Any, action_name: str, until: Callable[..., None]
) -> None:
    one = server(skills.LookAt, action_name)
    eyes = gaze()
    until(eyes.available)
    eyes.destroy()
    eyes.look(target(1.0))
    assert not eyes.available()
    assert one.requests == []
