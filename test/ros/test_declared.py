from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from pace_ros.ros.declared import declare_tree
from pace_ros.settings import ConfigError, setting


@dataclass(frozen=True)
class Arm:
    speed: float = setting(1.0, 'How fast.', low=0.0, high=5.0)
    joints: tuple[str, ...] = setting((), 'Which.')


@dataclass(frozen=True)
class Robot:
    name: str = setting('bob', 'What it is called.')
    arm: Arm = field(default_factory=Arm)


@pytest.fixture
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    overrides = [Parameter(name, value=value) for name, value in request.param.items()]
    made = Node('declared', parameter_overrides=overrides)
    yield made
    made.destroy_node()


@pytest.mark.parametrize('node', [{'arm.speed': 2.5, 'arm.joints': ['elbow']}], indirect=True)
def test_the_tree_in_force_holds_what_was_given_and_describes_itself(node: Node) -> None:
    assert declare_tree(node, Robot) == Robot('bob', Arm(2.5, ('elbow',)))
    described = node.describe_parameter('arm.speed')
    assert described.description == 'How fast.'
    assert (described.floating_point_range[0].to_value, described.read_only) == (5.0, True)


@pytest.mark.parametrize('node', [{}], indirect=True)
def test_nothing_given_is_the_default_and_nothing_changes_at_run_time(node: Node) -> None:
    assert declare_tree(node, Robot) == Robot()
    [result] = node.set_parameters([Parameter('arm.speed', value=3.0)])
    assert not result.successful


@pytest.mark.parametrize('node', [{'arm.speed': 9.0}], indirect=True)
def test_a_value_out_of_range_is_refused_in_a_sentence(node: Node) -> None:
    with pytest.raises(ConfigError, match=r"Parameter 'arm.speed' must be from 0.0 to 5.0, not 9.0\."):
        declare_tree(node, Robot)


@pytest.mark.parametrize('node', [{'arm.speed': 'fast'}], indirect=True)
def test_a_value_of_another_type_is_refused_in_a_sentence(node: Node) -> None:
    with pytest.raises(ConfigError, match=r"Parameter 'arm.speed' must be float, not 'fast'\."):
        declare_tree(node, Robot)
