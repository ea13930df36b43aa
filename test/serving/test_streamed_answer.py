from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from pace_ros.serving.replica_errors import ReplicaDown
from pace_ros.serving.streamed_answer import StreamedAnswer
from pace_ros.serving.usage import Chunk

pytestmark = pytest.mark.anyio
SCOPE = {'type': 'http', 'asgi': {'spec_version': '2.3'}}


def chunk(word: str) -> Chunk:
    return {'choices': [{'index': 0, 'delta': {'content': word}}]}


class Answer:
    """Ten words, unless something happens at the third; ``closed`` once it is."""

    def __init__(self, error: BaseException | None = None, *, stalls: bool = False) -> None:
        self.error = error
        self.stalls = stalls
        self.closed = False
        self.said = 0

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        try:
            for number in range(10):
                if self.error is not None and number == 2:
                    raise self.error
                if self.stalls and number == 2:
                    await anyio.sleep_forever()
                self.said += 1
                yield chunk(f'w{number}')
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()  # settling takes a moment, too
            self.closed = True


class Client:
    """Takes so many messages, then hangs up or takes nothing more."""

    def __init__(self, *, takes: float = 100, hangs_up: bool = False) -> None:
        self.takes = takes
        self.hangs_up = hangs_up
        self.taken: list[Any] = []
        self.gone = anyio.Event()

    async def send(self, message: Any) -> None:
        if len(self.taken) >= self.takes:
            if self.hangs_up:
                self.gone.set()
            await anyio.sleep_forever()
        self.taken.append(message)

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {'type': 'http.disconnect'}

    @property
    def events(self) -> list[Any]:
        content = b''.join(each['body'] for each in self.taken[1:]).decode()
        return [each if each == '[DONE]' else json.loads(each) for each in content.split('\n\n')
                for each in [each.removeprefix('data: ')] if each]


async def sent(answer: Answer, client: Client, *, patience: float = 5.0) -> list[Exception]:
    failed: list[Exception] = []
    streamed = StreamedAnswer(chunk('first'), answer.chunks(), usage=False, headers={}, patience=patience,
                              failed=failed.append)
    with anyio.fail_after(5):
        await streamed(SCOPE, client.receive, client.send)
    return failed


async def test_whole_to_its_end() -> None:
    answer, client = Answer(), Client()
    assert await sent(answer, client) == []
    assert client.events == [chunk('first'), *(chunk(f'w{number}') for number in range(10)), '[DONE]']
    assert answer.closed


@pytest.mark.parametrize('takes', [0, 1, 3, 12])
async def test_a_client_that_takes_nothing_more_holds_nothing(takes: int, caplog: pytest.LogCaptureFixture) -> None:
    answer, client = Answer(), Client(takes=takes)
    assert await sent(answer, client, patience=0.03) == []
    assert len(client.taken) == takes
    assert answer.closed or answer.said == 0
    assert 'a client took nothing of its answer for 0.03 s' in caplog.text


async def test_a_client_that_hangs_up_holds_nothing() -> None:
    answer, client = Answer(), Client(takes=3, hangs_up=True)
    assert await sent(answer, client) == []
    assert answer.closed


@pytest.mark.parametrize(('error', 'code'), [
    (ReplicaDown('d1: gone'), 502), (KeyError('delta'), 500), (TypeError('x'), 500), (TimeoutError(), 500),
])
async def test_what_goes_wrong_on_the_way_is_no_end(error: Exception, code: int) -> None:
    answer, client = Answer(error), Client()
    assert await sent(answer, client) == [error]
    *words, last = client.events
    assert words == [chunk('first'), chunk('w0'), chunk('w1')]
    assert last['error']['code'] == code
    assert client.taken[-1]['more_body'] is False


@pytest.mark.parametrize('takes', [100, 3])
async def test_a_gateway_that_ends_says_so_to_who_listens(takes: int) -> None:
    answer, client = Answer(stalls=True), Client(takes=takes)
    streamed = StreamedAnswer(chunk('first'), answer.chunks(), usage=False, headers={}, patience=0.05, failed=print)
    task = asyncio.ensure_future(streamed(SCOPE, client.receive, client.send))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with anyio.fail_after(5):
        await asyncio.wait([task])
    assert answer.closed
    assert len(client.taken) == min(takes, 5)
    if takes == 100:
        assert client.events[-1]['error'] == {'message': 'The gateway is ending.', 'type': 'server_error', 'code': 503}
