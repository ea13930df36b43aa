"""Rounds of tools against a server that calls them: deadlines, costs, what is told back, what is said."""
from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio
import pytest
from support import STALL, Script, ScriptedCloud, chunk, scripted_cloud, sse
from tool_cloud import Shop, answer, calls_as_gemini, calls_as_openai, shop

from pace_ros.clock import SystemClock
from pace_ros.config import Cost, Hedge
from pace_ros.config_levels import L2
from pace_ros.control import CostLedger
from pace_ros.llm import ChatClient, Completion, Endpoint, HedgedChat, L2Error
from pace_ros.llm.tools.arguments import ArgumentCheck
from pace_ros.llm.tools.http_tool import HttpRequest, HttpTool
from pace_ros.llm.tools.rounds import PreambleEnd, ToolRounds
from pace_ros.llm.tools.tool import ToolSpec
from pace_ros.llm.tools.toolbox import Toolbox

pytestmark = pytest.mark.anyio
ASKED = [{'role': 'user', 'content': 'What is the Lark?'}]
SCHEMA = {'type': 'object', 'properties': {'model': {'type': 'string'}}, 'required': ['model']}
LARK = '{"model": "Lark"}'
CALL = calls_as_openai(('c1', 'price', LARK))
SAID = calls_as_openai(('c1', 'price', LARK), said='Let me see.')
ENDS = answer('It costs 12.')


@dataclass
class Bench:
    """A model, a shop, and the rounds between them."""

    cloud: ScriptedCloud
    market: Shop
    rounds: ToolRounds
    hedged: HedgedChat
    report: Completion = field(default_factory=Completion)
    pieces: list[str] = field(default_factory=list)

    async def ask(self) -> str:
        """What is said; where a preamble ends there is a bar."""
        with anyio.fail_after(8):
            async with contextlib.aclosing(self.rounds.stream(ASKED, self.report, locale='en-US')) as pieces:
                async for piece in pieces:
                    self.pieces.append('|' if isinstance(piece, PreambleEnd) else piece)
        return ''.join(self.pieces).strip()

    def told(self, request: int = -1) -> list[dict[str, object]]:
        messages = self.cloud.requests[request]['messages']
        assert isinstance(messages, list)
        return messages


@contextlib.asynccontextmanager
async def bench(*scripts: Script | bytes, effects: bool = False, hedge: Hedge | None = None, ceiling: float = 0.0,
                turn_timeout: float = 5.0, **settings: object) -> AsyncIterator[Bench]:
    l2 = L2(**{'retries': 0, **settings})  # type: ignore[arg-type]
    clock, ledger = SystemClock(), CostLedger(lambda: Cost(tokens=ceiling))
    async with scripted_cloud(*scripts) as cloud, shop() as market:
        market.pages['GET /Lark'] = (200, {'price': 12}, None)
        spec = ToolSpec('price', 'Price of a model.', SCHEMA, ArgumentCheck(SCHEMA), timeout=4.0, effects=effects)
        tool = HttpTool(spec, HttpRequest(f'{market.url}/{{model}}', answer='price'))
        client = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: l2, clock)
        hedged = HedgedChat(client, client, lambda: hedge or Hedge(), ledger, clock)
        rounds = ToolRounds(hedged, Toolbox([tool], turn_timeout, clock), lambda: l2, ledger, clock)
        try:
            yield Bench(cloud, market, rounds, hedged)
        finally:
            await rounds.aclose()
            await hedged.aclose()


async def test_a_call_its_result_and_the_answer() -> None:
    async with bench(CALL, ENDS) as one:
        assert await one.ask() == 'It costs 12.'
    first, second = one.cloud.requests
    assert (first['tool_choice'], second['tool_choice']) == ('auto', 'auto')
    assert first['tools'] == [{'type': 'function', 'function': {
        'name': 'price', 'description': 'Price of a model.', 'parameters': SCHEMA,
    }}]
    assert one.told() == [
        *ASKED,
        {'role': 'assistant', 'content': '', 'tool_calls': [
            {'id': 'c1', 'type': 'function', 'function': {'name': 'price', 'arguments': LARK}}
        ]},
        {'role': 'tool', 'tool_call_id': 'c1', 'content': '12'},
    ]
    report = one.report
    assert (report.attempts, report.tokens_in, report.tokens_out, report.whole) == (2, 40, 10, True)
    assert (report.used.rounds, report.used.live, [use.name for use in report.used.uses]) == (1, ('price',), ['price'])
    assert math.isfinite(report.ttft)


async def test_a_preamble_is_marked_as_none_of_the_answer() -> None:
    async with bench(SAID, ENDS) as one:
        assert await one.ask() == 'Let me see. |It costs 12.'
    assert one.told()[-2]['content'] == 'Let me see.'  # so that it does not say it again


async def test_parallel_calls_of_a_server_that_counts_none() -> None:
    async with bench(calls_as_gemini(('price', LARK), ('price', '{"model": "Owl"}')), ENDS) as one:
        assert await one.ask() == 'It costs 12.'
    assert [message['content'] for message in one.told()[-2:]] == [
        '12', 'Error: the service knows nothing by these arguments (HTTP 404).'
    ]
    assert [message['tool_call_id'] for message in one.told()[-2:]] == ['g0', 'g1']


@pytest.mark.parametrize('text', [
    f'<tool_call>{{"name": "price", "arguments": {LARK}}}</tool_call>',
    f'```json\n{{"name": "price", "arguments": {LARK}}}\n```', '[price(model="Lark")]',
    f'[TOOL_CALLS]price[ARGS]{LARK}',
])
async def test_a_leaked_call_is_run_and_not_said(text: str) -> None:
    leaked = sse(*[chunk(text[begin : begin + 3]) for begin in range(0, len(text), 3)], chunk(finish='stop'), '[DONE]')
    async with bench(leaked, ENDS) as one:
        assert await one.ask() == 'It costs 12.'
    assert [(use.name, use.leaked, use.error) for use in one.report.used.uses] == [('price', True, '')]
    assert one.told()[-1] == {'role': 'tool', 'tool_call_id': 'call01000', 'content': '12'}


async def test_the_model_is_told_what_it_said_before_a_leaked_call_and_not_its_markup() -> None:
    leaked = sse(chunk('Let me see. '), chunk('[TOOL_CALLS]price[ARGS]' + LARK), chunk(finish='stop'), '[DONE]')
    async with bench(leaked, leaked, ENDS) as one:
        assert await one.ask() == 'Let me see. |Let me see. |It costs 12.'
    said = [message['content'] for message in one.told() if message['role'] == 'assistant']
    assert said == ['Let me see.', 'Let me see.']


async def test_a_call_cut_in_its_arguments_is_told_back_as_json_and_complained_of() -> None:
    async with bench(calls_as_openai(('c1', 'price', '{"model": "La')), ENDS) as one:
        assert await one.ask() == 'It costs 12.'
    function = one.told()[-2]['tool_calls'][0]['function']  # type: ignore[index]
    assert function == {'name': 'price', 'arguments': '{}'}
    assert 'not valid JSON' in str(one.told()[-1]['content'])
    assert one.market.asked == []


async def test_after_the_last_round_the_model_is_to_answer() -> None:
    async with bench(CALL, CALL, ENDS, tool_rounds=2) as one:
        assert await one.ask() == 'It costs 12.'
    assert [request['tool_choice'] for request in one.cloud.requests] == ['auto', 'auto', 'none']


async def test_a_model_that_only_calls_gives_no_answer() -> None:
    async with bench(CALL, tool_rounds=1) as one:
        with pytest.raises(L2Error, match='called a tool instead of answering'):
            await one.ask()
    assert len(one.cloud.requests) == 2
    assert len(one.market.asked) == 1


async def test_a_model_that_only_calls_gives_no_answer_whatever_it_says_with_it() -> None:
    async with bench(SAID, tool_rounds=0) as one:
        with pytest.raises(L2Error, match='called a tool instead of answering'):
            await one.ask()
    assert ''.join(one.pieces) == 'Let me see. |'
    assert math.isnan(one.report.ttft)


async def test_what_is_said_after_a_leaked_call_is_left_out() -> None:
    text = f'<tool_call>{{"name": "price", "arguments": {LARK}}}</tool_call> The Lark costs 99,000 euros.'
    async with bench(sse(chunk(text), chunk(finish='stop'), '[DONE]'), ENDS) as one:
        assert await one.ask() == 'It costs 12.'


async def test_equal_calls_of_two_rounds_are_one_where_they_have_effects() -> None:
    for effects, times in ((True, 1), (False, 2)):
        async with bench(CALL, CALL, ENDS, effects=effects) as one:
            assert await one.ask() == 'It costs 12.'
        assert len(one.market.asked) == times
        assert [message['content'] for message in one.told() if message['role'] == 'tool'] == ['12', '12']
        assert [use.round for use in one.report.used.uses] == [1, 2]


@pytest.mark.parametrize(('arguments', 'status', 'acted'), [
    (LARK, 200, True), (LARK, 500, True), (LARK, 404, False), ('{"model": 5}', 200, False),
], ids=['done', 'possibly done', 'refused by the service', 'not sent'])
async def test_what_was_not_done_counts_as_nothing(arguments: str, status: int, *, acted: bool) -> None:
    call = calls_as_openai(('c1', 'price', arguments))
    async with bench(call, ENDS, effects=True) as one:
        one.market.pages['GET /Lark'] = (status, {'price': 12}, None)
        assert await one.ask() == 'It costs 12.'
        assert one.report.used.acted == acted


async def test_what_was_done_stays_done_whatever_comes_after_it() -> None:
    wrong = calls_as_openai(('c1', 'price', '{"model": 5}'))
    async with bench(CALL, wrong, ENDS, effects=True) as one:
        await one.ask()
        assert one.report.used.acted


async def test_while_a_call_with_effects_runs_it_may_have_been_done() -> None:
    async with bench(CALL, ENDS, effects=True) as one:
        gate = asyncio.Event()
        one.market.pages['GET /Lark'] = (404, {}, gate)
        asking = asyncio.create_task(one.ask())
        with anyio.fail_after(5):
            while not one.market.asked:  # noqa: ASYNC110  the shop has no event
                await asyncio.sleep(0.002)
        assert one.report.used.acted
        gate.set()
        await asking
        assert not one.report.used.acted


async def test_what_cannot_be_written_as_utf_8_reaches_no_request() -> None:
    leaked = sse(chunk('<tool_call>{"name":"price","arguments":{"model":"Lark\\ud83d"}}</tool_call>'),
                 chunk(finish='stop'), '[DONE]')
    async with bench(leaked, ENDS) as one:
        one.market.pages['GET /Lark%EF%BF%BD'] = (200, '{"price": "12 \\ud83d"}', None)
        assert await one.ask() == 'It costs 12.'
    assert one.told()[-1]['content'] == '12 \ufffd'


async def test_all_rounds_share_the_first_token_s_deadline() -> None:
    async with bench(CALL, Script([STALL]), first_token_timeout=0.4) as one:
        with pytest.raises(L2Error, match='no first token in time'):
            await one.ask()
    assert len(one.cloud.requests) == 2


async def test_a_tool_takes_no_more_than_is_left() -> None:
    async with bench(CALL, ENDS, turn_timeout=0.1) as one:
        one.market.pages['GET /Lark'] = (200, {}, asyncio.Event())
        assert await one.ask() == 'It costs 12.'
    assert one.told()[-1]['content'] == 'Error: no result within 0.1 s.'
    assert 0.1 <= one.report.used.uses[0].seconds < 2


async def test_pieces_of_a_call_do_not_move_the_deadline_for_the_first_token() -> None:
    head = {'index': 0, 'id': 'c', 'function': {'name': 'price', 'arguments': '{'}}
    drip = [sse(chunk(None, tool_calls=[head])), *[sse(chunk(None, tool_calls=[{'index': 0, 'function': {
        'arguments': ' '}}])), 0.05] * 40]
    async with bench(Script(drip), first_token_timeout=0.3) as one:
        with pytest.raises(L2Error, match='no first token in time'):
            await one.ask()


async def test_closing_ends_the_tool_that_runs() -> None:
    async with bench(CALL, ENDS) as one:
        one.market.pages['GET /Lark'] = (200, {}, asyncio.Event())
        asking = asyncio.create_task(one.ask())
        with anyio.fail_after(5):
            while not one.market.asked:  # noqa: ASYNC110  the shop has no event
                await asyncio.sleep(0.002)
            asking.cancel()
            while not one.market.left:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
    assert asking.cancelled()
    assert len(one.cloud.requests) == 1


async def test_ahead_of_the_visitor_nothing_is_done_that_has_effects() -> None:
    async with bench(CALL, ENDS, effects=True) as one:
        one.report.used.ahead = True
        with pytest.raises(L2Error, match='not called before the visitor has finished'):
            await one.ask()
    assert one.market.asked == []
    async with bench(CALL, ENDS, effects=True) as one:
        assert await one.ask() == 'It costs 12.'
        assert one.report.used.acted
    async with bench(CALL, ENDS) as one:
        one.report.used.ahead = True
        assert await one.ask() == 'It costs 12.'


async def test_ahead_of_the_visitor_the_cost_ceiling_holds_for_further_rounds() -> None:
    async with bench(CALL, ENDS, ceiling=1.0) as one:
        one.report.used.ahead = True
        with pytest.raises(L2Error, match='cost ceiling'):
            await one.ask()


async def test_a_failure_in_a_later_round_is_the_turn_s_and_counted() -> None:
    async with bench(CALL, Script([json.dumps({'error': 'busy'}).encode()], status=500)) as one:
        with pytest.raises(L2Error, match='HTTP 500'):
            await one.ask()
    assert one.report.attempts == 2
    assert one.report.tokens_in > 20
    assert not one.report.whole


async def test_a_hedge_that_calls_first_wins_and_the_tool_runs_once() -> None:
    hedge = Hedge(enabled=True, min_samples=2, percentile=1.0, max_share=1.0)
    async with bench(ENDS, ENDS, Script([STALL]), CALL, ENDS, hedge=hedge) as one:
        for _ in range(2):
            async with contextlib.aclosing(one.hedged.stream(ASKED, Completion())) as pieces:
                assert [piece async for piece in pieces]
        assert await one.ask() == 'It costs 12.'
    assert len(one.market.asked) == 1
    assert one.report.hedge in ('second', 'first')


async def test_without_tools_leaked_markup_is_still_not_said() -> None:
    leaked = sse(chunk('Well. <tool_call>{"name": "x"'), chunk(', "arguments": {}}</tool_call>'), chunk(' Bye.'),
                 chunk(finish='stop'), '[DONE]')
    async with bench(leaked) as one, contextlib.aclosing(one.hedged.stream(ASKED, Completion())) as pieces:
        assert ''.join([piece async for piece in pieces]) == 'Well. '
    assert 'tools' not in one.cloud.requests[0]
