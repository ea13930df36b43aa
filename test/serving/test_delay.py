from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from harness import until

from pace_ros.serving.delay import DelayingProxy

DELAY = 0.4


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """A server that answers every line with itself."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.mark.anyio
async def test_each_request_is_held_once_in_how_many_pieces_it_may_come(echo: int) -> None:
    proxy = DelayingProxy(echo, DELAY)
    try:
        reader, writer = await asyncio.open_connection('127.0.0.1', proxy.port)
        for _ in range(2):
            begin = time.monotonic()
            writer.write(b'head and ')
            await writer.drain()
            await asyncio.sleep(DELAY / 4)  # the second piece comes while the first is held
            writer.write(b'body\n')
            assert await asyncio.wait_for(reader.readline(), 5.0) == b'head and body\n'
            assert DELAY <= time.monotonic() - begin < 2 * DELAY
            await asyncio.sleep(0.1)  # a visitor thinks
        writer.close()
    finally:
        await asyncio.to_thread(proxy.close)


@pytest.mark.anyio
async def test_a_client_of_a_server_that_is_not_there_is_hung_up_on() -> None:
    proxy = DelayingProxy(9, DELAY)
    try:
        reader, _ = await asyncio.open_connection('127.0.0.1', proxy.port)
        assert await asyncio.wait_for(reader.read(), 5.0) == b''
    finally:
        await asyncio.to_thread(proxy.close)


@pytest.mark.anyio
async def test_closing_drops_every_connection_and_frees_the_port(echo: int) -> None:
    proxy = DelayingProxy(echo, DELAY)
    reader, writer = await asyncio.open_connection('127.0.0.1', proxy.port)
    writer.write(b'half')
    await writer.drain()
    await until(lambda: proxy._connections)
    await asyncio.to_thread(proxy.close)
    assert await asyncio.wait_for(reader.read(), 5.0) == b''
    again = DelayingProxy(echo, 0.0, own_port=proxy.port)
    await asyncio.to_thread(again.close)


@pytest.mark.anyio
async def test_a_port_in_use_is_refused(echo: int) -> None:
    with pytest.raises(OSError, match='in use'):
        DelayingProxy(echo, 0.0, own_port=echo)
