"""The gateway behind a real server, on loopback, with a real client."""
from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx
import pytest
import uvicorn
from serving_fleet import SimulatedFleet, messages

from pace_ros.clock import SystemClock
from pace_ros.serving.app import make_app
from pace_ros.serving.l2_gateway import listening, url_of

pytestmark = pytest.mark.anyio
LONG = ' '.join(f'w{number}' for number in range(60))
ASK = {'messages': messages(LONG), 'max_tokens': 20}
KEY = {'x-session-id': 'v'}


@contextlib.asynccontextmanager
async def served(fleet: SimulatedFleet) -> AsyncIterator[httpx.AsyncClient]:
    bound = listening('127.0.0.1', 0)
    server = uvicorn.Server(uvicorn.Config(make_app(fleet.gateway), log_level='error', timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [bound])
        async with httpx.AsyncClient(base_url=url_of(bound), trust_env=False, timeout=10) as http:
            yield http
        server.should_exit = True


async def until(condition: object) -> None:
    assert callable(condition)
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110  what happens there tells nobody
            await anyio.sleep(0.005)


@pytest.fixture
def fleet(tmp_path: Path) -> SimulatedFleet:
    return SimulatedFleet(tmp_path, {'deadlines': {'first_token': 5.0, 'next_token': 5.0}}, clock=SystemClock())


async def test_answers_streamed_and_whole(fleet: SimulatedFleet) -> None:
    async with served(fleet) as http:
        whole = await http.post('/chat/completions', json=ASK, headers=KEY)
        async with http.stream('POST', '/chat/completions', json={**ASK, 'stream': True}, headers=KEY) as response:
            lines = [line async for line in response.aiter_lines() if line]
    assert whole.json()['choices'][0]['message']['content']
    assert lines[-1] == 'data: [DONE]'
    fleet.check()


@pytest.mark.parametrize('stream', [False, True])
@pytest.mark.parametrize('words', [0, 2])
async def test_a_client_that_hangs_up_frees_the_server_and_keeps_its_conversation(
    fleet: SimulatedFleet, stream: bool, words: int,
) -> None:
    fleet['d1'].faults.stalls_after = words
    async with served(fleet) as http:
        with anyio.move_on_after(10) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: http.post('/chat/completions', json={**ASK, 'stream': stream}, headers=KEY))
                await until(lambda: len(fleet['d1'].slots[0].held or ()) == 63 + max(0, words - 1)
                            and fleet.gateway.states['d1'].streams == 1 and fleet['d1'].reads)
                group.cancel_scope.cancel()
            await until(lambda: fleet['d1'].closed == 1)
            await until(lambda: fleet.gateway.states['d1'].streams == 0)
        assert not scope.cancelled_caught
        assert fleet.home('v') == 'd1'
        fleet['d1'].faults.stalls_after = None
        again = await http.post('/chat/completions', json=ASK, headers=KEY)
        assert again.status_code == 200
    assert fleet.gateway.tally.handed_over == 1
    fleet.check()


async def test_a_body_that_is_too_large_gets_its_answer(fleet: SimulatedFleet) -> None:
    async with served(fleet) as http:
        response = await http.post('/chat/completions', json={'messages': messages('x' * 1_500_000)})
        assert response.status_code == 413
        assert (await http.get('/models')).status_code == 200
