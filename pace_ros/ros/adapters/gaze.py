"""Looking at gaze targets through the actions of other packages."""
from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from geometry_msgs.msg import PointStamped, Vector3
from rclpy.node import Node

from pace_ros.ros.adapters.interfaces import NONE, find_interface
from pace_ros.ros.adapters.latest import LatestGoal


class Gaze(ABC):
    """Sends each target as a goal that replaces the former."""

    package = ''
    interface = ''

    def __init__(self, node: Node, name: str, deadline: float) -> None:
        """``name`` is the action's, "none" to leave it out; ``deadline`` the longest wait for acceptance (s)."""
        kind = None if name == NONE else find_interface(node, self.package, 'action', self.interface)
        self._kind: Any = kind
        self._caller = node.get_name()
        self._goals = None if kind is None else LatestGoal(node, kind, name, deadline, explain)

    @property
    def problem(self) -> str:
        """What is wrong, empty when all is well or the package is not installed."""
        return '' if self._goals is None else self._goals.problem

    def available(self) -> bool:
        """Whether the package is installed and a server is there now."""
        return self._goals is not None and self._goals.available()

    def look(self, target: PointStamped) -> None:
        """Look there from now on, from any thread; never waits."""
        if self._goals is not None:
            self._goals.send(partial(self._goal, target))

    def stop(self) -> None:
        """Let the gaze go, from any thread."""
        if self._goals is not None:
            self._goals.stop()

    def destroy(self) -> None:
        """Take the client down."""
        if self._goals is not None:
            self._goals.destroy()

    @abstractmethod
    def _goal(self, target: PointStamped) -> Any:
        """The action's goal to look there."""


class LookAt(Gaze):
    """The skill of ROS4HRI robots: an empty policy follows the target until the next goal."""

    package = 'interaction_skills'
    interface = 'LookAt'

    def _goal(self, target: PointStamped) -> Any:
        goal = self._kind.Goal(target=target)
        goal.meta.caller = self._caller
        goal.meta.priority = goal.meta.NORMAL_PRIORITY
        return goal


class PointHead(Gaze):
    """The action of head controllers.

    The pointing frame is left to the server, whose x axis is turned to the target as fast as it moves by itself.
    """

    package = 'control_msgs'
    interface = 'PointHead'

    def _goal(self, target: PointStamped) -> Any:
        return self._kind.Goal(target=target, pointing_axis=Vector3(x=1.0))


def explain(result: Any) -> str:
    """What a skill says of its failure; PointHead's result says nothing."""
    skill = getattr(result, 'result', None)
    return str(getattr(skill, 'error_msg', '') or '')
