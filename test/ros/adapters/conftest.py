"""A client's node and scripted servers, each spinning in a thread of its own, as two processes would."""
from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node

DEADLINE = 5.0
T = TypeVar('T')


def until(condition: Callable[[], bool], timeout: float = DEADLINE) -> None:
    """Wait until it holds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, 'not in time'
        time.sleep(0.002)


class Spinning:
    """A node whose executor runs in a thread."""

    def __init__(self, name: str, executor: Executor) -> None:
        self.node: Node = rclpy.create_node(name)
        self.executor = executor
        self.executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self.warnings: list[str] = []
        logger = self.node.get_logger()
        logger.warning = self.warnings.append  # type: ignore[method-assign]
        logger.error = self.warnings.append  # type: ignore[method-assign]
        self.node.get_logger = lambda: logger  # type: ignore[method-assign]

    def _spin(self) -> None:
        with contextlib.suppress(InvalidHandle):  # a goal that ends while the executor is shut down
            self.executor.spin()

    def call(self, function: Callable[[], T]) -> T:
        """Call a function where the node's callbacks are called: only there may an action's client be made."""
        task = self.executor.create_task(function)
        until(task.done)
        return task.result()

    def close(self) -> None:
        self.executor.shutdown(timeout_sec=1.0)
        self._thread.join(2.0)
        self.node.destroy_node()


@dataclass
class Script:
    """What a server does with a goal: ``words`` are feedback fields with the time of each since the beginning (s)."""

    accepts: bool = True
    accepts_after: float = 0.0
    feedback: tuple[tuple[float, dict[str, Any]], ...] = ()
    lasts: float = 0.05
    aborts: bool = False
    result: dict[str, Any] = field(default_factory=dict)
    stops_after: float = 0.0  # a cancellation takes effect this much later
    refuses_when_busy: bool = False


class ScriptedServer:
    """An action server that does as its scripts say, one a goal, the last one for all that follow."""

    def __init__(self, kind: Any, name: str, *scripts: Script) -> None:
        self.spinning = Spinning(f'server_{time.monotonic_ns() % 10**9}', MultiThreadedExecutor(num_threads=32))
        self._kind = kind
        self._scripts = list(scripts) or [Script()]
        self._running = 0
        self.requests: list[Any] = []
        self.goals: list[Any] = []
        self.begun: list[float] = []
        self.told: list[float] = []
        self.cancels: list[float] = []
        self.ends: list[int] = []
        self._dead = threading.Event()
        self.server = ActionServer(
            self.spinning.node, kind, name, execute_callback=self._execute, goal_callback=self._judge,
            cancel_callback=self._on_cancel, handle_accepted_callback=self._on_accepted,
        )

    def _script(self) -> Script:
        return self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]

    def _judge(self, request: Any) -> GoalResponse:
        self.requests.append(request)
        script = self._script()
        self._next = script
        time.sleep(script.accepts_after)
        if not script.accepts or (script.refuses_when_busy and self._running):
            return GoalResponse.REJECT
        self._running += 1
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self.goals.append(handle.request)
        handle.script = self._next
        handle.execute()

    def _on_cancel(self, _handle: Any) -> CancelResponse:
        self.cancels.append(time.monotonic())
        return CancelResponse.ACCEPT

    def _execute(self, handle: Any) -> Any:
        script: Script = handle.script
        begun = time.monotonic()
        self.begun.append(begun)
        feedback = list(script.feedback)
        result = self._kind.Result()
        for name, value in script.result.items():
            setattr(result, name, value)
        while time.monotonic() - begun < script.lasts and not self._dead.is_set() and not handle.is_cancel_requested:
            while feedback and time.monotonic() - begun >= feedback[0][0]:
                self.told.append(time.monotonic())
                handle.publish_feedback(self._kind.Feedback(**feedback.pop(0)[1]))
            time.sleep(0.002)
        if self._dead.is_set():
            return result
        if handle.is_cancel_requested:
            time.sleep(script.stops_after)
            handle.canceled()
        elif script.aborts:
            handle.abort()
        else:
            handle.succeed()
        self._running -= 1
        self.ends.append(handle.status)
        return result

    def die(self) -> None:
        """Leave in the middle of whatever goes on."""
        if not self._dead.is_set():
            self._dead.set()
            self.spinning.executor.shutdown(timeout_sec=1.0)
            self.server.destroy()
            self.spinning.close()


@pytest.fixture
def client() -> Iterator[Spinning]:
    """The node of the adapters, with the dialogue's kind of executor."""
    spinning = Spinning(f'client_{time.monotonic_ns() % 10**9}', SingleThreadedExecutor())
    yield spinning
    spinning.close()


@pytest.fixture
def server() -> Iterator[Callable[..., ScriptedServer]]:
    """Makes scripted servers that end with the test."""
    made: list[ScriptedServer] = []

    def make(kind: Any, name: str, *scripts: Script) -> ScriptedServer:
        made.append(ScriptedServer(kind, name, *scripts))
        return made[-1]

    yield make
    for each in made:
        each.die()


@pytest.fixture
def action_name() -> str:
    """A name of its own for each test."""
    return f'action_{time.monotonic_ns()}'


@pytest.fixture
def script() -> type[Script]:
    """What a server does with a goal."""
    return Script


@pytest.fixture(name='until')
def until_fixture() -> Callable[..., None]:
    """Waits until a condition holds."""
    return until


@pytest.fixture
def spinning() -> Iterator[Callable[[str], Spinning]]:
    """Makes nodes that spin and end with the test."""
    made: list[Spinning] = []

    def make(name: str) -> Spinning:
        made.append(Spinning(f'{name}_{time.monotonic_ns() % 10**9}', SingleThreadedExecutor()))
        return made[-1]

    yield make
    for each in made:
        each.close()
