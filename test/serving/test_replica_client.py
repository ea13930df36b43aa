from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from pace_ros.clock import VirtualClock
from pace_ros.serving.fleet import Deadlines, Replica
from pace_ros.serving.replica_client import ReplicaClient, SlotState
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused, ReplicaSlow, TimeUp
from pace_ros.serving.simulated_replica import SimulatedReplica

pytestmark = pytest.mark.anyio
ONE = Replica('one', 'http://one')
ASK = {'messages': [{'role': 'user', 'content': 'a b c'}], 'max_tokens': 3}
DEADLINES = Deadlines(connect=0.05, tokenize=0.05, prefill=0.05, hand_over=0.05, first_token=0.05, next_token=0.05)


def client(transport: httpx.AsyncBaseTransport, clock: VirtualClock | None = None) -> ReplicaClient:
    return ReplicaClient(ONE, DEADLINES, clock or VirtualClock(), transport=transport)


def answering(status: int = 200, text: str = '') -> ReplicaClient:
    return client(httpx.MockTransport(lambda _request: httpx.Response(status, text=text)))


async def streamed(asked: ReplicaClient, slot: int | None = 0) -> list[dict[str, Any]]:
    async with contextlib.aclosing(asked.stream(ASK, slot)) as chunks:
        return [chunk async for chunk in chunks]


async def test_a_prompts_tokens_are_those_it_is_answered_to() -> None:
    replica = SimulatedReplica()
    asked = client(replica)
    tokens = await asked.tokens(ASK)
    *_, last = await streamed(asked)
    assert len(tokens) == last['usage']['prompt_tokens'] == 6
    assert 'max_tokens' not in replica.seen[0][1]


async def test_a_slot_is_named_or_left_to_the_server() -> None:
    replica = SimulatedReplica()
    await streamed(client(replica), 1)
    await streamed(client(replica), None)
    assert [asked.get('id_slot') for _, asked in replica.seen] == [1, None]
    assert [len(each.held or ()) for each in replica.slots] == [8, 8]


async def test_a_prefill_leaves_the_prompt_alone() -> None:
    replica = SimulatedReplica()
    usage = await client(replica).prefill({**ASK, 'stream': True}, 0)
    assert (usage.prompt, usage.cached, usage.held) == (6, 0, 6)
    assert len(replica.slots[0].held or ()) == 6


async def test_slots_as_the_server_sees_them() -> None:
    replica = SimulatedReplica(slots=2, context=64)
    asked = client(replica)
    await asked.prefill(ASK, 1)
    assert await asked.slots() == [SlotState(64, 0, busy=False), SlotState(64, 6, busy=False)]
    await asked.erase(1)
    assert (await asked.slots())[1].tokens == 0


async def test_a_server_that_does_not_tell_a_slots_tokens() -> None:
    listed = '[{"id": 0, "n_ctx": 64, "is_processing": false, "id_task": 3}]'
    assert await answering(text=listed).slots() == [SlotState(64, None, busy=False)]


@pytest.mark.parametrize(('status', 'text', 'says'), [
    (200, 'hello', 'no JSON object'), (200, '[]', 'no JSON object'),
    (200, '{"error": {"code": 500, "message": "compute error"}}', 'HTTP 500: compute error'),
    (200, '{"error": {"code": "server_error", "message": "boom"}}', 'HTTP 502: boom'),
    (502, '<html>bad  gateway</html>', 'HTTP 502: <html>bad gateway</html>'), (500, 'x' * 5000, 'x{300}$'),
])
async def test_a_bad_answer_gets_a_sentence(status: int, text: str, says: str) -> None:
    with pytest.raises(ReplicaRefused, match=says) as refused:
        await answering(status, text).prefill(ASK, 0)
    assert str(refused.value).startswith('one')
    assert not refused.value.for_the_request
    assert refused.value.failed


@pytest.mark.parametrize('status', [200, 503])
async def test_a_server_that_loads_its_model_holds_nothing(status: int) -> None:
    asked = answering(status, '{"error": {"code": 503, "message": "Loading model"}}')
    for call in (asked.prefill(ASK, 0), asked.tokens(ASK)):
        with pytest.raises(ReplicaDown, match='one: HTTP 503: Loading model'):
            await call


@pytest.mark.parametrize(('call', 'texts'), [
    ('tokens', ['{"x": 1}']), ('tokens', ['{"prompt": "a"}', '{"tokens": null}']),
    ('tokens', ['{"prompt": "a"}', '{"tokens": ["a"]}']), ('tokens', ['{"prompt": "a"}', '{"tokens": [[1]]}']),
    ('prefill', ['{}']), ('prefill', ['{"usage": {"prompt_tokens": "many"}}']),
    ('prefill', ['{"usage": {"prompt_tokens": -1}}']), ('prefill', ['{"usage": {}, "timings": [1]}']),
    ('prefill', ['{"usage": {"prompt_tokens": 1}, "timings": {"cache_n": 2}}']),
    ('prefill', ['{"usage": {"prompt_tokens": Infinity}}']), ('prefill', ['{"error": {"code": "x"}}']),
    ('save', ['{}']), ('save', ['{"n_saved": null, "n_written": 1}']), ('restore', ['{}']),
    ('restore', ['{"n_restored": {}}']), ('stream', ['data: {"choices": 1}']), ('stream', ['data: {"choices": ["a"]}']),
    ('stream', ['data: {"choices": [{"delta": "a"}]}']), ('stream', ['data: {"usage": {"prompt_tokens": [1]}}']),
    ('stream', ['data: {"error": {"code": "server_error"}}']), ('stream', ['data: {"error": {"code": null}}']),
])
async def test_answers_of_another_shape_are_the_replicas_fault(call: str, texts: list[str]) -> None:
    rest = iter([f'{each}\n\n' for each in texts])
    asked = client(httpx.MockTransport(lambda _request: httpx.Response(200, text=next(rest))))
    calls = {'tokens': lambda: asked.tokens(ASK), 'prefill': lambda: asked.prefill(ASK, 0),
             'save': lambda: asked.save(0, 'x'), 'restore': lambda: asked.restore(0, 'x'),
             'stream': lambda: streamed(asked)}
    with pytest.raises(ReplicaRefused, match=r'^one: ') as refused:
        await calls[call]()
    assert refused.value.status == 502


@pytest.mark.parametrize('text', ['{}', '[]', '[1]', '[{}]', 'x'])
async def test_slots_that_are_none(text: str) -> None:
    with pytest.raises(ReplicaRefused, match=r'/slots is not what|lists no slots'):
        await answering(text=text).slots()


@pytest.mark.parametrize(('text', 'error'), [
    ('', ReplicaDown), ('data: {"choices": []}\n\n', ReplicaDown), ('data: [DONE]\n\n', ReplicaRefused),
    ('data: x\n\n', ReplicaRefused), ('data: {"error": {"message": "no room"}}\n\n', ReplicaRefused),
])
async def test_a_stream_that_is_no_answer(text: str, error: type[ReplicaError]) -> None:
    with pytest.raises(error, match='one'):
        await streamed(answering(text=text))


@pytest.mark.parametrize('call', ['completions', 'tokenize', 'save', 'slots'])
async def test_every_call_has_its_deadline(call: str) -> None:
    replica = SimulatedReplica()
    replica.faults.hangs.add(call)
    asked = client(replica)
    calls = {'completions': lambda: asked.prefill(ASK, 0), 'tokenize': lambda: asked.tokens(ASK),
             'save': lambda: asked.save(0, 'x'), 'slots': asked.slots}
    with pytest.raises(ReplicaSlow, match='one'):
        await calls[call]()
    replica.faults.hangs.clear()
    replica.faults.dead = True
    with pytest.raises(ReplicaDown, match='one'):
        await calls[call]()


async def test_what_is_left_of_a_turn_is_a_deadline_too(clock: VirtualClock) -> None:
    """It is no fault of the replica's."""
    asked = client(SimulatedReplica(), clock)
    for call in (asked.prefill(ASK, 0, until=clock.monotonic()), asked.tokens(ASK, until=clock.monotonic())):
        with pytest.raises(TimeUp, match='within 0 s'):
            await call
    async with contextlib.aclosing(asked.stream(ASK, 0, until=clock.monotonic())) as chunks:
        with pytest.raises(TimeUp, match='within 0 s'):
            await anext(chunks)


async def test_who_expects_more_waits_for_less(clock: VirtualClock) -> None:
    replica = SimulatedReplica()
    replica.faults.stalls_after = 0
    asked = ReplicaClient(ONE, Deadlines(), clock, transport=replica)
    with anyio.fail_after(5):
        with pytest.raises(ReplicaSlow, match=r'within 0\.01 s'):
            await asked.prefill(ASK, 0, patience=0.01)
        async with contextlib.aclosing(asked.stream(ASK, 1, patience=0.01)) as chunks:
            await anext(chunks)  # the role
            with pytest.raises(ReplicaSlow, match=r'gave no token within 0\.01 s'):
                await anext(chunks)


async def test_health(clock: VirtualClock) -> None:
    replica = SimulatedReplica()
    asked = client(replica, clock)
    clock.advance(5.0)
    assert await asked.healthy()
    assert asked.heard == 5.0
    clock.advance(5.0)
    replica.faults.hangs.add('health')
    assert not await asked.healthy()
    replica.kill()
    assert not await asked.healthy()
    assert asked.heard == 5.0


@pytest.mark.parametrize(('status', 'its_own'), [(400, True), (413, True), (401, False), (404, False), (500, False)])
def test_whose_fault_it_is(status: int, its_own: bool) -> None:
    assert ReplicaRefused('no', status=status).for_the_request is its_own


async def test_chunks_that_say_nothing_earn_no_more_patience(clock: VirtualClock) -> None:
    async def events() -> AsyncIterator[bytes]:
        for _ in range(100):
            clock.advance(2.0)
            await anyio.lowlevel.checkpoint()
            yield b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'

    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=events()))
    asked = ReplicaClient(ONE, Deadlines(first_token=5.0), clock, transport=transport)
    with anyio.fail_after(5), pytest.raises(ReplicaSlow, match='one gave no token within 5 s'):
        await streamed(asked)
    assert clock.monotonic() == 8.0, 'the fourth is not waited for'
