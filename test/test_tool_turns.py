"""Whole turns in which the model, played by a server that calls tools as real ones do, uses the robot's tools."""
from __future__ import annotations

import asyncio
import math
from pathlib import Path as FilePath

import pytest
import yaml
from harness import FOX, LIGHTHOUSE, REMARKS, ScriptedSink, ScriptedSynthesizer, until
from support import DROP, STALL, Script, chunk, scripted_cloud, sse
from tool_cloud import answer, calls_as_openai, shop
from tool_house import PRICE, SAID, SEARCH, declared, tool_house
from whole import ask, assembled, configured

from pace_ros.embedding import Embedder
from pace_ros.embodiment import LocalSpeaker, Voice
from pace_ros.turn import Content, Modality, Outcome, Path, Utterance

pytestmark = pytest.mark.anyio
BROKEN = sse({'error': {'message': 'boom'}})
TOO_LONG = Script([b'{}'], status=413)


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
            False, "tool: an earlier answer that is nobody else's was in the prompt"
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


async def test_an_answer_that_begins_as_its_preamble_did_has_an_onset_of_its_own(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    synthesizer = ScriptedSynthesizer()
    voice = Voice(LocalSpeaker(synthesizer, ScriptedSink(synthesizer)))
    sure = calls_as_openai(('c1', 'price', '{"model": "Lark"}'), said='Sure. Let me see.')
    async with scripted_cloud(sure, answer('Sure. It costs 12.')) as cloud, tool_house(
        tmp_path, embedder, cloud, voice=voice
    ) as (house, _):
        record = await house.ask(LIGHTHOUSE)
        spoken = [(onset.content, onset.detail) for onset in record.onsets if onset.modality is Modality.SPEECH]
        assert synthesizer.texts == ['Sure.', 'Let me see.', 'Sure.', 'It costs 12.']
        assert spoken == [(Content.FILLER, 'Sure.'), (Content.ANSWER, 'Sure.')]


async def test_what_is_published_of_a_stopped_turn_tells_of_its_tools(tmp_path: FilePath, embedder: Embedder) -> None:
    begins = Script([sse(chunk('Twelve ')), STALL])
    async with scripted_cloud(PRICE, begins) as cloud, tool_house(tmp_path, embedder, cloud) as (house, _):
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: turn.informative)
        house.dialogue.stop_all('stop')
        await house.settled(turn)
        (published,), (written,) = house.outlet.turns, await house.written()
    for record in (published, written):
        assert record.outcome is Outcome.CANCELLED
        assert (record.tool_rounds, [use.name for use in record.tools]) == (1, ['price'])
        assert 0 < record.ttft <= record.ttfet == record.ptfr


async def test_a_turn_stopped_while_its_tool_runs_has_begun_a_round(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(SAID) as cloud, tool_house(tmp_path, embedder, cloud) as (house, market):
        market.pages['GET /Lark'] = (200, {}, asyncio.Event())
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: market.asked)
        house.dialogue.stop_all('stop')
        (published,) = house.outlet.turns
        assert (published.tool_rounds, published.tools) == (1, ())
        assert math.isnan(published.ttfet)
        assert published.ttfet_preamble == published.perceived_latency > 0
        await house.settled(turn)


@pytest.mark.parametrize(('failing', 'said'), [
    (BROKEN, ''), (Script([sse(chunk('It is')), DROP]), 'It is '),
], ids=['before the answer', 'within the answer'])
async def test_what_was_done_is_told_and_remembered_where_the_answer_does_not_come(
    tmp_path: FilePath, embedder: Embedder, failing: Script | bytes, said: str
) -> None:
    async with scripted_cloud(PRICE, failing, answer('It is booked.')) as cloud, tool_house(
        tmp_path, embedder, cloud, tool={'effects': True}
    ) as (house, market):
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.answer) == (Outcome.FAILED, said + REMARKS.acted('en'))
        assert record.reason.startswith('l2: ')
        after = await house.ask(LIGHTHOUSE)
        assert [each['content'] for each in house.asked()[-3:-1]] == [LIGHTHOUSE, REMARKS.acted('en')]
        assert (after.answer.strip(), after.admitted) == ('It is booked.', False)
        assert market.asked == ['GET /Lark']


async def test_what_a_tool_found_may_be_too_long_for_the_prompt(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(answer('A fox.'), PRICE, TOO_LONG, PRICE, answer('Twelve.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, market):
        await house.ask(FOX)
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.answer.strip(), record.restarts) == (Outcome.ANSWERED, 'Twelve.', 1)
        assert [message['role'] for message in house.asked(2)][1:3] == ['user', 'assistant']
        assert [message['role'] for message in house.asked()] == ['system', 'user', 'assistant', 'tool']
        assert (len(market.asked), record.tool_rounds, record.tokens_wasted) == (2, 2, 25), 'the first round is paid'


async def test_a_call_refused_for_its_arguments_leaves_nothing_to_tell(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    wrong = calls_as_openai(('c1', 'price', '{"model": 5}'))
    async with scripted_cloud(wrong, BROKEN) as cloud, tool_house(
        tmp_path, embedder, cloud, tool={'effects': True}
    ) as (house, market):
        assert (await house.ask(LIGHTHOUSE)).answer == REMARKS.apology('en')
        assert market.asked == []


async def test_a_tool_without_effects_leaves_nothing_to_tell(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(PRICE, BROKEN, answer('A fox.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, _):
        assert (await house.ask(LIGHTHOUSE)).answer == REMARKS.apology('en')
        await house.ask(FOX)
        assert LIGHTHOUSE not in [each['content'] for each in house.asked()]


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
        assert record.ttfet_preamble == record.perceived_latency > 0


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
