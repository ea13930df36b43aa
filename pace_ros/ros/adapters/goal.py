"""One action of another node, and one goal of it from sending to its end."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future


class Ending(Enum):
    """How a goal ended."""

    SUCCEEDED = 'succeeded'
    CANCELED = 'was cancelled'
    ABORTED = 'was aborted'
    REFUSED = 'was refused'
    MISSING = 'has no server'
    LATE = 'was not accepted in time'


STATUS = {
    GoalStatus.STATUS_SUCCEEDED: Ending.SUCCEEDED,
    GoalStatus.STATUS_CANCELED: Ending.CANCELED,
}


@dataclass(frozen=True)
class End:
    """``reason`` is a sentence without its full stop; ``result`` is the server's, None where it gave none."""

    ending: Ending
    reason: str
    result: Any = None


class Listener(Protocol):
    """Whoever sent a goal; called in the executor's thread. Nothing but ``ended`` is called after a cancellation."""

    def accepted(self) -> None:
        """The server has begun."""
        ...

    def feedback(self, feedback: Any) -> None:
        """The server tells of its progress."""
        ...

    def ended(self, end: End) -> None:
        """Called exactly once."""
        ...


class Action:
    """The client of one action.

    rclpy's client is used from the executor's thread only: sent from another one, a goal whose acceptance comes back
    while ``send_goal_async`` is still at work is never reported as accepted. For the same reason an instance is made
    in the executor's thread or before it spins: a client shows itself to the executor before it is complete.
    """

    def __init__(self, node: Node, kind: Any, name: str, deadline: float) -> None:
        """``deadline`` is the longest wait for the server to accept a goal (s)."""
        self.node = node
        self.name = node.resolve_service_name(name)
        self.deadline = deadline
        self.steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.client = ActionClient(node, kind, name)
        self._open = True
        self._due: set[Callable[[], None]] = set()

    def is_there(self) -> bool:
        """Whether a server is there now."""
        return self._open and bool(self.client.server_is_ready())

    def run(self, function: Callable[[], None]) -> bool:
        """Call a function in the executor's thread, from any thread; False where no executor runs."""
        executor = self.node.executor
        if not self._open or executor is None:
            return False
        with contextlib.suppress(Exception):  # the executor is being shut down
            executor.create_task(self.guarded, function)
            return True
        return False

    def guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function; an error in it is logged and does not end the executor."""
        if not self._open:
            return
        try:
            function(*arguments)
        except Exception as error:
            if self._open:  # taken down in another thread meanwhile
                self.node.get_logger().error(f'the action {self.name} could not be served: {error!r}')

    def send(self, message: Any, listener: Listener) -> Goal:
        """Send a goal, from any thread."""
        goal = Goal(self, message, listener)
        if not self.run(goal.begin):
            listener.ended(End(Ending.MISSING, f'the action {self.name} cannot be called: this node is not spinning'))
        return goal

    def later(self, delay: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call a function once after a delay (s, steady time), in the executor's thread; returns what calls it off.

        To be called in the executor's thread.
        """

        def fire() -> None:
            call_off()
            self.guarded(function)

        def call_off() -> None:
            if call_off in self._due:
                self._due.discard(call_off)
                self.node.destroy_timer(timer)

        timer = self.node.create_timer(delay, fire, clock=self.steady)
        self._due.add(call_off)
        return call_off

    def destroy(self) -> None:
        """Take the client down; goals under way are told nothing more."""
        if self._open:
            self._open = False
            for call_off in list(self._due):
                call_off()
            self.client.destroy()


class Goal:
    """One goal. All but ``cancel`` is called in the executor's thread."""

    def __init__(self, action: Action, message: Any, listener: Listener) -> None:
        self._action = action
        self._message = message
        self._listener = listener
        self._handle: Any = None
        self._call_off_deadline: Callable[[], None] = lambda: None
        self._cancelled = False
        self.over = False

    def cancel(self) -> None:
        """Cancel the goal as soon as the server can be told, from any thread; no effect once it has ended."""
        if not self.over and not self._cancelled:
            self._cancelled = True
            self._action.run(self._cancel)

    def begin(self) -> None:
        """Send the goal."""
        action = self._action
        if self._cancelled:
            self._end(End(Ending.CANCELED, f'the goal of {action.name} was cancelled'))
        elif not action.is_there():
            self._end(End(Ending.MISSING, f'the action {action.name} has no server'))
        else:
            self._call_off_deadline = action.later(action.deadline, self._late)
            sent = action.client.send_goal_async(self._message, feedback_callback=self._on_feedback)
            sent.add_done_callback(lambda future: action.guarded(self._on_response, future))

    def _late(self) -> None:
        self._end(End(Ending.LATE, f'{self._action.name} did not accept a goal within {self._action.deadline:g} s'))

    def _on_response(self, future: Future) -> None:
        if not self.over:
            self._call_off_deadline()
        handle = future.result()
        if not handle.accepted:
            self._end(End(Ending.REFUSED, f'{self._action.name} refused a goal'))
            return
        self._handle = handle
        if self._cancelled or self.over:  # accepted when nobody wants it any more
            handle.cancel_goal_async()
        else:
            self._listener.accepted()
        handle.get_result_async().add_done_callback(lambda result: self._action.guarded(self._on_result, result))

    def _cancel(self) -> None:
        if self._handle is not None and not self.over:
            self._handle.cancel_goal_async()

    def _on_feedback(self, message: Any) -> None:
        if not self._cancelled and not self.over:
            self._action.guarded(self._listener.feedback, message.feedback)

    def _on_result(self, future: Future) -> None:
        response = future.result()
        ending = STATUS.get(response.status, Ending.ABORTED)
        self._end(End(ending, f'the goal of {self._action.name} {ending.value}', response.result))

    def _end(self, end: End) -> None:
        if not self.over:
            self.over = True
            self._listener.ended(end)
