"""A TCP proxy on loopback that holds every request back for a while: a cloud that is slow, or far away."""
from __future__ import annotations

import asyncio
import contextlib
import math
import threading

READ_BYTES = 1 << 16
ACCEPTED = 0.05  # s in which a connection just accepted has become a task
SAME_REQUEST = 0.05  # s: clients send head and body in two pieces


class DelayingProxy:
    """Passes bytes between its clients and ``port`` on loopback; what clients send waits ``delay`` s. Runs in a thread
    of its own until ``close``. Raises OSError if it cannot listen on ``own_port`` (0 chooses a free one).
    """

    def __init__(self, port: int, delay: float, *, own_port: int = 0) -> None:
        self._upstream = port
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name='delay', daemon=True)
        self._thread.start()
        try:
            self.port = asyncio.run_coroutine_threadsafe(self._open(own_port), self._loop).result(5.0)
        except OSError:
            self._stop()
            raise

    def close(self) -> None:
        """Drop all connections and stop."""
        asyncio.run_coroutine_threadsafe(self._drop(), self._loop).result(5.0)
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)

    async def _open(self, own_port: int) -> int:
        self._server = await asyncio.start_server(self._accept, '127.0.0.1', own_port)
        return int(self._server.sockets[0].getsockname()[1])

    async def _drop(self) -> None:
        self._server.close()
        await asyncio.sleep(ACCEPTED)  # only a task that has begun hangs up when it is cancelled
        for each in self._connections:
            each.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  asyncio runs every client in a task
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until either side hangs up."""
        up_reader, up_writer = await asyncio.open_connection('127.0.0.1', self._upstream)
        pumps = [
            asyncio.ensure_future(_pump(reader, up_writer, self._delay)),
            asyncio.ensure_future(_pump(up_reader, writer, 0.0)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            up_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Pass bytes on until the end of the stream. What follows the end of a hold at once belongs to the same request."""
    loop = asyncio.get_running_loop()
    until = -math.inf
    with contextlib.suppress(OSError):
        while data := await reader.read(READ_BYTES):
            if loop.time() > until + SAME_REQUEST:
                until = loop.time() + delay
            await asyncio.sleep(until - loop.time())
            writer.write(data)
            await writer.drain()
