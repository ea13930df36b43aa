"""A request under way in a task of its own: its text waits until somebody takes it, and cancelling it ends it."""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import TracebackType

from pace_ros.llm.completion import Completion
from pace_ros.llm.errors import L2Refused

Stream = Callable[[Completion], AsyncGenerator[str, None]]


class InFlight:
    """Starts at once. An asynchronous context manager that leaves nothing running, and an iterator over the pieces.

    ``report`` fills while the request runs; ``begun`` is the monotonic instant of its start (s).
    """

    def __init__(self, stream: Stream, begun: float) -> None:
        self.report = Completion()
        self.begun = begun
        self._pieces: asyncio.Queue[str | Exception | None] = asyncio.Queue()
        self._settled = asyncio.Event()
        self._speaks = False
        self._over = False
        self._error: Exception | None = None
        self.pieces = 0
        self.report.on_call = self._settled.set
        self._task = asyncio.get_running_loop().create_task(self._pump(stream), name='request')
        self._task.add_done_callback(self._end)  # it may be cancelled before its first step

    @property
    def speaks(self) -> bool:
        """Whether its first piece has come."""
        return self._speaks

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self._over

    @property
    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return self._error is not None

    @property
    def too_long(self) -> bool:
        """Whether it was refused for the length of its prompt."""
        return isinstance(self._error, L2Refused) and self._error.too_long

    @property
    def calls(self) -> bool:
        """Whether it has begun to call a tool, or ended with calls."""
        return self.report.calling or (self._over and bool(self.report.calls))

    async def settled(self) -> bool:
        """Wait for the first piece, for the beginning of a call, or for the end if there is neither; says whether there
        is a piece.
        """
        await self._settled.wait()
        return self._speaks

    def end(self) -> None:
        """End the request: no further piece comes."""
        self._task.cancel()

    async def aclose(self) -> None:
        """End the request and wait until it has ended."""
        self.end()
        await asyncio.wait([self._task])

    async def __aenter__(self) -> InFlight:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncIterator[str]:
        """The pieces as they come. Raises after the last of them what the stream raised, an L2Error above all."""
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def _pump(self, stream: Stream) -> None:
        try:
            async with contextlib.aclosing(stream(self.report)) as pieces:
                async for piece in pieces:
                    self.pieces += 1
                    self._pieces.put_nowait(piece)
                    self._speaks = True
                    self._settled.set()
        except Exception as error:  # whoever reads is told, and must not wait for ever
            self._error = error

    def _end(self, _: asyncio.Task[None]) -> None:
        self._over = True
        self._pieces.put_nowait(self._error)
        self._settled.set()
