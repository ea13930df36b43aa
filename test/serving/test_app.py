from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from serving_fleet import SimulatedFleet, messages

pytestmark = pytest.mark.anyio
AS_JSON = {'content-type': 'application/json'}
LONG = ' '.join(f'w{number}' for number in range(60))
CHAT = '/v1/chat/completions'
CALL = {'id': 'a', 'type': 'function', 'function': {'name': 'price', 'arguments': '{}'}}


def request(*words: str, **fields: Any) -> dict[str, Any]:
    return {'messages': messages(*words), 'max_tokens': 20, **fields}


async def ask(fleet: SimulatedFleet, *words: str, key: str = 'v', **fields: Any) -> httpx.Response:
    return await fleet.http.post(CHAT, json=request(*words, **fields), headers={'x-session-id': key} if key else {})


def events(response: httpx.Response) -> list[Any]:
    payloads = [line.removeprefix('data: ') for line in response.text.split('\n\n') if line]
    return [each if each == '[DONE]' else json.loads(each) for each in payloads]


async def test_a_whole_answer(fleet: SimulatedFleet) -> None:
    response = await ask(fleet, LONG)
    content = response.json()
    assert (response.status_code, response.headers['x-session-id']) == (200, 'v')
    assert (content['object'], content['model']) == ('chat.completion', 'local')
    assert content['usage']['prompt_tokens'] == 63
    assert content['choices'][0]['finish_reason'] == 'length'
    assert len(content['choices'][0]['message']['content'].split()) == 5
    assert 'timings' not in content


async def test_a_streamed_answer_says_the_same(fleet: SimulatedFleet) -> None:
    whole = (await ask(fleet, LONG, key='a')).json()['choices'][0]['message']['content']
    response = await ask(fleet, LONG, key='b', stream=True)
    assert response.headers['content-type'].startswith('text/event-stream')
    *chunks, done = events(response)
    assert done == '[DONE]'
    assert ''.join(each['choices'][0]['delta'].get('content') or '' for each in chunks) == whole
    assert {each['model'] for each in chunks} == {'local'}
    assert not any('usage' in each or 'timings' in each for each in chunks)


async def test_usage_is_streamed_if_asked_for(fleet: SimulatedFleet) -> None:
    response = await ask(fleet, LONG, stream=True, stream_options={'include_usage': True})
    assert events(response)[-2]['usage']['prompt_tokens'] == 63


@pytest.mark.parametrize('stream', [False, True])
async def test_calls_of_tools_pass(fleet: SimulatedFleet, stream: bool) -> None:
    for replica in fleet.replicas.values():
        replica.calls = [CALL]
    tools = [{'type': 'function', 'function': {'name': 'price', 'parameters': {}}}]
    response = await ask(fleet, LONG, tools=tools, stream=stream)
    if stream:
        calls = [each['choices'][0]['delta'].get('tool_calls') for each in events(response)[:-1]]
        assert [each for each in calls if each] == [[{'index': 0, **CALL}]]
    else:
        assert response.json()['choices'][0]['message']['tool_calls'] == [CALL]
    fleet.check()


async def test_no_client_names_a_slot_or_a_file(fleet: SimulatedFleet) -> None:
    await ask(fleet, LONG, key='a')
    await ask(fleet, LONG, key='b', id_slot=0, filename='x', cache_prompt=False, n_predict=5)
    sent = [asked for name, asked in fleet['d2'].seen if name == 'completions']
    assert {name: sent[0].get(name) for name in ('id_slot', 'filename', 'cache_prompt', 'n_predict')} == {
        'id_slot': 0, 'filename': None, 'cache_prompt': True, 'n_predict': None,
    }
    assert [asked for name, asked in fleet['d1'].seen if name == 'completions'] == [
        asked for name, asked in fleet['d1'].seen if name == 'completions' and asked['max_tokens'] == 20
    ]
    assert (fleet.home('a'), fleet.home('b')) == ('d1', 'd2')


async def test_a_conversation_without_a_name_goes_on_by_its_history(fleet: SimulatedFleet) -> None:
    first = await ask(fleet, LONG, key='')
    other = await ask(fleet, LONG, key='')
    assert first.headers['x-session-id'] != other.headers['x-session-id']
    said = first.json()['choices'][0]['message']['content']
    later = await ask(fleet, LONG, said, 'next', key='')
    assert later.headers['x-session-id'] == first.headers['x-session-id']
    assert len(fleet.gateway.conversations) == 2


async def test_a_turn_that_failed_can_be_asked_again(fleet: SimulatedFleet) -> None:
    first = await ask(fleet, LONG, key='')
    said = first.json()['choices'][0]['message']['content']
    fleet['d1'].faults.breaks_after = 2
    assert (await ask(fleet, LONG, said, 'next', key='')).status_code == 502
    fleet['d1'].faults.breaks_after = None
    again = await ask(fleet, LONG, said, 'next', key='')
    assert again.headers['x-session-id'] == first.headers['x-session-id']


async def test_a_decoder_lost_in_the_middle_is_no_end(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.dies_after = 2
    response = await ask(fleet, LONG, stream=True)
    assert response.status_code == 200
    *_, last = events(response)
    assert last['error']['code'] == 502
    assert last['error']['message'] == 'The replica that answered was lost.'
    assert '[DONE]' not in response.text
    assert (await ask(fleet, LONG)).status_code == 200
    fleet.check()


async def test_lost_before_its_first_token_it_is_not_noticed(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.dies_after = 0
    *chunks, done = events(await ask(fleet, LONG, stream=True))
    assert done == '[DONE]'
    assert len([each for each in chunks if each['choices'][0]['delta'].get('role')]) == 1


async def test_a_full_fleet_says_when_to_come_again(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=1)
    assert [(await ask(fleet, LONG, key=key)).status_code for key in 'ab'] == [200, 200]
    response = await ask(fleet, LONG, key='c')
    assert response.status_code == 429
    assert int(response.headers['retry-after']) == 600  # s until the first of them ends by itself
    assert response.json()['error']['message'] == 'every slot is taken by a conversation.'
    assert response.json()['error']['type'] == 'rate_limit_error'
    assert (await fleet.http.delete('/v1/conversations/a')).status_code == 204
    assert (await ask(fleet, LONG, key='c')).status_code == 200
    fleet.check()


async def test_a_conversation_without_a_name_gives_its_slot_to_a_newcomer(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=1)
    first, second = [await ask(fleet, LONG, str(number), str(number), key='') for number in range(2)]
    assert (await ask(fleet, LONG, key='c')).status_code == 200
    assert {each.key for each in fleet.gateway.conversations} == {second.headers['x-session-id'], 'c'}
    assert fleet.gateway.tally.ended == {'gave way': 1}
    assert (await ask(fleet, LONG, key='d')).status_code == 200
    full = await ask(fleet, LONG, key='')
    assert (full.status_code, full.headers['retry-after']) == (429, '600')
    assert (await fleet.http.delete('/v1/conversations/d')).status_code == 204
    words = first.json()['choices'][0]['message']['content']
    again = await ask(fleet, LONG, '0', '0', words, 'and then?', key='')  # read again under its own name
    assert (again.status_code, again.headers['x-session-id']) == (200, first.headers['x-session-id'])
    fleet.check()


async def test_it_gives_way_to_one_that_has_lost_its_replica(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, slots=1)
    words = (await ask(fleet, LONG, key='a')).json()['choices'][0]['message']['content']
    await ask(fleet, LONG, key='')
    assert fleet.home('a') == 'd1'
    fleet['d1'].kill()
    assert (await ask(fleet, LONG, words, 'and then?', key='a')).status_code == 200
    assert fleet.home('a') == 'd2'
    assert fleet.gateway.tally.ended == {'gave way': 1}
    fleet.check()


async def test_where_a_conversation_is_answered_for_the_first_time_is_shown(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.stalls_after = 2
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: ask(fleet, LONG, stream=True))
        with anyio.fail_after(5):
            while fleet['d1'].reads < 1:  # noqa: ASYNC110  what happens there tells nobody
                await anyio.sleep(0.001)
        (shown,) = (await fleet.http.get('/v1/conversations')).json()['conversations']
        group.cancel_scope.cancel()
    assert (shown['replica'], shown['slot'], shown['turns'], shown['under_way']) == ('d1', 0, 0, 1)


async def test_too_many_conversations(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'limits': {'conversations': 1}})
    assert [(await ask(fleet, LONG, key=key)).status_code for key in 'ab'] == [200, 429]


async def test_a_prompt_beyond_every_context_is_refused_for_good(fleet: SimulatedFleet) -> None:
    response = await ask(fleet, ' '.join([LONG] * 5))
    assert (response.status_code, response.headers.get('retry-after')) == (413, None)
    assert 'more than a context of 256' in response.json()['error']['message']
    assert (fleet.gateway.tally.too_long, fleet.gateway.tally.refused) == (1, 0), 'room was there'


async def test_no_replica_is_well(fleet: SimulatedFleet) -> None:
    assert (await fleet.http.get('/health')).json()['status'] == 'ok'
    for replica in fleet.replicas.values():
        replica.kill()
    response = await ask(fleet, LONG)
    assert (response.status_code, response.headers['retry-after']) == (503, '1')
    health = await fleet.http.get('/health')
    assert (health.status_code, health.json()['status']) == (503, 'no decoder is well')


async def test_where_roles_say_nothing_a_prefiller_that_is_well_is_enough(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': 'collocated'})
    for name in ('d1', 'd2'):
        fleet[name].kill()
        fleet.gateway.lost(name)
    assert await fleet.ask('v', LONG)
    assert (await fleet.http.get('/health')).status_code == 200


async def test_what_is_known_of_conversations(fleet: SimulatedFleet) -> None:
    await ask(fleet, LONG, key='a/b')
    listed = (await fleet.http.get('/v1/conversations')).json()['conversations']
    assert listed == [{'id': 'a/b', 'turns': 1, 'under_way': 0, 'replica': 'd1', 'slot': 0, 'held': 67, 'reserved': 0}]
    assert (await fleet.http.delete('/v1/conversations/a%2Fb')).status_code == 204
    assert (await fleet.http.delete('/v1/conversations/a%2Fb')).status_code == 404
    assert fleet['d1'].slots[0].held == []
    assert fleet.gateway.tally.ended == {'told': 1}
    fleet.check()


async def test_a_visitor_who_leaves_does_not_wait_for_a_turn(fleet: SimulatedFleet) -> None:
    fleet['d1'].faults.stalls_after = 2
    async with contextlib.aclosing(fleet.gateway.answer('v', request(LONG))) as chunks:
        await anext(chunks)
        with anyio.fail_after(1):
            assert (await fleet.http.delete('/v1/conversations/v')).status_code == 202
        assert len(fleet.gateway.conversations) == 1
    assert (len(fleet.gateway.conversations), fleet.gateway.tally.ended) == (0, {'told': 1})
    assert fleet['d1'].slots[0].held == []
    fleet.check()


async def test_two_who_say_that_a_visitor_has_left(fleet: SimulatedFleet) -> None:
    await ask(fleet, LONG)
    statuses = []

    async def leave() -> None:
        statuses.append((await fleet.http.delete('/v1/conversations/v')).status_code)

    async with anyio.create_task_group() as group:
        group.start_soon(leave)
        group.start_soon(leave)
    assert 204 in statuses
    assert set(statuses) <= {202, 204, 404}
    assert fleet.gateway.tally.ended == {'told': 1}


async def test_metrics_and_models(fleet: SimulatedFleet) -> None:
    await ask(fleet, LONG)
    text = (await fleet.http.get('/metrics')).text
    for line in ('l2_gateway_turns_total 1.0', 'l2_gateway_handed_over_total 1.0', 'l2_gateway_conversations 1.0',
                 'l2_gateway_replica_kv_held{replica="d1"} 67.0', 'l2_gateway_replica_well{replica="p"} 1.0'):
        assert line in text.splitlines()
    assert [each['id'] for each in (await fleet.http.get('/v1/models')).json()['data']] == ['local']


async def test_one_model_by_its_name(fleet: SimulatedFleet) -> None:
    assert (await fleet.http.get('/v1/models/local')).json()['id'] == 'local'
    other = await fleet.http.get('/v1/models/gpt-9')
    assert (other.status_code, other.json()['error']['message']) == (404, "There is no model 'gpt-9' here.")


@pytest.mark.parametrize(('method', 'path', 'status', 'says'), [
    ('GET', '/docs', 404, 'Not Found'), ('GET', '/v1/nothing', 404, 'Not Found'),
    ('GET', CHAT, 405, 'Method Not Allowed'),
    ('DELETE', '/v1/conversations/nobody', 404, 'There is no such conversation.'),
])
async def test_other_paths(fleet: SimulatedFleet, method: str, path: str, status: int, says: str) -> None:
    response = await fleet.http.request(method, path)
    told = {'message': says, 'type': 'invalid_request_error', 'code': status}
    assert (response.status_code, response.json()) == (status, {'error': told})
