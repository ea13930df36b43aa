"""Whole turns in which the model, played by a server that calls tools as real ones do, uses the robot's tools."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from pathlib import Path as FilePath

import pytest
import yaml
from harness import FOX, LIGHTHOUSE, House, ScriptedSink, ScriptedSynthesizer, open_house, until
from support import ScriptedCloud, scripted_cloud
from tool_cloud import Shop, answer, calls_as_openai, shop
from whole import ask, assembled, configured

from pace_ros.embedding import Embedder
from pace_ros.embodiment import LocalSpeaker, Voice
from pace_ros.llm.tools.opening import open_tools
from pace_ros.llm.tools.rounds import ToolRounds
from pace_ros.turn import Content, Modality, Outcome, Path, Utterance

pytestmark = pytest.mark.anyio
PRICE = calls_as_openai(('c1', 'price', '{"model": "Lark"}'))
SAID = calls_as_openai(('c1', 'price', '{"model": "Lark"}'), said='Let me see.')
SEARCH = calls_as_openai(('c1', 'search', '{"query": "Where do I find the toilets?"}'))


def declared(market: Shop, **more: object) -> dict[str, object]:
    schema = {'type': 'object', 'properties': {'model': {'type': 'string'}}, 'required': ['model']}
    return {'tools': [
        {'name': 'price', 'kind': 'http', 'description': 'The price of a model.', 'parameters': schema,
         'url': f'{market.url}/{{model}}', 'answer': 'price', **more},
        {'name': 'search', 'kind': 'knowledge', 'description': 'Search what the showroom knows.'},
    ]}


@contextlib.asynccontextmanager
async def tool_house(
    tmp_path: FilePath, embedder: Embedder, cloud: ScriptedCloud, *, tool: dict[str, object] | None = None,
    voice: Voice | None = None, **settings: object,
) -> AsyncIterator[tuple[House, Shop]]:
    async with shop() as market, open_house(
        tmp_path, embedder, cloud, {**settings, 'speech.enabled': voice is not None}, voice=voice
    ) as house:
        market.pages['GET /Lark'] = (200, {'price': 'It costs 12,000.'}, None)
        file = tmp_path / 'tools.yaml'
        file.write_text(yaml.safe_dump(declared(market, **(tool or {}))))
        levels = house.levels
        box = open_tools(file, {}, embedder=embedder, knowledge=levels.knowledge, clock=house.clock)
        levels.tools = ToolRounds(levels.llm, box, lambda: house.config.l2, levels.ledger, house.clock)
        try:
            yield house, market
        finally:
            await house.dialogue.aclose()
            await levels.tools.aclose()


async def test_a_live_answer_is_given_and_never_cached(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(PRICE, answer('Twelve thousand.')) as cloud, tool_house(
        tmp_path, embedder, cloud, **{'volatility.policy': 'off'}
    ) as (house, _):
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.path, record.answer.strip()) == (Outcome.ANSWERED, Path.L2, 'Twelve thousand.')
        assert (record.tool_rounds, [(use.name, use.error) for use in record.tools]) == (1, [('price', '')])
        assert record.ttfet == record.ptfr
        assert math.isnan(record.ttfet_preamble)
        assert (record.volatile_query, record.volatile_reason) == (True, 'tool: price')
        assert (record.admitted, record.admission_reason) == (False, 'tool: price')
        assert (record.tokens_in, record.tokens_out) == (40, 10)
        await cloud.play(answer('A fox.'))
        after = await house.ask(FOX)
        assert (after.admitted, after.admission_reason) == (
            False, 'tool: an earlier answer of a live tool was in the prompt'
        )


async def test_a_preamble_is_heard_but_no_answer(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(SAID, answer('Twelve thousand.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, market):
        gate = asyncio.Event()
        market.pages['GET /Lark'] = (200, {'price': 12}, gate)
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: market.asked)
        assert not turn.informative
        gate.set()
        await house.settled(turn)
        record = turn.record
        assert record.answer.split() == ['Let', 'me', 'see.', 'Twelve', 'thousand.']
        assert (record.preamble.split(), record.effective_answer.strip()) == (['Let', 'me', 'see.'], 'Twelve thousand.')
        assert 0 < record.ttfet_preamble < record.ttfet == record.ptfr
        shown = [onset.content for onset in record.onsets if onset.modality is Modality.TEXT]
        assert shown == [Content.FILLER, Content.ANSWER]
        await cloud.play(answer('A fox.'))
        await house.ask(FOX)
        assert house.asked()[-2]['content'].strip() == 'Twelve thousand.'
        (written,) = [each for each in await house.written() if each.turn_id == record.turn_id]
        assert (written.preamble, [use.name for use in written.tools]) == (record.preamble, ['price'])


async def test_a_preamble_is_spoken_while_the_tool_runs(tmp_path: FilePath, embedder: Embedder) -> None:
    synthesizer = ScriptedSynthesizer()
    sink = ScriptedSink(synthesizer)
    voice = Voice(LocalSpeaker(synthesizer, sink))
    async with scripted_cloud(SAID, answer('Twelve thousand.')) as cloud, tool_house(
        tmp_path, embedder, cloud, voice=voice
    ) as (house, market):
        gate = asyncio.Event()
        market.pages['GET /Lark'] = (200, {'price': 12}, gate)
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: sink.begun() == ['Let me see.'])
        await until(lambda: market.asked)
        assert not turn.informative
        gate.set()
        await house.settled(turn)
        assert sink.begun() == ['Let me see.', 'Twelve thousand.']
        spoken = [onset.content for onset in turn.record.onsets if onset.modality is Modality.SPEECH]
        assert spoken == [Content.FILLER, Content.ANSWER]


async def test_ahead_of_the_visitor_a_tool_with_effects_waits_for_the_last_word(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    on = {'speculation.enabled': True, 'speculation.stable_for': 0.01}
    async with scripted_cloud(PRICE, PRICE, answer('Booked.')) as cloud, tool_house(
        tmp_path, embedder, cloud, tool={'effects': True}, **on
    ) as (house, market):
        house.dialogue.hear_partial(Utterance(
            LIGHTHOUSE, received=house.clock.monotonic(), utterance_id='u', partial=True
        ))
        await until(lambda: (held := house.dialogue._speculator._open.get('default')) and held.task and held.task.done()
                    and held.task.result().request and held.task.result().request.over)
        assert market.asked == []
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.answer.strip(), record.speculation) == ('Booked.', 'dropped: the request failed')
        assert market.asked == ['GET /Lark']


async def test_after_a_preamble_alone_there_is_an_apology(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(SAID, answer('')) as cloud, tool_house(tmp_path, embedder, cloud) as (house, _):
        record = await house.ask(LIGHTHOUSE)
        assert record.outcome is Outcome.FAILED
        assert math.isnan(record.ttfet)
        assert record.ttfet_preamble > 0


async def test_knowledge_found_by_a_tool_is_a_source_of_the_answer(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(SEARCH, answer('Behind the coffee bar.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, _):
        record = await house.ask(FOX)
        assert 'toilets' in record.entry_ids
        assert (record.admitted, record.volatile_query) == (True, False)
        assert house.asked()[-1]['content'].startswith('- The toilets are behind the coffee bar.')
        assert house.cache.invalidate(sources=['toilets']) == 1


async def test_what_is_judged_and_kept_is_the_answer_without_its_preamble(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    unsure = calls_as_openai(('c1', 'search', '{"query": "Where do I find the toilets?"}'), said='I am not sure.')
    async with scripted_cloud(unsure, answer('Behind the coffee bar.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, _):
        record = await house.ask(FOX)
        assert record.preamble.split() == ['I', 'am', 'not', 'sure.']
        assert record.admitted
        assert (await house.ask(FOX, 'another')).answer.strip() == 'Behind the coffee bar.'


async def test_barging_in_ends_the_tool(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(PRICE, answer('A fox.')) as cloud, tool_house(tmp_path, embedder, cloud) as (
        house, market
    ):
        market.pages['GET /Lark'] = (200, {}, asyncio.Event())
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: market.asked)
        assert (await house.ask(FOX)).outcome is Outcome.ANSWERED
        await until(lambda: market.left == 1)
        assert turn.record.outcome is Outcome.PREEMPTED


async def test_no_tools_are_offered_where_there_are_no_rounds(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(answer('A fox.')) as cloud, tool_house(
        tmp_path, embedder, cloud, **{'l2.tool_rounds': 0}
    ) as (house, _):
        assert (await house.ask(FOX)).outcome is Outcome.ANSWERED
        assert 'tools' not in cloud.requests[0]


@pytest.mark.usefixtures('one_encoder', 'knowledge')
async def test_the_assembly_opens_the_file_it_is_given(tmp_path: FilePath) -> None:
    file = tmp_path / 'tools.yaml'
    async with shop() as market, scripted_cloud(PRICE, answer('Twelve thousand.')) as cloud:
        market.pages['GET /Lark'] = (200, {'price': 12}, None)
        file.write_text(yaml.safe_dump(declared(market)))
        async with assembled(configured(tmp_path, cloud, l2__tools_file=str(file))) as (whole, _):
            turn = await ask(whole, LIGHTHOUSE)
    assert turn.record.answer.strip() == 'Twelve thousand.'
    assert market.asked == ['GET /Lark']
