"""Hedged requests: two real servers, and a clock that moves only when told to.

Known first-token times are virtual, the wait for the first token is real: times of 0 s make every request late at once,
times of 1000 s none.
"""
from __future__ import annotations

import asyncio
import contextlib
import math
import random
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import anyio
import pytest
from harness import until
from support import DROP, STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros.clock import VirtualClock
from pace_ros.config import Cost
from pace_ros.config_levels import L2, Hedge
from pace_ros.control import CostLedger
from pace_ros.llm import (
    Breaker,
    BreakerOpen,
    ChatClient,
    Completion,
    Endpoint,
    HedgedChat,
    L2Error,
    Message,
    estimated_tokens,
)
from pace_ros.llm.errors import L2Refused, L2Timeout
from pace_ros.llm.hedge import _settles_within
from pace_ros.llm.in_flight import InFlight
from pace_ros.llm.tools.offer import Offer

pytestmark = pytest.mark.anyio

HI = [{'role': 'user', 'content': 'hi'}]
PROMPT_TOKENS = estimated_tokens(HI)
FIRST_KEY, SECOND_KEY = 'sk-first-0123456789', 'sk-second-9876543210'
GUARD = 8.0  # s; a test that takes longer has failed
LONG = 60.0  # s; longer than any test
LATE = 20  # steps of the loop: too many to speak at once
AT_ONCE, NEVER = 0.0, 1000.0  # s: first-token times after which every request is late, or none
OFFER = Offer((), ('price',), may_call=True, first_token_by=math.inf, total_by=math.inf)
_HEAD = {'index': 0, 'id': 'c1', 'type': 'function', 'function': {'name': 'price', 'arguments': ''}}
STRUCTURED = sse(chunk(None, tool_calls=[_HEAD]))
LEAKED = sse(chunk('<tool_call>{"name": "price", "arguments": {}}</tool_call>'))
PARTS_OF_A_REQUEST = {'InFlight._pump', 'InFlight.settled'}


class Ledger(CostLedger):
    """The real one, which calls ``asked`` before it decides: the instant between a late request and its hedge."""

    def __init__(self, ceiling: Cost) -> None:
        super().__init__(lambda: ceiling)
        self.asked: Callable[[], None] = lambda: None

    @property
    def tokens(self) -> float:
        return self.per_turn()[0]

    def try_spend(self, *, tokens: int = 0, fillers: int = 0) -> bool:
        self.asked()
        return super().try_spend(tokens=tokens, fillers=fillers)


@dataclass
class Heard:
    """What a listener got."""

    pieces: list[str] = field(default_factory=list)
    report: Completion = field(default_factory=Completion)
    error: L2Error | None = None


@dataclass
class Pair:
    """A hedged client and its two servers."""

    chat: HedgedChat
    first: ScriptedCloud
    second: ScriptedCloud
    ledger: Ledger
    clock: VirtualClock
    settings: Hedge

    async def listen(self, heard: Heard | None = None, *, offer: Offer | None = None) -> Heard:
        heard = heard or Heard()
        try:
            async with contextlib.aclosing(self.chat.stream(HI, heard.report, offer=offer)) as pieces:
                async for piece in pieces:
                    heard.pieces.append(piece)
        except L2Error as error:
            heard.error = error
        return heard

    async def learn(self, *ttfts: float) -> None:
        """Make one unhedged request for each first-token time, on the first server."""
        scripts, settings, taught = self.first.scripts, self.settings, len(self.first.requests)
        self.settings = replace(settings, enabled=False)
        for ttft in ttfts:
            gate = asyncio.Event()
            self.first.scripts = [Script([gate, answer('ok')])]
            listening = asyncio.create_task(self.listen())
            taught += 1
            await until(lambda: len(self.first.requests) == taught)  # noqa: B023  awaited at once
            self.clock.advance(ttft)
            gate.set()
            assert (await listening).pieces == ['ok']
        self.first.scripts, self.settings = scripts, settings
        self.first.requests.clear()
        self.first.headers.clear()

    @property
    def sent(self) -> tuple[int, int]:
        """Requests since the lesson, by server."""
        return len(self.first.requests), len(self.second.requests)

    @property
    def left(self) -> tuple[int, int]:
        """Responses whose client went away, by server."""
        return self.first.closed_early, self.second.closed_early


def parts_running() -> list[str]:
    """What a request leaves behind in the loop."""
    names = (getattr(task.get_coro(), '__qualname__', '') for task in asyncio.all_tasks() if not task.done())
    return [name for name in names if name in PARTS_OF_A_REQUEST]


def l2(**settings: object) -> L2:
    patient = {'first_token_timeout': LONG, 'inter_token_timeout': LONG, 'total_timeout': LONG, 'retries': 0}
    return L2(**{**patient, **settings})  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def hedging(
    first: Sequence[Script | bytes] = (answer('one'),), second: Sequence[Script | bytes] = (answer('two'),), *,
    late_after: float = AT_ONCE, known: int = 2, ceiling: Cost | None = None, breaker_failures: int = 100,
    **settings: object,
) -> AsyncIterator[Pair]:
    """Two servers; ``known`` first-token times of ``late_after`` s have been learned, and every request may be hedged
    unless the settings say otherwise.
    """
    hedge = Hedge(**{'enabled': True, 'min_samples': 2, 'max_share': 1.0, **settings})  # type: ignore[arg-type]
    clock, ledger, config = VirtualClock(), Ledger(ceiling or Cost()), l2(breaker_failures=breaker_failures)
    async with scripted_cloud(*first) as one, scripted_cloud(*second) as two:
        clients = [ChatClient(Endpoint(cloud.base_url, model, key), lambda: config, clock)
                   for cloud, model, key in [(one, 'm1', FIRST_KEY), (two, 'm2', SECOND_KEY)]]
        pair = Pair(HedgedChat(*clients, lambda: pair.settings, ledger, clock), one, two, ledger, clock, hedge)
        try:
            with anyio.fail_after(GUARD):
                await pair.learn(*[late_after] * known)
                yield pair
        finally:
            with anyio.CancelScope(shield=True):
                await pair.chat.aclose()
        await until(lambda: not parts_running())


class TestWhetherToHedge:
    async def test_off_it_is_exactly_one_request_however_late(self) -> None:
        async with hedging(enabled=False) as pair:
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge, heard.report.tokens_wasted) == (['one'], '', 0)
            assert heard.report.whole
            assert (pair.sent, pair.chat.share, pair.ledger.tokens) == ((1, 0), 0.0, 0)

    async def test_a_late_request_is_hedged(self) -> None:
        async with hedging([Script([STALL])]) as pair:
            assert (await pair.listen()).pieces == ['two']
            assert pair.sent == (1, 1)

    async def test_the_switch_is_looked_at_for_every_request(self) -> None:
        gate = asyncio.Event()
        async with hedging([answer('one'), Script([gate, answer('one')])], [Script([STALL])], enabled=False) as pair:
            await pair.listen()
            pair.settings = replace(pair.settings, enabled=True)
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (2, 1))
            gate.set()
            assert (await listening).report.hedge == 'first'

    @pytest.mark.parametrize('least', [2, 5, 20])
    async def test_not_before_enough_first_token_times_are_known(self, least: int) -> None:
        async with hedging([answer('one'), Script([STALL])], known=least - 1, min_samples=least) as pair:
            assert (await pair.listen()).report.hedge == ''
            assert pair.sent == (1, 0)
            assert (await pair.listen()).report.hedge == 'second'
            assert pair.sent == (2, 1)

    @pytest.mark.parametrize('script', [Script([b'no'], status=404), Script([DROP]), sse('junk')])
    async def test_a_request_that_failed_has_no_first_token_time(self, script: Script | bytes) -> None:
        async with hedging([script, answer('one')], known=1) as pair:
            assert (await pair.listen()).error is not None
            await pair.listen()
            assert pair.sent == (2, 0)

    async def test_one_that_speaks_in_time_is_not_hedged(self) -> None:
        async with hedging(late_after=NEVER) as pair:
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge, pair.sent, pair.ledger.tokens) == (['one'], '', (1, 0), 0)
            assert heard.report.whole

    async def test_one_that_fails_in_time_fails(self) -> None:
        async with hedging([Script([b'mine'], status=404)], late_after=NEVER) as pair:
            heard = await pair.listen()
            assert str(heard.error) == 'HTTP 404: mine'
            assert (heard.report.attempts, heard.report.hedge, pair.sent) == (1, '', (1, 0))

    @pytest.mark.parametrize('begins', [STRUCTURED, LEAKED], ids=['structured', 'leaked'])
    async def test_one_that_begins_to_call_is_not_late(self, begins: bytes) -> None:
        async with hedging([Script([begins, STALL])]) as pair:
            chat = pair.chat.first
            async with InFlight(lambda report: chat.stream(HI, report, offer=OFFER), 0.0) as request:
                assert await _settles_within(request, NEVER)
                assert (request.speaks, request.over) == (False, False)

    async def test_one_whose_call_broke_off_and_that_is_tried_again_has_not_begun_to_call(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([STRUCTURED, DROP]), Script([gate, STRUCTURED, STALL])]) as pair:
            chat = pair.chat.first
            chat._config = lambda: l2(retries=1)
            async with InFlight(lambda report: chat.stream(HI, report, offer=OFFER), 0.0) as request:
                await until(lambda: pair.sent == (2, 0))
                assert not request.calls
                gate.set()
                await until(lambda: request.calls)

    async def test_the_one_that_begins_to_call_wins(self) -> None:
        gate = asyncio.Event()
        calling = Script([STRUCTURED, gate, sse(chunk(finish='tool_calls'), '[DONE]')])
        async with hedging([Script([STALL])], [calling]) as pair:
            listening = asyncio.create_task(pair.listen(offer=OFFER))
            await until(lambda: pair.left == (1, 0))
            gate.set()
            heard = await listening
            assert (heard.pieces, heard.report.hedge) == ([], 'second')
            assert [call.name for call in heard.report.calls] == ['price']

    async def test_without_an_offer_a_call_is_no_answer(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([STRUCTURED, STALL])], [Script([gate, answer('two')])]) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            gate.set()
            assert (await listening).pieces == ['two']

    @pytest.mark.parametrize(('percentile', 'delay'), [(1.0, 1.04), (50.0, 3.0), (75.0, 4.0), (95.0, 8.0),
                                                       (100.0, 9.0)])
    async def test_late_is_a_percentile_of_the_known_times(self, percentile: float, delay: float) -> None:
        async with hedging(known=0, percentile=percentile) as pair:
            await pair.learn(3.0, 1.0, 9.0, 4.0, 2.0)
            assert pair.chat._delay() == pytest.approx(delay)

    @pytest.mark.parametrize(('percentile', 'hedge'), [(50.0, 'second'), (100.0, '')])
    async def test_the_percentile_decides_whom_a_hedge_follows(self, percentile: float, hedge: str) -> None:
        script = Script([STALL]) if hedge else answer('one')
        async with hedging([script], known=0, percentile=percentile) as pair:
            await pair.learn(AT_ONCE, AT_ONCE, AT_ONCE, NEVER)
            assert (await pair.listen()).report.hedge == hedge

    async def test_only_recent_times_count(self) -> None:
        async with hedging(known=0, percentile=100.0) as pair:
            await pair.learn(NEVER, *[AT_ONCE] * 99)
            assert pair.chat._delay() == NEVER
            await pair.learn(AT_ONCE)
            assert pair.chat._delay() == AT_ONCE

    async def test_the_cost_ceiling_refuses_a_hedge(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([gate, answer('one')])], ceiling=Cost(tokens=PROMPT_TOKENS - 1)) as pair:
            pair.ledger.asked = gate.set
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge, heard.report.tokens_wasted) == (['one'], '', 0)
            assert (pair.sent, pair.ledger.tokens, pair.chat.share) == ((1, 0), 0, 0.0)

    async def test_under_the_ceiling_a_hedge_is_charged_before_it_is_answered(self) -> None:
        gate = asyncio.Event()
        second = Script([gate, answer('two')])
        async with hedging([Script([STALL])], [second], ceiling=Cost(tokens=PROMPT_TOKENS)) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            assert pair.ledger.tokens == PROMPT_TOKENS
            gate.set()
            assert (await listening).report.tokens_wasted == PROMPT_TOKENS


class TestWhoWins:
    async def test_the_second_may_speak_first(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([STALL])], [Script([gate, answer('two', ' too')])]) as pair:
            pair.ledger.asked = lambda: pair.clock.advance(2.0)  # between the first request and the second
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            pair.clock.advance(3.0)
            gate.set()
            heard = await listening
            report = heard.report
            assert (heard.pieces, heard.error, report.hedge) == (['two', ' too'], None, 'second')
            assert report.ttft == report.sample == 5.0, 'not counted from the first request'
            assert pair.chat._ttfts[-1] == 5.0
            assert report.whole
            assert (report.tokens_in, report.tokens_out, report.attempts) == (11, 2, 1)
            assert report.tokens_wasted == PROMPT_TOKENS
            await until(lambda: pair.left == (1, 0))

    async def test_the_first_is_closed_before_the_second_has_finished(self) -> None:
        async with hedging([Script([STALL])], [Script([sse(chunk('two')), STALL])]) as pair:
            report = Completion()
            async with contextlib.aclosing(pair.chat.stream(HI, report)) as pieces:
                assert await anext(pieces) == 'two'
                assert (report.ttft, report.sample, report.hedge) == (0.0, 0.0, 'second'), 'not known with the piece'
                await until(lambda: pair.left == (1, 0))
            await until(lambda: pair.left == (1, 1))

    async def test_the_first_may_speak_first_after_all(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([gate, answer('one')])], [Script([STALL])]) as pair:
            pair.ledger.asked = lambda: pair.clock.advance(2.0)
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            pair.clock.advance(3.0)
            gate.set()
            heard = await listening
            assert (heard.pieces, heard.error, heard.report.hedge) == (['one'], None, 'first')
            assert heard.report.ttft == heard.report.sample == 5.0
            assert heard.report.tokens_wasted == PROMPT_TOKENS
            assert heard.report.whole
            await until(lambda: pair.left == (0, 1))

    async def test_a_first_that_fails_leaves_it_to_the_second(self) -> None:
        one, two = asyncio.Event(), asyncio.Event()
        async with hedging([Script([one, DROP])], [Script([two, answer('two')])]) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            one.set()
            await until(lambda: pair.chat.first.breaker._failures == 1)
            assert not listening.done()
            two.set()
            heard = await listening
            assert (heard.pieces, heard.error, heard.report.hedge) == (['two'], None, 'second')
            assert heard.report.whole
            assert pair.left == (0, 0)

    async def test_the_sample_of_a_second_after_a_failed_first_is_its_own(self) -> None:
        one, two = asyncio.Event(), asyncio.Event()
        async with hedging([Script([one, DROP])], [Script([two, answer('two')])]) as pair:
            pair.ledger.asked = lambda: pair.clock.advance(2.0)
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            one.set()
            await until(lambda: pair.chat.first.breaker._failures == 1)
            pair.clock.advance(3.0)
            two.set()
            report = (await listening).report
            assert (report.ttft, report.sample) == (5.0, 3.0)

    async def test_a_second_that_fails_leaves_it_to_the_first(self) -> None:
        one, two = asyncio.Event(), asyncio.Event()
        async with hedging([Script([one, answer('one')])], [Script([two, DROP])]) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            two.set()
            await until(lambda: pair.chat.second.breaker._failures == 1)
            assert not listening.done()
            one.set()
            heard = await listening
            assert (heard.pieces, heard.error, heard.report.hedge) == (['one'], None, 'first')
            assert pair.chat.breaker.state == 'closed'

    @pytest.mark.parametrize('first_to_fail', [1, 2])
    async def test_where_both_fail_the_error_is_the_first_one_s(self, first_to_fail: int) -> None:
        one, two = asyncio.Event(), asyncio.Event()
        scripts = [Script([one, b'one'], status=500)], [Script([two, b'two'], status=503)]
        async with hedging(*scripts) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            gates = [(one, pair.chat.first), (two, pair.chat.second)]
            for gate, client in gates if first_to_fail == 1 else reversed(gates):
                gate.set()
                await until(lambda: client.breaker._failures == 1)  # noqa: B023  awaited at once
            heard = await listening
            assert isinstance(heard.error, L2Refused)
            assert (str(heard.error), heard.pieces, heard.report.hedge) == ('HTTP 500: one', [], 'neither')
            assert math.isnan(heard.report.ttft)
            assert not heard.report.whole

    async def test_a_winner_that_is_cut_is_an_error_and_the_other_is_not_asked_again(self) -> None:
        async with hedging([Script([STALL])], [Script([sse(chunk('tw')), DROP])]) as pair:
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge, pair.sent) == (['tw'], 'second', (1, 1))
            assert heard.error is not None
            assert not heard.report.whole

    async def test_what_is_heard_is_one_answer_and_never_a_mixture(self) -> None:
        texts = [[f'{name}{number} ' for number in range(20)] for name in ('a', 'b')]
        async with hedging([answer(*texts[0])], [answer(*texts[1])]) as pair:
            for _ in range(30):
                heard = await pair.listen()
                assert heard.pieces in texts
                assert heard.report.hedge == ('first' if heard.pieces == texts[0] else 'second')
                assert heard.report.whole

    async def test_where_both_speak_at_once_it_is_the_first_and_what_the_second_said_is_paid_for(self) -> None:
        gate = asyncio.Event()

        class Chorus(Played):
            async def stream(
                self, messages: Sequence[Message], report: Completion, *, conversation: str = '', offer: object = None
            ) -> AsyncGenerator[str, None]:
                self.asked, report.attempts = 1, 1
                await gate.wait()
                for piece in ['a', 'b', 'c']:
                    yield piece

        second = Chorus(0)
        chat, report = played(1.0, Chorus(0), second), Completion()
        listening = asyncio.create_task(said(chat, report))
        await until(lambda: second.asked)
        gate.set()
        assert await listening == ['a', 'b', 'c']
        assert (report.hedge, report.tokens_wasted) == ('first', PROMPT_TOKENS + 3)
        assert chat._ledger.per_turn()[0] == PROMPT_TOKENS + 3

    async def test_both_may_go_to_the_same_endpoint(self) -> None:
        async with hedging([Script([STALL]), answer('again')]) as pair:
            pair.chat.second = pair.chat.first
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge, pair.sent) == (['again'], 'second', (2, 0))
            await until(lambda: pair.left == (1, 0))


class TestShare:
    async def test_it_is_what_was_hedged_of_the_last_200(self) -> None:
        async with hedging([Script([STALL])], known=3) as pair:
            assert pair.chat.share == 0.0
            await pair.listen()
            assert pair.chat.share == 0.25
            await pair.learn(*[AT_ONCE] * 196)
            assert pair.chat.share == 1 / 200
            await pair.learn(*[AT_ONCE] * 3)
            assert pair.chat.share == 1 / 200
            await pair.learn(AT_ONCE)
            assert pair.chat.share == 0.0

    @pytest.mark.parametrize('share', [0.0, 0.05, 0.3, 1.0])
    async def test_never_more_than_allowed_one_after_the_other(self, share: float) -> None:
        second = Played(steps=0)
        chat = played(share, Played(LATE), second)
        outcomes: list[bool] = []
        for _ in range(500):
            before = second.asked
            assert await said(chat) == ['ok']
            outcomes.append(second.asked > before)
            recent = outcomes[-200:]
            assert sum(recent) <= share * len(recent) + 1e-9
            assert chat.share == sum(recent) / len(recent)
        assert sum(outcomes) >= 0.9 * share * len(outcomes) - 2, 'it hedges less than it may'

    @pytest.mark.parametrize('share', [0.05, 0.2])
    async def test_never_more_than_allowed_many_at_a_time(self, share: float) -> None:
        chance, made, second = random.Random(3), 0, Played(steps=0)
        chat = played(share, Played(LATE), second)
        while made < 200:
            together = min(chance.randrange(1, 40), 200 - made)
            made += together
            assert await asyncio.gather(*(said(chat) for _ in range(together))) == [['ok']] * together
            assert second.asked <= share * made + 1e-9
            assert chat.share == second.asked / made
        assert second.asked >= 0.9 * share * made - 2, 'it hedges less than it may'


@dataclass
class Played:
    """A client without a server: it speaks after some steps of the loop."""

    steps: int
    asked: int = 0
    first_token_timeout: float = 60.0
    breaker: Breaker = field(default_factory=lambda: Breaker(failures=1, cooldown=1.0, clock=VirtualClock()))

    async def stream(
        self, messages: Sequence[Message], report: Completion, *, conversation: str = '', offer: object = None
    ) -> AsyncGenerator[str, None]:
        assert messages
        self.asked += 1
        report.attempts = 1
        for _ in range(self.steps):
            await asyncio.sleep(0)
        report.ttft = report.sample = AT_ONCE
        yield 'ok'


def played(share: float, first: Played, second: Played) -> HedgedChat:
    settings = Hedge(enabled=True, min_samples=2, max_share=share)
    clients = cast(ChatClient, first), cast(ChatClient, second)
    chat = HedgedChat(*clients, lambda: settings, CostLedger(Cost), VirtualClock())
    chat._ttfts.extend([AT_ONCE] * 2)
    return chat


async def said(chat: HedgedChat, report: Completion | None = None) -> list[str]:
    async with contextlib.aclosing(chat.stream(HI, report or Completion())) as pieces:
        return [piece async for piece in pieces]


class TestEndpoints:
    async def test_each_gets_its_own_key_and_model_and_never_the_other_s(self) -> None:
        async with hedging([Script([STALL])]) as pair:
            await pair.listen()
            assert pair.sent == (1, 1)
            for cloud, model, own, other in [(pair.first, 'm1', FIRST_KEY, SECOND_KEY),
                                             (pair.second, 'm2', SECOND_KEY, FIRST_KEY)]:
                assert cloud.headers[0]['Authorization'] == f'Bearer {own}'
                assert cloud.requests[0]['model'] == model
                assert cloud.requests[0]['messages'] == HI
                assert other not in f'{cloud.headers}{cloud.requests}'

    async def test_a_second_endpoint_without_a_key_gets_none(self) -> None:
        async with hedging([Script([STALL])]) as pair:
            bare = ChatClient(Endpoint(pair.second.base_url, 'm2'), l2, pair.clock)
            keyed, pair.chat.second = pair.chat.second, bare
            await pair.listen()
            assert 'authorization' not in {name.lower() for name in pair.second.headers[0]}
            assert FIRST_KEY not in f'{pair.second.headers}{pair.second.requests}'
            await keyed.aclose()

    async def test_each_has_its_own_breaker(self) -> None:
        one, two = asyncio.Event(), Script([b'no'], status=500)
        async with hedging([Script([one, answer('one')])], [two], breaker_failures=1) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.chat.second.breaker.state == 'open')
            one.set()
            assert (await listening).report.whole
            assert pair.chat.breaker is pair.chat.first.breaker
            assert pair.chat.breaker.state == 'closed'

    async def test_an_open_second_breaker_lets_no_hedge_out_and_costs_nothing(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([gate, answer('one')])], breaker_failures=1) as pair:
            with contextlib.suppress(L2Error), pair.chat.second.breaker.acquire():
                raise L2Error('broken')
            assert pair.chat.second.breaker.state == 'open'
            waiting = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 0))
            gate.set()
            heard = await waiting
            assert (heard.pieces, heard.error, pair.sent) == (['one'], None, (1, 0))
            assert (heard.report.hedge, heard.report.tokens_wasted, pair.ledger.tokens) == ('', 0, 0)
            assert pair.chat.share == 0.0

    async def test_a_half_open_endpoint_that_is_probed_already_gets_no_hedge_and_it_costs_nothing(self) -> None:
        gate = asyncio.Event()
        async with hedging([Script([gate, answer('one')])], breaker_failures=1) as pair:
            pair.chat.second = pair.chat.first
            with contextlib.suppress(L2Error), pair.chat.breaker.acquire():
                raise L2Error('broken')
            pair.clock.advance(l2().breaker_cooldown)
            waiting = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 0))
            gate.set()
            heard = await waiting
            assert (heard.pieces, heard.error, pair.sent) == (['one'], None, (1, 0))
            assert (heard.report.hedge, heard.report.tokens_wasted, pair.ledger.tokens) == ('', 0, 0)
            assert pair.chat.share == 0.0
            assert pair.chat.breaker.state == 'closed'

    async def test_an_open_first_breaker_is_the_answer(self) -> None:
        async with hedging(breaker_failures=1, late_after=NEVER) as pair:
            with contextlib.suppress(L2Error), pair.chat.breaker.acquire():
                raise L2Error('broken')
            heard = await pair.listen()
            assert isinstance(heard.error, BreakerOpen)
            assert (pair.sent, heard.report.attempts) == ((0, 0), 0)

    async def test_closing_closes_both_pools(self) -> None:
        async with hedging() as pair:
            await pair.chat.aclose()
            assert pair.chat.first._http.is_closed
            assert pair.chat.second._http.is_closed

    async def test_a_loser_is_no_failure_of_its_endpoint(self) -> None:
        async with hedging([Script([STALL])], breaker_failures=1) as pair:
            for _ in range(3):
                assert (await pair.listen()).report.hedge == 'second'
            assert pair.chat.first.breaker.state == pair.chat.second.breaker.state == 'closed'
            assert pair.chat.first.breaker._failures == 0

    async def test_a_loser_gives_its_half_open_probe_back(self) -> None:
        gate = asyncio.Event()
        scripts = [Script([gate, answer('one')])], [Script([STALL]), answer('two')]
        async with hedging(*scripts, breaker_failures=1) as pair:
            breaker = pair.chat.second.breaker
            with contextlib.suppress(L2Error), breaker.acquire():
                raise L2Error('broken')
            pair.clock.advance(l2().breaker_cooldown)
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            with pytest.raises(BreakerOpen, match='a probe is under way'):
                breaker.acquire()
            gate.set()
            assert (await listening).report.hedge == 'first'
            assert breaker.state == 'half-open'
            with breaker.acquire() as permit:
                assert permit.is_probe
                permit.succeed()
            assert breaker.state == 'closed'

    async def test_an_answer_from_a_half_open_second_endpoint_is_not_whole(self) -> None:
        async with hedging([Script([STALL])], breaker_failures=1) as pair:
            with contextlib.suppress(L2Error), pair.chat.second.breaker.acquire():
                raise L2Error('broken')
            pair.clock.advance(l2().breaker_cooldown)
            heard = await pair.listen()
            assert (heard.pieces, heard.report.hedge) == (['two'], 'second')
            assert (heard.report.breaker_before, heard.report.whole) == ('half-open', False)
            assert pair.chat.second.breaker.state == 'closed'


SILENT, SPEAKING = Script([STALL]), Script([sse(chunk('Hel')), STALL])
STAGES = {  # scripts of both servers, when a request is late, requests sent, connections that must be closed
    'during the wait': (SILENT, SILENT, NEVER, (1, 0), (1, 0)),
    'during the race': (SILENT, SILENT, AT_ONCE, (1, 1), (1, 1)),
    'after the first piece of an unhedged one': (SPEAKING, SILENT, NEVER, (1, 0), (1, 0)),
    'after the first piece of the second': (SILENT, SPEAKING, AT_ONCE, (1, 1), (1, 1)),
}


class TestCancellation:
    @pytest.mark.parametrize(('first', 'second', 'late_after', 'sent', 'left'), STAGES.values(), ids=list(STAGES))
    async def test_a_cancelled_caller_leaves_nothing_behind(
        self, first: Script, second: Script, late_after: float, sent: tuple[int, int], left: tuple[int, int]
    ) -> None:
        async with hedging([first], [second], late_after=late_after, breaker_failures=1) as pair:
            heard = Heard()
            listening = asyncio.create_task(pair.listen(heard))
            await until(lambda: pair.sent == sent and (SPEAKING not in (first, second) or heard.pieces))
            assert parts_running()
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
            await until(lambda: pair.left == left and not parts_running())
            assert pair.sent == sent
            assert pair.chat.first.breaker.state == pair.chat.second.breaker.state == 'closed'
            assert heard.report.attempts == 1, 'the record of a cancelled turn knows nothing of its request'

    @pytest.mark.parametrize('stage', [stage for stage in STAGES if 'piece' in stage])
    async def test_a_listener_that_leaves_early_leaves_nothing_behind(self, stage: str) -> None:
        first, second, late_after, _, left = STAGES[stage]
        async with hedging([first], [second], late_after=late_after) as pair:
            report = Completion()
            async with contextlib.aclosing(pair.chat.stream(HI, report)) as pieces:
                assert await anext(pieces) == 'Hel'
            assert not parts_running()
            await until(lambda: pair.left == left)
            assert report.attempts == 1
            assert math.isfinite(report.ttft)

    async def test_cancelled_while_the_loser_is_still_closing_the_winner_is_closed_too(self) -> None:
        closing, ended = asyncio.Event(), asyncio.Event()

        class SlowToClose(Played):
            async def stream(
                self, messages: Sequence[Message], report: Completion, *, conversation: str = '', offer: object = None
            ) -> AsyncGenerator[str, None]:
                try:
                    await asyncio.Event().wait()
                    yield ''
                finally:
                    closing.set()
                    await asyncio.Event().wait()

        class Endless(Played):
            async def stream(
                self, messages: Sequence[Message], report: Completion, *, conversation: str = '', offer: object = None
            ) -> AsyncGenerator[str, None]:
                report.attempts = 1
                try:
                    yield 'ok'
                    await asyncio.Event().wait()
                finally:
                    ended.set()

        chat = played(1.0, SlowToClose(0), Endless(0))
        listening = asyncio.create_task(said(chat))
        await until(closing.is_set)
        listening.cancel()
        await asyncio.wait([listening])
        assert ended.is_set(), 'the winner outlives its caller'
        assert not parts_running()

    async def test_a_cancelled_race_says_what_it_wasted(self) -> None:
        async with hedging([SILENT], [SILENT]) as pair:
            heard = Heard()
            listening = asyncio.create_task(pair.listen(heard))
            await until(lambda: pair.sent == (1, 1))
            listening.cancel()
            await asyncio.wait([listening])
            assert (heard.report.hedge, heard.report.tokens_wasted) == ('neither', PROMPT_TOKENS)
            assert pair.ledger.tokens == PROMPT_TOKENS

    async def test_the_next_request_is_served_after_a_cancelled_one(self) -> None:
        async with hedging([SILENT, answer('one')], [SILENT], late_after=AT_ONCE) as pair:
            listening = asyncio.create_task(pair.listen())
            await until(lambda: pair.sent == (1, 1))
            listening.cancel()
            await asyncio.wait([listening])
            assert (await pair.listen()).pieces == ['one']


def test_the_share_may_be_asked_from_other_threads() -> None:
    chat, stop, errors = played(1.0, Played(0), Played(0)), threading.Event(), []

    def watch() -> None:
        while not stop.is_set():
            try:
                assert chat.share == 0.0
            except RuntimeError as error:
                errors.append(error)

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for each in watchers:
        each.start()
    for _ in range(20_000):
        chat._recent.append(Completion())
    stop.set()
    for each in watchers:
        each.join()
    assert errors == []


@pytest.mark.anyio
async def test_both_requests_together_keep_the_first_one_s_deadline() -> None:
    class Silent(Played):
        async def stream(
            self, messages: Sequence[Message], report: Completion, *, conversation: str = '', offer: object = None
        ) -> AsyncGenerator[str, None]:
            report.attempts = 1
            await asyncio.sleep(self.first_token_timeout)
            raise L2Timeout('no first token in time')
            yield ''

    chat = played(1.0, Silent(0, first_token_timeout=0.0), Silent(0, first_token_timeout=60.0))
    with pytest.raises(L2Timeout), anyio.fail_after(5.0):
        await said(chat)
