"""An asyncio loop in virtual time: waiting costs nothing, computing is charged."""
from __future__ import annotations

import asyncio
import contextlib
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar('T')
EPOCH = 1_800_000_000.0  # wall time (s since the Unix epoch) at which a run in virtual time begins
STUCK = 10.0  # s of real time without any timer or event, after which nothing can happen any more
ROUNDING = 1e-9  # s
STEP = 5e-4  # s


class Stuck(RuntimeError):
    """Every task waits for something that no timer will bring."""


class _Skipping(selectors.BaseSelector):
    """Looks at the real files without waiting, and reports the time that asyncio wanted to wait."""

    def __init__(self, skip: Callable[[float], None]) -> None:
        self._real = selectors.DefaultSelector()
        self._skip = skip

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As the real selector."""
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """As the real selector."""
        return self._real.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; if nothing is, the time up to the next timer passes at once. Raises Stuck."""
        if timeout is not None and timeout <= 0:
            return self._real.select(0)
        ready = self._real.select(STUCK if timeout is None else 0)
        if not ready:
            if timeout is None:
                raise Stuck('nothing can happen any more: every task waits, and no timer is set')
            self._skip(timeout)
        return ready

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """As the real selector."""
        return self._real.get_map()

    def close(self) -> None:
        """As the real selector."""
        self._real.close()


class _Computed:
    """CPU time (s) of this thread, but for what was free.

    Asking the system for it costs more than most of what is measured. So within ``STEP`` of the last answer the steady
    clock stands in; a gap longer than that may be another process's, and the system is asked.
    """

    def __init__(self) -> None:
        self._free = 0.0
        self._answer, self._asked = time.thread_time(), time.perf_counter()
        self._last = 0.0
        self._paused: float | None = None

    def now(self) -> float:
        """So much until now; it never goes back."""
        if self._paused is None:
            self._last = max(self._last, self._total() - self._free)
        return self._last

    def pause(self) -> None:
        """What follows is free."""
        self.now()
        self._paused = self._total()

    def resume(self) -> None:
        """It is no longer."""
        if self._paused is not None:
            self._free += self._total() - self._paused
            self._paused = None

    def _total(self) -> float:
        moment = time.perf_counter()
        if moment - self._asked >= STEP:
            self._answer, self._asked = time.thread_time(), moment
            return self._answer
        return self._answer + moment - self._asked


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes in three ways: up to the next timer where nothing is to do; by what the loop's thread computes, in
    CPU time (``measured``); and by ``charge``. Work for executors is done at once, in the loop's thread.

    It models a robot on which one core does the dialogue's work and the network and other processes do not compete
    for it.
    """

    def __init__(self, *, measured: bool) -> None:
        self._skipped = 0.0
        self._computed = _Computed() if measured else None
        self._depth = 0
        super().__init__(_Skipping(self._skip))

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._skipped if self._computed is None else self._skipped + self._computed.now()

    def charge(self, seconds: float) -> None:
        """Let so much time pass, as for a computation of fixed cost."""
        self._skipped += seconds

    @contextlib.contextmanager
    def free(self) -> Iterator[None]:
        """What is computed inside costs nothing: it is another machine's work, or the study's own."""
        if self._computed is None:
            yield
            return
        self._depth += 1
        if self._depth == 1:
            self._computed.pause()
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._computed.resume()

    def run_in_executor(  # type: ignore[override]  # typeshed's signature has type variables that 3.10 cannot write
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Do the work now."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _skip(self, seconds: float) -> None:
        self._skipped += seconds + ROUNDING


class LoopClock:
    """The loop's time as the robot's clock; ``epoch`` is the wall time (s since the Unix epoch) at its zero."""

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: float = EPOCH) -> None:
        self._loop = loop
        self._epoch = epoch

    def monotonic(self) -> float:
        """Seconds since the loop was made."""
        return self._loop.time()

    def wall(self) -> float:
        """Seconds since the Unix epoch."""
        return self._epoch + self._loop.time()


def run(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and close the loop; what is still running then is cancelled."""
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()
