"""An action of which one goal runs at a time, always the one wanted last."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.node import Node

from pace_ros.ros.adapters.goal import Action, End, Ending, Goal

RETRY_PERIOD = 0.05  # s


@dataclass
class Wish:
    """What is wanted now. ``former`` is the goal it replaced, ``until`` when it is given up (s, steady)."""

    keeper: LatestGoal
    message: Any
    until: float
    former: Goal | None

    def accepted(self) -> None:
        """The server has begun."""
        self.keeper.accepted(self)

    def feedback(self, feedback: Any) -> None:
        """Of no interest."""

    def ended(self, end: End) -> None:
        """The goal has ended, one way or another."""
        self.keeper.ended(self, end)

    def is_in_the_way(self, end: End) -> bool:
        """Whether a goal failed only because the server was still busy with the one it replaced."""
        if self.former is None:
            return False
        return end.ending is Ending.REFUSED or (end.ending is Ending.ABORTED and not self.former.over)


class LatestGoal:
    """Sends goals, each replacing the former, which is cancelled; never waits.

    A server that refuses the new goal because the former has not come to rest yet is asked again, until the deadline
    has passed. What goes wrong is logged once.
    """

    def __init__(
        self, node: Node, kind: Any, name: str, deadline: float, explain: Callable[[Any], str] = lambda _result: ''
    ) -> None:
        """``explain`` finds the server's own words in a result."""
        self._action = Action(node, kind, name, deadline)
        self._explain = explain
        self._wish: Wish | None = None
        self._goal: Goal | None = None
        self._call_off_retry: Callable[[], None] | None = None
        self._failed: Ending | None = None
        self._problem = ''

    @property
    def problem(self) -> str:
        """What is wrong with the action, empty when all is well."""
        if not self._problem and self._goal is not None and not self._action.is_there():
            return f'the server of {self._action.name} has gone'
        return self._problem

    def available(self) -> bool:
        """Whether a server is there now."""
        return self._action.is_there()

    def send(self, make: Callable[[], Any]) -> None:
        """Want the goal that ``make`` builds from now on, from any thread.

        It is built in the executor's thread; where the installed interface lacks what it needs, that is the problem.
        """
        if not self._action.run(partial(self._replace, make)):
            self._problem = f'the action {self._action.name} cannot be called: this node is not spinning'

    def stop(self) -> None:
        """Want nothing, from any thread."""
        self._action.run(self._clear)

    def destroy(self) -> None:
        """Take the client down."""
        self._action.destroy()

    def accepted(self, wish: Wish) -> None:
        """The server has begun with it."""
        if wish is self._wish and self._failed is not Ending.ABORTED:
            self._report(None, '')

    def ended(self, wish: Wish, end: End) -> None:
        """The goal of a wish has ended."""
        if wish is not self._wish:
            return
        self._goal = None
        now = self._now()
        if wish.is_in_the_way(end) and now < wish.until:
            self._call_off_retry = self._action.later(RETRY_PERIOD, self._retry)
        elif end.ending is Ending.SUCCEEDED:
            self._report(None, '')
        elif end.ending is not Ending.CANCELED:
            said = self._explain(end.result) if end.result is not None else ''
            self._report(end.ending, f'{end.reason}: {said}' if said else end.reason)

    def _replace(self, make: Callable[[], Any]) -> None:
        former = self._goal or (self._wish.former if self._wish is not None and self._call_off_retry else None)
        self._clear()
        try:
            message = make()
        except Exception as error:  # the installed interface has other fields or constants
            self._report(None, f'no goal of {self._action.name} can be made: {error!r}')
            return
        self._begin(Wish(self, message, self._now() + self._action.deadline, former))

    def _clear(self) -> None:
        if self._call_off_retry is not None:
            self._call_off_retry()
            self._call_off_retry = None
        if self._goal is not None:
            self._goal.cancel()
        self._wish = self._goal = None

    def _retry(self) -> None:
        self._call_off_retry = None
        if self._wish is not None:
            self._begin(self._wish)

    def _begin(self, wish: Wish) -> None:
        self._wish = wish
        self._goal = Goal(self._action, wish.message, wish)
        self._goal.begin()

    def _report(self, failed: Ending | None, problem: str) -> None:
        if problem and problem != self._problem:
            self._action.node.get_logger().warning(problem)
        self._failed, self._problem = failed, problem

    def _now(self) -> float:
        return float(self._action.steady.now().nanoseconds) * 1e-9
