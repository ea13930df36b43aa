"""The outlet, whatever becomes of what follows it."""
from __future__ import annotations

from collections.abc import Iterator

import pytest
from rclpy.lifecycle import LifecycleNode

from pace_ros.config import Config
from pace_ros.ros.publishers import Publishers


@pytest.fixture
def node() -> Iterator[LifecycleNode]:
    made = LifecycleNode('outlet')
    yield made
    made.destroy_node()


def test_a_body_that_cannot_follow_stops_no_answer(node: LifecycleNode, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_what: object) -> None:
        raise AttributeError('NORMAL_PRIORITY')

    errors, followed = list[str](), list[object]()
    monkeypatch.setattr(node.get_logger(), 'error', lambda words, **_: errors.append(words))
    outlet = Publishers(node, Config)
    outlet.gaze_followers = [fail, followed.append]
    outlet.gesture_followers = [fail, followed.append]
    outlet.look_at_speaker()
    outlet.gesture('t1', 'nod')
    outlet.rest()
    assert followed[0].header.frame_id == 'visitor'
    assert followed[1:] == ['nod', 'rest']
    assert errors == ["the body does not follow: AttributeError('NORMAL_PRIORITY')"] * 3
    outlet.destroy()
