"""What is refused, and what nobody expected: a client is told, whatever it is."""
from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from serving_fleet import SimulatedFleet, body

from pace_ros.serving import app as app_module
from pace_ros.serving.app import make_app
from pace_ros.serving.client_errors import MISTAKE
from pace_ros.serving.keeper import Keeper

pytestmark = pytest.mark.anyio
AS_JSON = {'content-type': 'application/json'}
CHAT = '/v1/chat/completions'


async def ask(fleet: SimulatedFleet, words: str = 'hello', *, key: str = 'v', **fields: Any) -> httpx.Response:
    return await fleet.http.post(CHAT, json=body(words, **fields), headers={'x-session-id': key})


def mistaken(fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch, error: Exception, words: int) -> None:
    """From now on the gateway stumbles after so many chunks."""
    answer = fleet.gateway.answer

    async def stumbles(key: str, asked: dict[str, Any], *, derived: bool) -> AsyncIterator[Any]:
        async with contextlib.aclosing(answer(key, asked, derived=derived)) as chunks:
            for _ in range(words):
                yield await anext(chunks)
        raise error

    monkeypatch.setattr(fleet.gateway, 'answer', stumbles)


@pytest.mark.parametrize('error', [KeyError('inside'), TypeError('inside'), ValueError('inside'), OSError('inside')])
@pytest.mark.parametrize(('words', 'stream'), [(0, False), (0, True), (2, False), (2, True)])
async def test_a_mistake_is_told_counted_and_in_the_log(
    fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception,
    words: int, stream: bool,
) -> None:
    mistaken(fleet, monkeypatch, error, words)
    response = await ask(fleet, stream=stream)
    told = {'message': MISTAKE.message, 'type': 'server_error', 'code': 500}
    if words and stream:
        *words_said, last = [line.removeprefix('data: ') for line in response.text.split('\n\n') if line]
        assert (response.status_code, json.loads(last), len(words_said)) == (200, {'error': told}, 2)
    else:
        assert (response.status_code, response.json()) == (500, {'error': told})
    assert 'inside' not in response.text
    assert [each.exc_info[1] for each in caplog.records if each.exc_info] == [error]
    assert fleet.gateway.tally.failed == 1
    monkeypatch.undo()
    assert (await ask(fleet)).status_code == 200
    fleet.check()


async def test_a_mistake_is_no_client_that_has_hung_up(fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await ask(fleet)).status_code == 200
    monkeypatch.setattr(fleet.gateway.policy, 'learn', lambda *_: 1 / 0)
    assert (await ask(fleet)).status_code == 500
    assert (fleet.gateway.tally.hung_up, fleet.gateway.tally.failed) == (0, 1)
    (conversation,) = fleet.gateway.conversations
    assert conversation.until == fleet.clock.monotonic() + 600.0, 'it lives as long as it did'
    fleet.check()


async def test_a_mistake_elsewhere_has_the_same_shape(
    fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet.gateway, 'states', None)
    transport = httpx.ASGITransport(make_app(fleet.gateway), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url='http://localhost') as http:
        response = await http.get('/health')
    assert (response.status_code, response.json()['error']['message']) == (500, MISTAKE.message)


async def test_nobody_is_answered_before_the_fleet_was_looked_at(fleet: SimulatedFleet) -> None:
    fleet['d1'].kill()
    fleet['p'].faults.hangs.add('health')
    app = make_app(fleet.gateway)
    async with app.router.lifespan_context(app):
        assert (await fleet.http.get('/health')).json()['replicas'] == {'p': False, 'd1': False, 'd2': True}
        response = await ask(fleet)
        assert (response.status_code, fleet.home('v')) == (200, 'd2')


async def test_a_mistake_in_the_first_look_is_no_end(
    fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Keeper, 'look', lambda _self: 1 / 0)
    app = make_app(fleet.gateway)
    async with app.router.lifespan_context(app):
        assert (await ask(fleet)).status_code == 200
    assert 'the first look at the fleet failed' in caplog.text


async def test_a_body_that_is_too_large(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'limits': {'body': 1000}})
    response = await ask(fleet, 'w ' * 1000)
    assert response.status_code == 413
    assert response.json()['error']['message'] == 'The body is larger than 1000 bytes.'


async def test_a_body_that_does_not_come(fleet: SimulatedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, 'BODY_TIME', 0.02)

    async def never() -> AsyncIterator[bytes]:
        yield b'{'
        await anyio.sleep(0.2)

    assert (await fleet.http.post(CHAT, content=never(), headers=AS_JSON)).status_code == 408


@pytest.mark.parametrize('content', [b'{', b'[]', b'{"messages": []}', b'{"messages": [{"role": "user"}], "n": 3}'])
async def test_bad_requests(fleet: SimulatedFleet, content: bytes) -> None:
    response = await fleet.http.post(CHAT, content=content, headers=AS_JSON)
    assert response.status_code == 400
    assert response.json()['error']['type'] == 'invalid_request_error'
    assert fleet['p'].seen == []


async def test_a_bad_identity(fleet: SimulatedFleet) -> None:
    response = await ask(fleet, key='x' * 300)
    assert response.status_code == 400
    assert 'x-session-id' in response.json()['error']['message']


async def test_what_a_server_refuses_is_passed_on(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.refuses['completions'] = 400, 'Field x is wrong'
    response = await ask(fleet)
    assert response.status_code == 400
    assert response.json()['error']['message'] == 'Field x is wrong'
    assert fleet.gateway.ledger.accounts() == []
