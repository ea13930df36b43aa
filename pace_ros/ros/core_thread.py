"""The core's asyncio loop in a thread of its own, and the way back into rclpy's executor."""
from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from rclpy.executors import Executor
from rclpy.task import Future

T = TypeVar('T')


class CoreThread:
    """Runs the core; rclpy's callbacks hand work over and never wait for it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name='core', daemon=True)
        self._thread.start()

    def call_soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function on the loop as soon as it is free."""
        self._loop.call_soon_threadsafe(function, *arguments)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def stop(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            self._loop.close()


def in_executor(executor: Executor, source: concurrent.futures.Future[Any]) -> Future:
    """A future that rclpy coroutines can await, resolved from inside the executor so that it wakes up."""
    target = Future(executor=executor)

    def settle() -> None:
        if error := source.exception():
            target.set_exception(error)
        else:
            target.set_result(source.result())
        executor.wake()  # for the coroutine that awaits it: a settled future alone wakes nobody

    source.add_done_callback(lambda _source: executor.create_task(settle))
    return target
