from __future__ import annotations

import asyncio
import json
import math

import pytest
from starlette.exceptions import HTTPException

from pace_ros.serving.chat_request import RequestError, TooLarge
from pace_ros.serving.client_errors import MISTAKE, HungUp, error_event, error_response, told
from pace_ros.serving.conversations import TooMany
from pace_ros.serving.identity import IdentityError
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaRefused, ReplicaSlow, TimeUp
from pace_ros.serving.seating import Refused


@pytest.mark.parametrize(('error', 'status', 'after', 'kind'), [
    (RequestError('x'), 400, None, 'invalid_request_error'), (TooLarge('x'), 413, None, 'invalid_request_error'),
    (IdentityError('x'), 400, None, 'invalid_request_error'),
    (HTTPException(405, 'x'), 405, None, 'invalid_request_error'),
    (Refused('x', math.inf), 413, None, 'invalid_request_error'), (Refused('x', 2.1), 429, '3', 'rate_limit_error'),
    (Refused('x', 1.0, outage=True), 503, '1', 'server_error'), (TooMany('x'), 429, '1', 'rate_limit_error'),
    (ReplicaDown('x'), 502, None, 'server_error'), (ReplicaSlow('x'), 502, None, 'server_error'),
    (TimeUp('x'), 502, None, 'server_error'),
    (ReplicaRefused('x', status=400), 400, None, 'invalid_request_error'),
    (ReplicaRefused('x', status=401), 502, None, 'server_error'),
    (ReplicaRefused('x', status=503), 502, None, 'server_error'),
    (HungUp(), 499, None, 'invalid_request_error'), (asyncio.CancelledError(), 503, '1', 'server_error'),
])
def test_what_a_client_is_told(error: BaseException, status: int, after: str | None, kind: str) -> None:
    response = error_response(error)
    content = json.loads(bytes(response.body))['error']
    assert (response.status_code, response.headers.get('retry-after')) == (status, after)
    assert (content['code'], content['type']) == (status, kind)
    assert content['message']
    event = error_event(error)
    assert event.endswith(b'\n\n')
    assert json.loads(event.removeprefix(b'data: ')) == {'error': content}


@pytest.mark.parametrize('error', [
    ReplicaDown('d1: RemoteProtocolError: peer closed connection'), ReplicaRefused('d1: Invalid API key', status=401),
    ReplicaRefused('d1: compute error', status=500), ReplicaSlow('d1 did not answer /tokenize within 5 s'),
    TimeUp('d1 gave no token within 0.5 s'),
])
def test_what_went_wrong_inside_the_fleet_is_for_the_log(error: Exception) -> None:
    assert told(error).status == 502
    assert not set(str(error).split()) & set(told(error).message.split())


@pytest.mark.parametrize('error', [KeyError('secret'), TypeError('secret'), OSError('secret'), TimeoutError('secret')])
def test_a_mistake_is_told_without_what_it_was(error: Exception) -> None:
    assert told(error) is MISTAKE
    assert error_response(error).status_code == 500
    assert b'secret' not in bytes(error_response(error).body) + error_event(error)


@pytest.mark.parametrize(('words', 'message'), [('Field x is off', 'Field x is off'), ('', 'The request is refused.')])
def test_what_is_wrong_with_a_request_is_told_without_who_says_so(words: str, message: str) -> None:
    error = ReplicaRefused(f'd1: HTTP 400: {words}', status=400, words=words)
    assert (told(error).status, told(error).message) == (400, message)
