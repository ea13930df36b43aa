from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

from pace_ros.study.live_serving.visitor import ANSWERED, CUT, FAILED, HUNG, REFUSED, Heard, Visitor, error_of


def event(content: object) -> bytes:
    return b'data: ' + json.dumps(content).encode() + b'\n\n'


def said(text: str) -> bytes:
    return event({'choices': [{'delta': {'content': text}}]})


DONE = b'data: [DONE]\n\n'
USAGE = event({'choices': [], 'usage': {'prompt_tokens': 9, 'prompt_tokens_details': {'cached_tokens': 7}}})


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes], *, breaks: bool = False) -> None:
        self._pieces, self._breaks = pieces, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self._pieces:
            yield each
        if self._breaks:
            raise httpx.RemoteProtocolError('peer closed')


async def heard_of(*pieces: bytes, status: int = 200, breaks: bool = False) -> tuple[Heard, Visitor, httpx.Request]:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, stream=Pieces(list(pieces), breaks=breaks), headers={'retry-after': '2'})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        visitor = Visitor(http, 'http://gateway/v1', 'v1', 'Be brief.')
        return await visitor.ask('Hello?', max_tokens=4), visitor, asked[0]


@pytest.mark.anyio
async def test_an_answered_turn_is_in_the_history() -> None:
    heard, visitor, request = await heard_of(said('Hel'), said('lo.'), USAGE, DONE)
    assert heard.outcome == ANSWERED
    assert (heard.text, heard.prompt, heard.cached, len(heard.pieces)) == ('Hello.', 9, 7, 2)
    assert [each['content'] for each in visitor.messages] == ['Be brief.', 'Hello?', 'Hello.']
    assert request.headers['x-session-id'] == 'v1'
    assert json.loads(request.content)['max_tokens'] == 4


@pytest.mark.anyio
async def test_what_fails_is_told_from_what_is_cut() -> None:
    told, visitor, _ = await heard_of(said('Hel'), event({'error': {'message': 'decode-1 is lost'}}))
    assert (told.outcome, told.error) == (FAILED, 'decode-1 is lost')
    assert len(visitor.messages) == 1
    assert (await heard_of(said('Hel')))[0].outcome == CUT
    assert (await heard_of(said('Hel'), breaks=True))[0].outcome == CUT
    assert (await heard_of())[0].outcome == CUT


@pytest.mark.anyio
async def test_a_refusal_needs_words() -> None:
    told = (await heard_of(json.dumps({'error': {'message': 'full'}}).encode(), status=429))[0]
    assert (told.outcome, told.status, told.error, told.retry_after) == (REFUSED, 429, 'full', 2.0)
    assert (await heard_of(b'<html>', status=502))[0].outcome == CUT
    assert error_of(b'{"error": "text"}') == ''


@pytest.mark.anyio
async def test_a_turn_that_does_not_end_is_given_up() -> None:
    async def never(_request: httpx.Request) -> httpx.Response:
        await anyio.sleep_forever()
        raise AssertionError

    async with httpx.AsyncClient(transport=httpx.MockTransport(never)) as http:
        heard = await Visitor(http, 'http://gateway/v1', 'v1').ask('Hello?', patience=0.0)
    assert heard.outcome == HUNG


def test_times_by_hand() -> None:
    heard = Heard(10.0, pieces=[11.0, 11.5, 14.0, 14.1])
    assert heard.ttfet == 1.0
    assert heard.worst_gap(11.0, 14.1) == 2.5
    assert heard.worst_gap(12.0, 20.0) == pytest.approx(5.9)  # nothing more came
    assert heard.worst_gap(12.0, 13.0) == 1.0  # it has not ended yet, and what was before does not count
    assert Heard(10.0).ttfet == math.inf
