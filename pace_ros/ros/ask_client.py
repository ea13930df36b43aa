"""Client of the `ask` action, for terminals and scripts: everything with a deadline, nothing left running."""
from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID

from pace_msgs import msg
from pace_msgs.action import Ask
from pace_msgs.srv import EndConversation
from pace_ros.ros.qos import EVENTS, STATE

CANCEL_DEADLINE = 4.0  # s


class NoAnswer(RuntimeError):
    """The node is not there, refused the goal, or did not answer in time; the message says which."""


class AskClient:
    """Asks one question at a time. A context manager: leaving it takes its node down."""

    def __init__(self, namespace: str = '') -> None:
        self._own_context = not rclpy.ok()
        if self._own_context:
            rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C cancels a question, not the context
        self._node = rclpy.create_node(f'ask_{time.time_ns() % 1_000_000_000}', namespace=namespace or None)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._client = ActionClient(self._node, Ask, 'ask')
        # rclpy drops the feedback that a result overtakes, so the frames are heard on their topics.
        self._ears = [
            self._node.create_subscription(msg.ResponseFrame, topic, self._hear, EVENTS)
            for topic in ('filler', 'answer')
        ]
        self._turn_id, self._last_seen = '', False
        self._interrupted = threading.Event()
        self._on_frame: Callable[[msg.ResponseFrame], None] = lambda _frame: None

    def __enter__(self) -> AskClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.destroy()
        self._executor.shutdown(timeout_sec=0.5)
        self._node.destroy_node()
        if self._own_context:
            rclpy.try_shutdown()

    def wait_for_node(self, timeout: float) -> None:
        """Wait until the dialogue node is there and listening. Raises NoAnswer after ``timeout`` s."""
        deadline = time.monotonic() + timeout
        found = self._client.wait_for_server(timeout_sec=timeout)
        while found and not all(self._node.count_publishers(ear.topic_name) for ear in self._ears):
            if time.monotonic() > deadline:
                found = False
            self._executor.spin_once(timeout_sec=0.05)
        if not found:
            name = self._node.resolve_service_name('ask')
            raise NoAnswer(f'No dialogue node serves the action {name}: start it with `ros2 run pace_ros dialogue`.')

    def ask(
        self,
        text: str,
        *,
        conversation: str = '',
        locale: str = '',
        timeout: float = 60.0,
        on_frame: Callable[[msg.ResponseFrame], None] = lambda _frame: None,
    ) -> msg.Turn:
        """Ask and wait for the turn; a question interrupted by Ctrl-C is cancelled. Raises NoAnswer."""
        utterance = msg.Utterance(text=text, conversation_id=conversation, locale=locale)
        utterance.header.stamp = self._node.get_clock().now().to_msg()
        deadline = time.monotonic() + timeout
        turn_id = uuid.uuid4()
        self._turn_id, self._on_frame, self._last_seen = turn_id.hex, on_frame, False
        goal_id = UUID(uuid=np.frombuffer(turn_id.bytes, dtype=np.uint8))
        sent = self._client.send_goal_async(Ask.Goal(utterance=utterance), goal_uuid=goal_id)
        with self._ctrl_c_noted():
            try:
                turn = self._result(sent, deadline)
            except KeyboardInterrupt:  # at whatever stage: the goal may be accepted already
                deadline = time.monotonic() + CANCEL_DEADLINE
                handle = self._wait(sent, deadline)
                if handle.accepted:
                    self._wait(handle.cancel_goal_async(), deadline)
                turn = self._result(sent, deadline)
        self._drain(answered=turn.outcome == msg.Turn.OUTCOME_ANSWERED)
        return turn

    def states(self, timeout: float) -> Iterator[msg.ControllerState]:
        """The controllers' states as they are published, the present one first. Raises NoAnswer after ``timeout`` s
        without any; Ctrl-C ends it.
        """
        heard: deque[msg.ControllerState] = deque()

        def hear(state: msg.ControllerState) -> None:  # rclpy takes no builtin
            heard.append(state)

        ear = self._node.create_subscription(msg.ControllerState, 'controller_state', hear, STATE)
        try:
            with self._ctrl_c_noted():
                deadline = time.monotonic() + timeout
                while time.monotonic() < deadline:
                    if self._interrupted.is_set():
                        raise KeyboardInterrupt
                    self._executor.spin_once(timeout_sec=0.1)
                    while heard:
                        yield heard.popleft()
                        deadline = time.monotonic() + timeout
        finally:
            self._node.destroy_subscription(ear)
        raise NoAnswer('The dialogue node has published no state in time.')

    def end_conversation(self, conversation: str) -> bool:
        """Tell the node to forget a visitor; says whether it knew them. Raises NoAnswer."""
        client = self._node.create_client(EndConversation, 'dialogue/end_conversation')
        request = EndConversation.Request(conversation_id=conversation)
        return bool(self._wait(client.call_async(request), time.monotonic() + 5.0).known)

    def stop(self) -> str:
        """Silence the robot; returns what the node says of it. Raises NoAnswer."""
        client = self._node.create_client(Trigger, 'dialogue/stop')
        return str(self._wait(client.call_async(Trigger.Request()), time.monotonic() + 5.0).message)

    @contextlib.contextmanager
    def _ctrl_c_noted(self) -> Iterator[None]:
        """Meanwhile Ctrl-C is raised between two spins, never inside rclpy, which it would leave half done."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets signals
            return
        before = signal.signal(signal.SIGINT, lambda *_: self._interrupted.set())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._interrupted.clear()

    def _result(self, sent: Future, deadline: float) -> msg.Turn:
        handle = self._wait(sent, deadline)
        if not handle.accepted:
            raise NoAnswer('The dialogue node is not active: activate it, or start it with autostart.')
        return self._wait(handle.get_result_async(), deadline).result.turn

    def _hear(self, frame: msg.ResponseFrame) -> None:
        if frame.turn_id == self._turn_id:
            self._last_seen = self._last_seen or frame.last
            self._on_frame(frame)

    def _drain(self, *, answered: bool) -> None:
        """The result may overtake the last frames: wait for the one marked last, or briefly where there is none."""
        deadline = time.monotonic() + (1.0 if answered else 0.1)
        while time.monotonic() < deadline and not self._last_seen:
            self._executor.spin_once(timeout_sec=0.02)

    def _wait(self, future: Future, deadline: float) -> Any:
        while not future.done():
            remaining = deadline - time.monotonic()
            if self._interrupted.is_set():
                self._interrupted.clear()
                raise KeyboardInterrupt
            if remaining <= 0:
                raise NoAnswer('The dialogue node did not answer in time.')
            if not self._client.server_is_ready():
                raise NoAnswer('The dialogue node has gone.')
            self._executor.spin_once(timeout_sec=min(remaining, 0.1))
        return future.result()
