"""The `ask` action: one question, its frames as feedback, its turn as result."""
from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from builtin_interfaces.msg import Time
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode

from pace_msgs.action import Ask
from pace_ros.dialogue import Dialogue
from pace_ros.ros import conversions
from pace_ros.ros.core_thread import CoreThread, in_executor
from pace_ros.ros.qos import EVENTS
from pace_ros.turn import Outcome, ResponseFrame, TurnRecord


class AskServer:
    """Each goal is a turn whose id is the goal's UUID in hex. Nothing here blocks the executor."""

    def __init__(
        self, node: LifecycleNode, core: CoreThread, dialogue: Dialogue, is_active: Callable[[], bool]
    ) -> None:
        self._node = node
        self._core = core
        self._dialogue = dialogue
        self._is_active = is_active
        self._received: dict[str, float] = {}
        self._server = ActionServer(
            node,
            Ask,
            'ask',
            self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=ReentrantCallbackGroup(),
            feedback_pub_qos_profile=EVENTS,
        )

    def destroy(self) -> None:
        """Take the action down."""
        self._server.destroy()

    def _on_goal(self, goal: Ask.Goal) -> GoalResponse:
        """Unfinished hypotheses are no questions, and an inactive robot hears none."""
        accepted = self._is_active() and not goal.utterance.partial
        return GoalResponse.ACCEPT if accepted else GoalResponse.REJECT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._received[_turn_id(handle)] = time.perf_counter()
        handle.execute()

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        self._core.call_soon(self._dialogue.cancel, _turn_id(handle), 'the goal was cancelled')
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Ask.Result:
        turn_id = _turn_id(handle)
        utterance = conversions.utterance_from(
            handle.request.utterance, received=self._received.pop(turn_id), now=self._now()
        )
        ended: Future[TurnRecord] = Future()

        def on_frame(frame: ResponseFrame) -> None:
            handle.publish_feedback(Ask.Feedback(frame=conversions.frame_message(frame, self._now())))

        def start() -> None:
            self._dialogue.submit(utterance, turn_id, on_frame=on_frame, on_end=ended.set_result)
            if handle.is_cancel_requested:  # before there was a turn to cancel
                self._dialogue.cancel(turn_id, 'the goal was cancelled')

        self._core.call_soon(start)
        record = await in_executor(self._node.executor, ended)
        if record.outcome is Outcome.ANSWERED:
            handle.succeed()
        elif record.outcome is Outcome.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return Ask.Result(turn=conversions.turn_message(record, self._now()), answer=record.answer)

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()


def _turn_id(handle: ServerGoalHandle) -> str:
    return bytes(handle.goal_id.uuid).hex()
