"""Connections that say nothing, in front of a real server."""
from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator

import anyio
import pytest
import uvicorn

from pace_ros.serving.connections import CONNECTIONS, PatientProtocol, affordable
from pace_ros.serving.l2_gateway import Server, listening

pytestmark = pytest.mark.anyio
REQUEST = b'GET / HTTP/1.1\r\nHost: here\r\n\r\n'
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Hasty(PatientProtocol):
    head_time = 0.3


async def greet(scope: dict[str, object], receive: object, send: object) -> None:
    assert scope['type'] == 'http'
    assert callable(send)
    if scope['path'] == '/slow':
        await asyncio.sleep(3 * Hasty.head_time)
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})
    await send({'type': 'http.response.body', 'body': b'hi'})


@contextlib.asynccontextmanager
async def served(protocol: type[PatientProtocol] = PatientProtocol, most: int | None = None) -> AsyncIterator[int]:
    bound = listening('127.0.0.1', 0)
    server = uvicorn.Server(uvicorn.Config(greet, log_level='error', lifespan='off', http=protocol,
                                           limit_concurrency=most, timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [bound])
        yield bound.getsockname()[1]
        server.should_exit = True


async def opened(port: int) -> Connection:
    return await asyncio.open_connection('127.0.0.1', port)


async def answered(connection: Connection, request: bytes = REQUEST) -> bytes:
    reader, writer = connection
    writer.write(request)
    with anyio.fail_after(5):
        head = await reader.readuntil(b'\r\n\r\n')
        assert await reader.readexactly(2) == b'hi', head
    return head


async def ended(connection: Connection) -> bool:
    with anyio.fail_after(5):
        try:
            return await connection[0].read() == b''
        except ConnectionError:
            return True


@pytest.mark.parametrize('begun', [b'', b'GET', REQUEST[:-2]], ids=['silent', 'a word', 'no end'])
async def test_a_head_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    async with served(Hasty) as port:
        connection = await opened(port)
        connection[1].write(begun)
        assert await ended(connection)


async def test_nor_one_after_an_answer() -> None:
    async with served(Hasty) as port:
        connection = await opened(port)
        await answered(connection)
        connection[1].write(REQUEST[:-2])
        assert await ended(connection)


async def test_an_answer_takes_its_time() -> None:
    async with served(Hasty) as port:
        connection = await opened(port)
        await answered(connection, REQUEST.replace(b'/ ', b'/slow '))
        assert b'200' in await answered(connection)


async def test_those_silent_longest_give_way_and_nobody_who_is_answered() -> None:
    async with served(most=4) as port:
        busy = await opened(port)
        busy[1].write(REQUEST.replace(b'/ ', b'/slow '))
        silent = [await opened(port) for _ in range(20)]
        assert b'200' in await answered(await opened(port))
        assert all([await ended(each) for each in silent[:17]])
        with anyio.fail_after(5):
            assert b'200' in await busy[0].readuntil(b'\r\n\r\n')


def test_the_gateway_waits_for_nobody_else() -> None:
    server = Server(greet, ending=1)  # type: ignore[arg-type]  any application does
    server.config.load()
    assert server.config.http_protocol_class is PatientProtocol
    assert server.config.limit_concurrency == affordable()


@pytest.mark.parametrize(('soft', 'hard', 'most', 'then'), [
    (1024, 4096, CONNECTIONS, 2112), (1024, 1024, 480, 1024), (4096, 4096, CONNECTIONS, 4096), (32, 32, 1, 32),
    (256, resource.RLIM_INFINITY, CONNECTIONS, 2112), (resource.RLIM_INFINITY, resource.RLIM_INFINITY, CONNECTIONS, -1),
])
def test_there_are_no_more_than_there_can_be_files(
    soft: int, hard: int, most: int, then: int, monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, 'getrlimit', lambda _what: limits[-1])
    monkeypatch.setattr(resource, 'setrlimit', lambda _what, new: limits.append(new))
    assert affordable() == most
    assert limits[-1] == (then, hard)
