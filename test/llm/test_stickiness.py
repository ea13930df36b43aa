"""Every preset against a server that finds the conversation as that engine does."""
from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sticky_engines import (
    ByField,
    ByHeader,
    Dynamo,
    Engine,
    Gateway,
    LiteLlm,
    LlmD,
    LlmDById,
    LlmDPrefill,
    ProductionStack,
    Smg,
)
from support import answer

from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.config import Config, Cost
from pace_ros.config_levels import L2, STICKY, Hedge
from pace_ros.control import CostLedger
from pace_ros.llm import ChatClient, Completion, Endpoint, HedgedChat, L2Error, new_visit
from pace_ros.llm.stickiness import PRESETS, REMEMBERED, Stickiness, Sticky, hedge_of
from pace_ros.settings import ConfigError, with_values

HI = [{'role': 'user', 'content': 'hi'}]
TURNS = 5
URL = 'http://engine/v1'


@contextlib.asynccontextmanager
async def client_of(transport: httpx.AsyncBaseTransport, **settings: object) -> AsyncIterator[ChatClient]:
    config = L2(**{'retries': 0, **settings})  # type: ignore[arg-type]
    client = ChatClient(Endpoint(URL, 'm'), lambda: config, SystemClock(), transport)
    try:
        yield client
    finally:
        await client.aclose()


async def ask(client: ChatClient | HedgedChat, conversation: str = '') -> str:
    async with contextlib.aclosing(client.stream(HI, Completion(), conversation=conversation)) as pieces:
        return ''.join([piece async for piece in pieces])


async def visits(engine: Engine, count: int = 8, **settings: object) -> list[set[str]]:
    """Visits of five turns, side by side; the workers that served each."""
    names = [new_visit() for _ in range(count)]
    async with client_of(engine.transport(), **settings) as client:
        for _ in range(TURNS):
            for name in names:
                assert await ask(client, name) == 'Yes.'
        assert len(client._sticky) == (0 if settings.get('sticky', 'none') == 'none' else count)
    return [set(engine.served[number::count]) for number in range(count)]


ENGINES = [
    pytest.param(Gateway, {'sticky': 'gateway'}, id='gateway'),
    pytest.param(ProductionStack, {'sticky': 'vllm-production-stack'}, id='vllm-production-stack'),
    pytest.param(Smg, {'sticky': 'sglang'}, id='sglang'),
    pytest.param(LlmD, {'sticky': 'llm-d'}, id='llm-d'),
    pytest.param(LlmDPrefill, {'sticky': 'llm-d'}, id='llm-d with prefill apart'),
    pytest.param(LlmDById, {'sticky': 'custom', 'sticky_header': 'x-session-id'}, id='llm-d by identity'),
    pytest.param(LiteLlm, {'sticky': 'litellm'}, id='litellm'),
    pytest.param(Dynamo, {'sticky': 'dynamo'}, id='dynamo'),
    pytest.param(ByField, {'sticky': 'custom', 'sticky_field': 'metadata.visit'}, id='custom field'),
    pytest.param(ByHeader, {'sticky': 'custom', 'sticky_header': 'X-Visit'}, id='custom header'),
]


@pytest.mark.anyio
@pytest.mark.parametrize(('engine', 'settings'), ENGINES)
async def test_a_visit_stays_on_its_worker(engine: type[Engine], settings: dict[str, object]) -> None:
    workers = await visits(engine(), **settings)
    assert all(len(each) == 1 for each in workers)
    assert len(set.union(*workers)) > 1, 'visits are spread over the workers'


@pytest.mark.anyio
@pytest.mark.parametrize(('engine', 'settings'), ENGINES)
async def test_without_stickiness_it_does_not_stay(engine: type[Engine], settings: dict[str, object]) -> None:
    assert any(len(each) > 1 for each in await visits(engine(), sticky='none'))


@pytest.mark.anyio
@pytest.mark.parametrize(('engine', 'settings'), ENGINES)
async def test_two_robots_never_share_a_visit(engine: type[Engine], settings: dict[str, object]) -> None:
    """Both have a conversation 'default'; what they send has nothing in common."""
    told = []
    for _ in range(2):
        it = engine()
        async with client_of(it.transport(), **settings) as client:
            await ask(client, new_visit())
        told.append({*it.told[0].headers.values(), it.told[0].content.decode()})
    ids = [{value for value in each if len(value) == 32} for each in told]
    assert not ids[0] & ids[1]


@pytest.mark.anyio
async def test_a_request_of_no_conversation_carries_nothing() -> None:
    for name in sorted(set(PRESETS) - {'gateway'}):
        engine = Gateway()
        async with client_of(engine.transport(), sticky=name) as client:
            await ask(client)
            assert len(client._sticky) == 0
        sent = engine.told[0]
        assert not {key for key in sent.headers if key.startswith('x-') or key == 'cookie'}, name
        assert set(json.loads(sent.content)) == {
            'model', 'messages', 'stream', 'stream_options', 'max_tokens', 'temperature'
        }


@pytest.mark.anyio
async def test_at_our_gateway_a_request_of_no_conversation_leaves_nothing_behind() -> None:
    """A probe or a judge has a place of its own, which is free again at once."""
    engine = Gateway()
    async with client_of(engine.transport(), sticky='gateway') as client:
        await ask(client, 'visit')
        await ask(client)
        await ask(client)
        passing = [each.headers['x-session-id'] for each in engine.told[1:]]
    assert len({'visit', *passing}) == 3
    assert sorted(engine.ended) == sorted(passing)
    assert set(engine.bound) == {'visit'}


@pytest.mark.anyio
async def test_the_end_of_a_visit_is_told_to_our_gateway_once_and_to_no_other() -> None:
    for name in STICKY[:-1]:
        engine = Gateway()
        async with client_of(engine.transport(), sticky=name) as client:
            await ask(client, 'visit/1 ?')
            client.forget('visit/1 ?')
            client.forget('visit/1 ?')
            client.forget('never heard of')
            assert len(client._sticky) == 0
        assert engine.ended == (['visit/1 ?'] if name == 'gateway' else []), name


@pytest.mark.anyio
async def test_a_replay_is_told_no_end(tmp_path: Path) -> None:
    engine = Gateway()
    async with client_of(engine.transport(), sticky='gateway', replay=str(tmp_path)) as client:
        await ask(client, 'visit')
        client.forget('visit')
    assert engine.ended == []


@pytest.mark.anyio
async def test_a_cookie_never_comes_back() -> None:
    """It would carry what was said to one visit into another."""
    engine = ByHeader()
    async with client_of(engine.transport(), sticky='custom', sticky_header='x-visit') as client:
        for visit in ('one', 'two', 'one', ''):
            await ask(client, visit)
    assert not any('cookie' in each.headers for each in engine.told)


@pytest.mark.anyio
async def test_a_token_of_a_refusal_is_kept_and_one_that_cannot_be_sent_is_not() -> None:
    tokens = iter([b'first', b'x' * 5000, b'', 'é'.encode(), b'last'])
    told: list[str | None] = []

    def handle(request: httpx.Request) -> httpx.Response:
        told.append(request.headers.get('x-session-token'))
        token = next(tokens, b'')
        status = 503 if len(told) == 1 else 200
        headers = [(b'content-type', b'text/event-stream'), (b'x-session-token', token)]
        return httpx.Response(status, headers=headers, content=answer('Yes.'))

    async with client_of(httpx.MockTransport(handle), sticky='llm-d') as client:
        with pytest.raises(L2Error):
            await ask(client, 'visit')
        for _ in range(5):
            await ask(client, 'visit')
    assert told == [None, 'first', 'first', 'first', 'first', 'last']


@pytest.mark.anyio
async def test_an_extra_body_keeps_its_own_fields() -> None:
    engine = ByField()
    extra = {'metadata': {'floor': 2}, 'top_p': 0.5}
    settings = {'sticky': 'custom', 'sticky_field': 'metadata.visit', 'extra_body': json.dumps(extra)}
    async with client_of(engine.transport(), **settings) as client:
        await ask(client, 'v')
        await ask(client)
    bodies = [json.loads(each.content) for each in engine.told]
    assert (bodies[0]['metadata'], bodies[0]['top_p']) == ({'floor': 2, 'visit': 'v'}, 0.5)
    assert bodies[1]['metadata'] == {'floor': 2}


@pytest.mark.anyio
async def test_a_hedge_has_a_place_of_its_own_which_is_the_visit_s() -> None:
    class Late(Gateway):
        async def handle(self, request: httpx.Request) -> httpx.Response:
            if request.method == 'POST' and not request.headers['x-session-id'].endswith('-2'):
                self.told.append(request)
                await asyncio.Event().wait()
            return await super().handle(request)

    engine, hedge = Late(), Hedge(enabled=True, min_samples=2, max_share=1.0)
    async with client_of(engine.transport(), sticky='gateway') as client:
        chat = HedgedChat(client, client, lambda: hedge, CostLedger(Cost), VirtualClock())
        chat._ttfts.extend([0.0, 0.0])
        for _ in range(2):
            assert await ask(chat, 'visit') == 'Yes.'
        chat.forget('visit')
    assert [each.headers['x-session-id'] for each in engine.told] == ['visit', 'visit-2'] * 2
    assert sorted(engine.ended) == ['visit', 'visit-2']
    assert engine.bound == {}


@pytest.mark.anyio
async def test_a_second_endpoint_has_its_own_way_and_its_own_tokens() -> None:
    first, second = Smg(), LlmD()
    config, hedge = L2(sticky='sglang', retries=0), Hedge(enabled=True)
    pair = [ChatClient(Endpoint(URL, 'm'), lambda: config, SystemClock(), engine.transport(), sticky=sticky)
            for engine, sticky in ((first, None), (second, lambda: 'llm-d'))]
    chat = HedgedChat(*pair, lambda: hedge, CostLedger(Cost), VirtualClock())
    for _ in range(2):
        await ask(pair[0], 'visit')
        await ask(pair[1], hedge_of('visit'))
    assert ['x-smg-routing-key' in each.headers for each in (*first.told, *second.told)] == [True, True, False, False]
    assert ['x-session-token' in each.headers for each in (*first.told, *second.told)] == [False, False, False, True]
    chat.forget('visit')
    assert [len(each._sticky) for each in pair] == [0, 0]
    await chat.aclose()


# -- alone -------------------------------------------------------------------------------------------------------------


def test_every_preset_is_a_choice() -> None:
    assert {*PRESETS, 'custom'} == set(STICKY)


def test_the_memory_is_bounded_and_the_least_recent_goes() -> None:
    it = Stickiness(lambda: PRESETS['llm-d'])
    for number in range(REMEMBERED):
        it.marked(str(number), {})
        it.heard(str(number), httpx.Headers({'x-session-token': f't{number}'}))
    it.marked('0', {})
    it.marked('new', {})
    assert len(it) == REMEMBERED
    assert it.marked('0', {})[0] == {'x-session-token': 't0'}
    assert it.marked('1', {})[0] == {}


def test_a_response_to_a_forgotten_visit_is_not_kept() -> None:
    it = Stickiness(lambda: PRESETS['llm-d'])
    it.heard('gone', httpx.Headers({'x-session-token': 't'}))
    assert len(it) == 0


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3),
                    lambda inner: st.dictionaries(st.sampled_from('abc'), inner, max_size=3), max_leaves=8),
       st.lists(st.sampled_from('abc'), min_size=1, max_size=3))
def test_a_field_is_put_in_its_place_and_nothing_given_is_changed(inner: object, path: list[str]) -> None:
    body = {'model': 'm', 'a': inner}
    before = json.dumps(body)
    _, marked = Stickiness(lambda: Sticky(fields=('.'.join(path),))).marked('v', body)
    assert json.dumps(body) == before
    found: object = marked
    for name in path:
        assert isinstance(found, dict)
        found = found[name]
    assert found == 'v'
    assert marked['model'] == 'm'


@pytest.mark.parametrize('values', [
    {'l2.sticky_header': ''},
    {'l2.sticky_header': 'Authorization'},
    {'l2.sticky_header': 'x y'},
    {'l2.sticky_header': 'x-a:\r\nx-b'},
    {'l2.sticky_field': 'metadata.'},
    {'l2.sticky_field': '.'},
    {'l2.sticky_field': 'messages.0'},
])
def test_a_name_that_cannot_be_sent_is_refused_when_it_is_set(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"'l2\.sticky_"):
        with_values(Config(), {'l2.sticky': 'custom', **values})
    with pytest.raises(ConfigError, match=r"'l2\.sticky_"):
        with_values(Config(), {'hedge.sticky': 'custom', **values})


def test_visits_are_random() -> None:
    names = {new_visit() for _ in range(1000)}
    assert len(names) == 1000
    assert all(len(name) == 32 and set(name) <= set('0123456789abcdef') for name in names)
