"""Making gestures through play_motion2."""
from __future__ import annotations

from functools import partial
from typing import Any

from rclpy.node import Node

from pace_ros.embodiment.gestures import GestureBook
from pace_ros.ros.adapters.interfaces import NONE, find_interface
from pace_ros.ros.adapters.latest import LatestGoal

REST = 'rest'


class PlayMotion:
    """Sends each gesture as a goal that replaces the former."""

    def __init__(
        self, node: Node, name: str, deadline: float, gestures: GestureBook, *, skip_planning: bool = False
    ) -> None:
        """``name`` is the action's, "none" to leave it out; ``deadline`` the longest wait for acceptance (s).

        ``skip_planning`` goes to a motion's first pose in a straight line, for robots without a motion planner.
        """
        kind = None if name == NONE else find_interface(node, 'play_motion2_msgs', 'action', 'PlayMotion2')
        self._kind: Any = kind
        self._gestures = gestures
        self._skip_planning = skip_planning
        self._goals = None if kind is None else LatestGoal(node, kind, name, deadline, explain)
        self._moved = False

    @property
    def problem(self) -> str:
        """What is wrong, empty when all is well or the package is not installed."""
        return '' if self._goals is None else self._goals.problem

    def available(self) -> bool:
        """Whether the package is installed and a server is there now."""
        return self._goals is not None and self._goals.available()

    def play(self, gesture: str) -> None:
        """Make the gesture of that name instead of the one under way, from any thread; never waits.

        A gesture that the book does not know changes nothing.
        """
        if gesture == REST:
            self.rest()
        elif self._send(gesture):
            self._moved = True

    def rest(self) -> None:
        """Break off what is under way; a body that has moved goes to rest, where the book knows how."""
        if self._goals is None:
            return
        if not (self._moved and self._send(REST)):
            self._goals.stop()
        self._moved = False

    def destroy(self) -> None:
        """Take the client down."""
        if self._goals is not None:
            self._goals.destroy()

    def _send(self, gesture: str) -> bool:
        if self._goals is None or gesture not in self._gestures:
            return False
        motion = self._gestures.of(gesture).motion
        self._goals.send(partial(self._goal, motion))
        return True

    def _goal(self, motion: str) -> Any:
        return self._kind.Goal(motion_name=motion, skip_planning=self._skip_planning)


def explain(result: Any) -> str:
    """What the server says of its failure."""
    return str(getattr(result, 'error', ''))
