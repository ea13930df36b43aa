"""One answer on its way: its pieces when they are due, and its slot free when it is over."""
from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

STALL = 600.0  # s of silence after which a stalled connection breaks


class Dropped(ConnectionError):
    """The connection breaks."""


@dataclass(frozen=True)
class Plan:
    """``pieces`` are due at ``times`` (s after a slot is free). The connection breaks before piece ``drop``, falls
    silent before piece ``stall``, and breaks at the instant ``cut`` on the loop's clock.
    """

    pieces: tuple[bytes, ...]
    times: tuple[float, ...]
    drop: int | None = None
    stall: int | None = None
    cut: float = math.inf


class Generation:
    """Counts as in flight from its making to ``aclose`` or its end; ``over`` is called once then."""

    def __init__(self, plan: Plan, slots: asyncio.Semaphore, over: Callable[[], None]) -> None:
        self._plan = plan
        self._slots = slots
        self._over: Callable[[], None] | None = over
        self._said = self._say()

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        """The pieces as they come, once. Raises Dropped."""
        return self._said

    async def aclose(self) -> None:
        """The client has gone, or has read it all."""
        self._end()
        await self._said.aclose()

    def _end(self) -> None:
        over, self._over = self._over, None
        if over is not None:
            over()

    async def _say(self) -> AsyncGenerator[bytes, None]:
        plan, loop = self._plan, asyncio.get_running_loop()
        try:
            async with self._slots:
                begin = loop.time()
                for number, (piece, time) in enumerate(zip(plan.pieces, plan.times, strict=True)):
                    if number == plan.stall:
                        await _until(min(loop.time() + STALL, plan.cut))
                        raise Dropped('the connection fell silent')
                    await _until(min(begin + time, plan.cut))
                    if number == plan.drop or begin + time > plan.cut:
                        raise Dropped('the connection broke')
                    yield piece
        finally:
            self._end()


async def _until(due: float) -> None:
    """Wait for an instant on the loop's clock."""
    remaining = due - asyncio.get_running_loop().time()
    if remaining > 0.0:
        await asyncio.sleep(remaining)
