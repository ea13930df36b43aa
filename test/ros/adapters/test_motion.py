"""Making gestures through play_motion2."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

actions = pytest.importorskip('play_motion2_msgs.action', reason='play_motion2_msgs is neither installed nor built')

from pace_ros.embodiment.gestures import GestureBook, GestureMotion  # noqa: E402
from pace_ros.ros.adapters.motion import PlayMotion  # noqa: E402

PlayMotion2 = actions.PlayMotion2
SUCCEEDED, CANCELED = 4, 5
MOTIONS = {'nod': 'head_nod', 'think': 'thinking'}
pytestmark = pytest.mark.filterwarnings('ignore:coroutine .*_execute_goal.* was never awaited:RuntimeWarning')


def book(**motions: str) -> GestureBook:
    return GestureBook({name: GestureMotion(name, motion, (), 1.0) for name, motion in motions.items()})


@pytest.fixture
def arms(client: Any, action_name: str) -> Any:
    made: list[PlayMotion] = []

    def make(deadline: float = 2.0, **motions: str) -> PlayMotion:
        gestures = book(**(motions or MOTIONS))
        made.append(client.call(lambda: PlayMotion(client.node, action_name, deadline, gestures)))
        return made[-1]

    yield make
    for each in made:
        each.destroy()


def test_a_gesture_is_played_by_the_robots_own_name(
    arms: Any, server: Any, action_name: str, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name)
    body = arms()
    until(body.available)
    body.play('nod')
    body.play('unheard of')
    until(lambda: one.ends == [SUCCEEDED])
    assert [(goal.motion_name, goal.skip_planning) for goal in one.goals] == [('head_nod', False)]
    assert body.problem == ''


def test_rest_cancels_the_gesture_at_once(
    arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name, script(lasts=10.0))
    body = arms()
    until(body.available)
    body.play('think')
    until(lambda: bool(one.begun))
    begin = time.monotonic()
    body.rest()
    until(lambda: one.ends == [CANCELED])
    assert one.cancels[0] - begin < 5.0, 'the gesture would last 10 s'
    assert len(one.goals) == 1
    assert body.problem == ''


def test_a_body_that_has_moved_goes_to_the_motion_of_rest_once(
    arms: Any, server: Any, action_name: str, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name)
    body = arms(think='thinking', rest='home')
    until(body.available)
    body.rest()
    body.play('think')
    until(lambda: len(one.ends) == 1)
    body.play('rest')
    until(lambda: len(one.ends) == 2)
    body.rest()
    assert [goal.motion_name for goal in one.goals] == ['thinking', 'home']


def test_a_server_still_busy_with_the_former_gesture_is_asked_again(
    client: Any, arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name, script(lasts=10.0, stops_after=0.2, refuses_when_busy=True),
                 script(refuses_when_busy=True))
    body = arms()
    until(body.available)
    body.play('think')
    until(lambda: bool(one.begun))
    begin = time.monotonic()
    body.play('nod')
    until(lambda: one.ends == [CANCELED, SUCCEEDED])
    assert one.begun[1] - begin >= 0.2
    assert len(one.requests) > 2
    assert (body.problem, client.warnings) == ('', [])


def test_a_server_busy_for_ever_is_given_up_with_the_deadline(
    client: Any, arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name, script(lasts=10.0, stops_after=1.0), script(accepts=False))
    body = arms(deadline=0.5)
    until(body.available)
    body.play('think')
    until(lambda: bool(one.begun))
    begin = time.monotonic()
    body.play('nod')
    until(lambda: 'refused' in body.problem)
    assert 0.4 < time.monotonic() - begin < 2.0
    assert len(client.warnings) == 1


def test_rest_ends_the_asking(
    arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    one = server(PlayMotion2, action_name, script(lasts=10.0, stops_after=0.15, refuses_when_busy=True),
                 script(refuses_when_busy=True))
    body = arms()
    until(body.available)
    body.play('think')
    until(lambda: bool(one.begun))
    body.play('nod')
    until(lambda: len(one.requests) > 1)
    body.rest()
    until(lambda: one.ends == [CANCELED])
    asked = len(one.requests)
    time.sleep(0.15)
    assert len(one.requests) <= asked + 1
    assert len(one.begun) == 1


def test_an_aborted_gesture_is_a_problem_in_the_robots_words(
    client: Any, arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None]
) -> None:
    server(PlayMotion2, action_name, script(aborts=True, result={'error': 'no such motion'}))
    body = arms()
    until(body.available)
    body.play('nod')
    until(lambda: body.problem.endswith('was aborted: no such motion'))
    assert len(client.warnings) == 1


def test_a_missing_server_is_a_problem_and_no_more(client: Any, arms: Any, until: Callable[..., None]) -> None:
    body = arms()
    body.play('nod')
    until(lambda: 'has no server' in body.problem)
    body.rest()
    assert len(client.warnings) == 1


def test_an_adapter_left_out_does_nothing(client: Any) -> None:
    body = PlayMotion(client.node, 'none', 1.0, book(nod='nod'))
    body.play('nod')
    body.rest()
    assert (body.available(), body.problem) == (False, '')
    body.destroy()


def test_an_interface_that_lacks_a_field_is_a_problem_and_the_former_gesture_ends(
    client: Any, arms: Any, server: Any, action_name: str, script: Any, until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def goal(**fields: Any) -> Any:
        raise AssertionError(f'Invalid arguments passed to constructor: {sorted(fields)}')

    one = server(PlayMotion2, action_name, script(lasts=10.0))
    body = arms()
    until(body.available)
    body.play('nod')
    until(lambda: bool(one.begun))
    monkeypatch.setattr(PlayMotion2, 'Goal', goal)
    for _ in range(2):
        body.play('think')
    until(lambda: 'skip_planning' in body.problem)
    until(lambda: one.ends == [CANCELED])
    client.call(lambda: None)
    assert client.warnings == [body.problem]
