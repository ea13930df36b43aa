"""Who may ask the gateway, and how."""
from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from serving_fleet import SimulatedFleet, body

from pace_ros.serving.app import make_app

pytestmark = pytest.mark.anyio
CHAT = '/v1/chat/completions'
ASK = body('hello')


@pytest.mark.parametrize('host', ['127.0.0.1', '127.0.0.1:8090', 'localhost:1', 'localhost', '[::1]', '[::1]:8090'])
async def test_this_machine_is_answered(fleet: SimulatedFleet, host: str) -> None:
    assert (await fleet.http.post(CHAT, json=ASK, headers={'host': host})).status_code == 200


@pytest.mark.parametrize('host', [
    'evil.example', 'evil.example:8090', 'localhost.evil.example', '127.0.0.1.evil.example', 'www.localhost', '',
    '192.168.1.5:8090', 'localhost@evil.example',
])
@pytest.mark.parametrize(('method', 'path'), [
    ('POST', CHAT), ('GET', '/v1/conversations'), ('DELETE', '/v1/conversations/v'),
])
async def test_a_name_that_a_web_page_has_bound_to_this_machine_is_not(
    fleet: SimulatedFleet, host: str, method: str, path: str,
) -> None:
    await fleet.ask('v', 'hello')
    response = await fleet.http.request(method, path, json=ASK if method == 'POST' else None, headers={'host': host})
    assert (response.status_code, response.text) == (400, 'Invalid host header')
    assert fleet.gateway.tally.turns == 1
    assert fleet.home('v') is not None


@pytest.mark.parametrize('kind', [
    'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '', None,
    'text/plain; application/json', 'application/jsonp',
])
async def test_what_any_web_page_may_send_is_refused(fleet: SimulatedFleet, kind: str | None) -> None:
    content = httpx.Request('POST', 'http://localhost', json=ASK).content
    response = await fleet.http.post(CHAT, content=content, headers={} if kind is None else {'content-type': kind})
    assert response.status_code == 415
    assert response.json()['error']['message'] == f"The content-type must be application/json, not {kind or ''!r}."
    assert fleet['p'].seen == []


@pytest.mark.parametrize('kind', ['application/json', 'Application/JSON; charset=utf-8', 'application/json;x=y'])
async def test_what_is_json_is_taken(fleet: SimulatedFleet, kind: str) -> None:
    content = httpx.Request('POST', 'http://localhost', json=ASK).content
    assert (await fleet.http.post(CHAT, content=content, headers={'content-type': kind})).status_code == 200


async def test_no_web_page_is_allowed_more(fleet: SimulatedFleet) -> None:
    asks = {'origin': 'http://evil.example', 'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type'}
    response = await fleet.http.options(CHAT, headers=asks)
    assert response.status_code == 405
    assert not [name for name in response.headers if name.startswith('access-control')]


@pytest.mark.parametrize(('borne', 'status'), [
    ('Bearer right', 200), ('bearer right', 200), ('Bearer wrong', 401), ('right', 401), ('Basic right', 401),
    ('', 401), ('Bearer ', 401), ('Bearer rightly', 401),
])
@pytest.mark.parametrize('path', ['/v1/models', '/health', '/metrics', '/v1/conversations'])
async def test_a_token_is_borne_everywhere(fleet: SimulatedFleet, borne: str, status: int, path: str) -> None:
    app = make_app(fleet.gateway, token='right')  # noqa: S106
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://gateway') as http:
        response = await http.get(path, headers={'authorization': borne} if borne else {})
        assert response.status_code == status
        if status == 401:
            assert response.headers['www-authenticate'] == 'Bearer'
            assert response.json()['error']['message'] == 'The bearer token is missing or wrong.'
            assert (await http.post(CHAT, json=ASK, headers={'authorization': borne})).status_code == 401
            assert (await http.delete('/v1/conversations/v')).status_code == 401


async def test_keys_are_in_no_log_and_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level('DEBUG')
    fleet = SimulatedFleet(tmp_path, api_key='replica-secret')
    assert (await fleet.http.post(CHAT, json=ASK)).status_code == 200
    fleet['d1'].api_key = 'another'
    fleet['d2'].api_key = 'another'
    response = await fleet.http.post(CHAT, json=ASK)
    assert response.status_code == 502
    assert 'replica-secret' not in caplog.text + response.text + (await fleet.http.get('/metrics')).text
