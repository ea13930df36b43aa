"""GPTCache in place of our levels: the record of a turn is what ours would be."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path as FilePath

import pytest
from harness import COLOURS, FOX, LIGHTHOUSE, until
from support import STALL, KeptOutlet, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse
from whole import configured

from pace_ros import packaged
from pace_ros.clock import SystemClock
from pace_ros.embedding import Embedder
from pace_ros.llm import ChatClient, Endpoint, PromptBook
from pace_ros.retrieval import KnowledgeBase
from pace_ros.study.evaluation.columns import from_record
from pace_ros.study.gptcache import GptCacheArm
from pace_ros.turn import Outcome, Path, TurnRecord, Utterance

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(
    find_spec('gptcache') is None, reason='GPTCache is not installed (requirements/study.txt)'
)]
CLOCK = SystemClock()
STORY = 'Once upon a time there was a lighthouse that nobody could see.'


@contextlib.asynccontextmanager
async def opened(
    cloud: ScriptedCloud, tmp_path: FilePath, knowledge: FilePath, embedder: Embedder, **others: object
) -> AsyncIterator[tuple[GptCacheArm, KeptOutlet]]:
    config, outlet = configured(tmp_path, cloud, **others), KeptOutlet()
    client = ChatClient(Endpoint(cloud.base_url, 'local', ''), lambda: config.l2, CLOCK)
    arm = GptCacheArm(
        embedder, KnowledgeBase([knowledge], embedder, CLOCK),
        PromptBook.read(packaged.config_dir() / 'persona.yaml'), client, CLOCK, lambda: config, outlet=outlet,
        folder=tmp_path / 'gptcache',
    )
    try:
        yield arm, outlet
    finally:
        arm.close()
        await client.aclose()


async def ask(arm: GptCacheArm, text: str, conversation: str = 'a') -> TurnRecord:
    return await arm.ask(Utterance(text, CLOCK.monotonic(), conversation_id=conversation, locale='en-US'))


async def test_a_miss_is_relayed_and_the_repeat_is_a_hit(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(answer(STORY[:20], STORY[20:])) as cloud, opened(
        cloud, tmp_path, knowledge, embedder
    ) as (arm, outlet):
        first, second = await ask(arm, LIGHTHOUSE), await ask(arm, LIGHTHOUSE, 'b')
        assert len(cloud.requests) == 1
    assert (first.path, second.path) == (Path.L2, Path.L0)
    assert (first.answer, second.answer) == (STORY, STORY)
    assert first.outcome is second.outcome is Outcome.ANSWERED
    assert first.admitted
    assert math.isnan(first.cache_score)
    assert second.cache_score == pytest.approx(1.0, abs=1e-5)
    assert (first.tokens_in, first.tokens_out, first.l2_attempts) == (11, 2, 1)
    assert 0 < first.t_embed < first.t_embed + first.t_route < first.ptfr < first.completion
    assert first.ttft < first.ptfr
    assert first.ptfr == pytest.approx(first.t_embed + first.t_route + first.t_path)
    assert math.isnan(second.ttft)
    assert second.ptfr == pytest.approx(second.t_embed + second.t_route + second.t_path)
    assert first.theta_cache == 0.95
    assert [frame.last for frame in outlet.frames].count(True) == 2
    assert ''.join(frame.text for frame in outlet.frames if frame.turn_id == second.turn_id) == STORY
    assert from_record(second)['path'] == 'L0'


async def test_the_prompt_has_passages_persona_and_history(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(answer('It does.')) as cloud, opened(
        cloud, tmp_path, knowledge, embedder, router__theta_cache=1.0
    ) as (arm, _):
        record = await ask(arm, COLOURS)
        await ask(arm, LIGHTHOUSE)
        prompts = PromptBook.read(packaged.config_dir() / 'persona.yaml')
        plain = prompts.messages(COLOURS, 'en-US', passages=(), history=(), persona=True)
        first, second = (request['messages'] for request in cloud.requests)
        assert first[0]['content'].startswith(plain[0]['content'])
        assert 'It comes in red, blue and white.' in first[0]['content']
        assert record.path is Path.L2
        assert record.entry_ids[0] == 'colours'
        assert record.retrieval_score == pytest.approx(1.0, abs=1e-4)
        assert [each['content'] for each in second[1:]] == [COLOURS, 'It does.', LIGHTHOUSE]
        arm.end_conversation('a')
        await ask(arm, FOX)
        assert [each['content'] for each in cloud.requests[2]['messages'][1:]] == [FOX]


@pytest.mark.parametrize(('script', 'reason', 'said', 'path'), [
    (Script([], status=500), 'HTTP 500', '', Path.FALLBACK),
    (answer(), 'no answer', '', Path.FALLBACK),
    (sse(chunk('Once'), {'error': {'message': 'overloaded'}}), 'overloaded', 'Once', Path.L2),
], ids=['refused', 'empty', 'broken off'])
async def test_a_failure_is_a_failed_turn_and_not_kept(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder, script: Script | bytes, reason: str, said: str,
    path: Path,
) -> None:
    async with scripted_cloud(script, answer('Better.')) as cloud, opened(
        cloud, tmp_path, knowledge, embedder
    ) as (arm, _):
        record = await ask(arm, FOX)
        assert record.outcome is Outcome.FAILED
        assert reason in record.reason
        assert (record.answer, record.path, record.admitted) == (said, path, False)
        assert math.isnan(record.ptfr) is not bool(said)
        again = await ask(arm, FOX)
        assert (again.path, again.answer) == (Path.L2, 'Better.')


async def test_a_cancelled_question_leaves_nothing(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(Script([STALL])) as cloud, opened(cloud, tmp_path, knowledge, embedder) as (arm, outlet):
        task = asyncio.create_task(ask(arm, FOX))
        await until(lambda: len(cloud.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert outlet.turns[0].outcome is Outcome.CANCELLED
        await until(lambda: cloud.closed_early == 1)
        assert len(arm.store) == 0


async def test_turns_overlap(tmp_path: FilePath, knowledge: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, answer('Late.')]), answer('Soon.')) as cloud, opened(
        cloud, tmp_path, knowledge, embedder
    ) as (arm, _):
        late = asyncio.create_task(ask(arm, FOX))
        await until(lambda: len(cloud.requests) == 1)
        assert (await ask(arm, LIGHTHOUSE, 'b')).answer == 'Soon.'
        gate.set()
        assert (await late).answer == 'Late.'
        assert [(await ask(arm, text, 'c')).answer for text in (FOX, LIGHTHOUSE)] == ['Late.', 'Soon.']


async def test_what_has_no_vector_goes_to_the_model(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(answer('Pardon?')) as cloud, opened(cloud, tmp_path, knowledge, embedder) as (arm, _):
        records = [await ask(arm, '?!') for _ in range(2)]
        assert [record.path for record in records] == [Path.L2, Path.L2]
        assert not any(record.admitted for record in records)
        assert records[0].t_embed == 0.0


async def test_without_an_outlet_the_record_is_enough(
    tmp_path: FilePath, knowledge: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(answer('Yes.')) as cloud:
        config = configured(tmp_path, cloud)
        client = ChatClient(Endpoint(cloud.base_url, 'local', ''), lambda: config.l2, CLOCK)
        arm = GptCacheArm(
            embedder, KnowledgeBase([knowledge], embedder, CLOCK),
            PromptBook.read(packaged.config_dir() / 'persona.yaml'), client, CLOCK, lambda: config,
        )
        assert (await ask(arm, FOX)).answer == 'Yes.'
        arm.close()
        await client.aclose()
