from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
import uvicorn
from study_clouds import EXACT, PRICE, cloud_of

from pace_ros.clock import SystemClock
from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Completion, Endpoint, L2Error
from pace_ros.llm.errors import L2Refused, L2Unreachable
from pace_ros.study.cloud import CloudSettings, SimulatedCloud
from pace_ros.study.cloud.server import application

pytestmark = pytest.mark.anyio
QUICK = EXACT.changed(first_token_median=0.05, gap_mean=0.002)


@contextlib.asynccontextmanager
async def served(settings: CloudSettings) -> AsyncIterator[tuple[SimulatedCloud, str]]:
    """A cloud on a free port, and its base URL."""
    cloud = cloud_of(settings)
    config = uvicorn.Config(application(cloud), port=0, log_level='critical', lifespan='off', loop='asyncio', ws='none')
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield cloud, f'http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1'
    finally:
        await server.shutdown()


async def heard(base_url: str) -> tuple[str, L2Error | None]:
    client = ChatClient(Endpoint(base_url, 'any'), lambda: L2(retries=0), SystemClock())
    text = ''
    try:
        with anyio.fail_after(10.0):
            async for piece in client.stream([{'role': 'user', 'content': PRICE.text}], Completion()):
                text += piece
    except L2Error as error:
        return text, error
    finally:
        await client.aclose()
    return text, None


async def test_the_robot_hears_the_whole_answer_over_http() -> None:
    async with served(QUICK) as (cloud, url):
        text, error = await heard(url)
        assert error is None
        assert PRICE.answer in text
        assert cloud.in_flight == 0
        async with httpx.AsyncClient() as client:
            assert (await client.get(f'{url}/models')).json()['object'] == 'list'
            assert (await client.get(url.replace('/v1', '/health'))).json() == {'status': 'ok'}


@pytest.mark.parametrize(('trouble', 'kind', 'status'), [
    ({'error_share': 1.0}, L2Refused, 500),
    ({'outages': ('0-100',), 'outage_kind': 'unavailable'}, L2Refused, 503),
    ({'outages': ('0-100',)}, L2Unreachable, None),
    ({'drop_share': 1.0}, L2Unreachable, None),
])
async def test_trouble_arrives_as_what_it_is(trouble: dict[str, object], kind: type, status: int | None) -> None:
    async with served(QUICK.changed(**trouble)) as (cloud, url):
        text, error = await heard(url)
        assert type(error) is kind
        assert getattr(error, 'status', None) == status
        assert bool(text) == ('drop_share' in trouble)
        assert cloud.in_flight == 0


async def test_a_client_that_hangs_up_frees_its_slot() -> None:
    async with served(QUICK.changed(first_token_median=60.0)) as (cloud, url):
        left, over = asyncio.Event(), cloud._over
        cloud._over = lambda: (over(), left.set())  # type: ignore[assignment, method-assign, func-returns-value]
        async with httpx.AsyncClient() as client:
            body = {'messages': [{'role': 'user', 'content': PRICE.text}], 'stream': True}
            async with client.stream('POST', f'{url}/chat/completions', json=body):
                assert cloud.in_flight == 1
        with anyio.fail_after(10.0):
            await left.wait()
        assert cloud.in_flight == 0
