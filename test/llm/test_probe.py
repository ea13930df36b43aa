"""A probe of the endpoint while no visitor waits."""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio
import pytest
from harness import until
from support import DROP, STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros import packaged
from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.control import CostLedger, Router
from pace_ros.llm import ChatClient, Endpoint, L2Error, PromptBook, SignalProbe, estimated_tokens
from pace_ros.settings import with_values

pytestmark = pytest.mark.anyio

GUARD = 8.0  # s; a test that takes longer has failed
LONG = 60.0  # s; longer than any test
AGE, PERIOD, A_DAY = 300.0, 600.0, 3  # s, s, probes
INITIAL = 1.5  # s; the average before any sample
PROMPTS = PromptBook.read(packaged.config_dir() / 'persona.yaml')
ONE_TOKEN = Script([sse(chunk('', role='assistant'), chunk('Hi')), STALL])
SETTINGS: dict[str, object] = {
    'router.probe': True, 'router.signal_age': AGE, 'router.probe_period': PERIOD, 'router.probes_per_day': A_DAY,
    'router.ttft_initial': INITIAL, 'locale': 'en-US', 'l2.retries': 0, 'l2.first_token_timeout': LONG,
    'l2.inter_token_timeout': LONG, 'l2.total_timeout': LONG, 'l2.breaker_failures': 100,
}


def prompt(locale: str = 'en-US', greeting: str = 'Hello!') -> list[dict[str, str]]:
    return PROMPTS.messages(greeting, locale, passages=(), history=(), persona=True)


@dataclass
class Floor:
    """A showroom with a real router and a real server."""

    probe: SignalProbe
    router: Router
    ledger: CostLedger
    llm: ChatClient
    cloud: ScriptedCloud
    clock: VirtualClock
    config: Config

    def set(self, **values: object) -> None:
        self.config = with_values(self.config, {name.replace('__', '.'): value for name, value in values.items()})

    def starve(self) -> None:
        """Visitors come, but none of their turns gives a first token."""
        self.router.observe_arrival()
        self.clock.advance(AGE + 1)
        self.router.observe_arrival()
        assert self.router.state().starved

    @property
    def ewma(self) -> float:
        return self.router.state().decision.ttft_ewma

    async def ended(self) -> None:
        """The probe under way has ended."""
        task = self.probe._task
        assert task is not None
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None


def probing() -> bool:
    return any(task.get_name() == 'probe' for task in asyncio.all_tasks() if not task.done())


@contextlib.asynccontextmanager
async def floor(*scripts: Script | bytes, **values: object) -> AsyncIterator[Floor]:
    """A floor whose signal is starved and which may be probed, but for the settings in ``values``."""
    clock = VirtualClock()
    start = with_values(Config(), SETTINGS | {name.replace('__', '.'): value for name, value in values.items()})
    async with scripted_cloud(*(scripts or (ONE_TOKEN,))) as cloud:
        def config() -> Config:
            return opened[0].config if opened else start

        opened: list[Floor] = []
        router, ledger = Router(config, clock), CostLedger(lambda: config().cost)
        llm = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: config().l2, clock)
        probe = SignalProbe(llm, PROMPTS, router, ledger, config=config, clock=clock)
        opened.append(Floor(probe, router, ledger, llm, cloud, clock, start))
        opened[0].starve()
        try:
            with anyio.fail_after(GUARD):
                yield opened[0]
        finally:
            with anyio.CancelScope(shield=True):
                await probe.aclose()
                await llm.aclose()
        assert not probing()


async def test_a_starved_signal_is_relieved() -> None:
    gate = asyncio.Event()
    async with floor(Script([gate, *ONE_TOKEN.steps])) as it:
        assert it.probe.consider(idle=True)
        await until(lambda: len(it.cloud.requests) == 1)
        it.clock.advance(3.5)
        gate.set()
        await it.ended()
        assert it.ewma == pytest.approx(INITIAL + 0.3 * (3.5 - INITIAL))
        state = it.router.state()
        assert (state.ttft_samples, state.starved, it.probe.sent) == (1, False, 1)


async def test_it_is_ended_after_the_first_token() -> None:
    async with floor() as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        await until(lambda: it.cloud.closed_early == 1)
        assert it.llm.breaker.state == 'closed'


@pytest.mark.parametrize(('locale', 'greeting'), [('en-US', 'Hello!'), ('zh-CN', '你好！')])
async def test_it_says_hello_in_the_node_s_language(locale: str, greeting: str) -> None:
    async with floor(locale=locale) as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        assert it.cloud.requests[0]['messages'] == prompt(locale, greeting)
        assert it.cloud.requests[0]['max_tokens'] == 1


async def test_its_cost_is_booked_at_once() -> None:
    async with floor(Script([STALL])) as it:
        assert it.probe.consider(idle=True)
        assert it.ledger.per_turn()[0] == estimated_tokens(prompt()) + 1


@pytest.mark.parametrize('why', ['switched off', 'somebody waits', 'none a day', 'cost ceiling', 'breaker open',
                                 'breaker half open', 'fresh signal', 'nobody there'])
async def test_there_is_none(why: str) -> None:
    async with floor() as it:
        if why == 'switched off':
            it.set(router__probe=False)
        elif why == 'none a day':
            it.set(router__probes_per_day=0)
        elif why == 'cost ceiling':
            it.set(cost__tokens=float(estimated_tokens(prompt())))  # a token too low
        elif why.startswith('breaker'):
            for _ in range(100):
                with contextlib.suppress(L2Error), it.llm.breaker.acquire():
                    raise L2Error('broken')
            if why == 'breaker half open':
                it.clock.advance(it.config.l2.breaker_cooldown)
                assert it.router.state().starved
        elif why == 'fresh signal':
            it.router.observe_ttft(1.0)
        elif why == 'nobody there':
            it.clock.advance(AGE + 1)
        assert not it.probe.consider(idle=why != 'somebody waits')
        assert (it.probe.sent, it.ledger.per_turn()[0], probing()) == (0, 0.0, False)
        assert it.cloud.requests == []


async def test_before_any_visitor_there_is_none() -> None:
    async with scripted_cloud(ONE_TOKEN) as cloud:
        clock, config = VirtualClock(), with_values(Config(), SETTINGS)
        llm = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: config.l2, clock)
        probe = SignalProbe(llm, PROMPTS, Router(lambda: config, clock), CostLedger(lambda: config.cost),
                            config=lambda: config, clock=clock)
        clock.advance(10 * AGE)
        assert not probe.consider(idle=True)
        await llm.aclose()
        assert cloud.requests == []


async def test_at_the_ceiling_there_is_one() -> None:
    async with floor(cost__tokens=float(estimated_tokens(prompt()) + 1)) as it:
        assert it.probe.consider(idle=True)


async def test_one_at_a_time() -> None:
    async with floor(Script([STALL])) as it:
        assert it.probe.consider(idle=True)
        it.clock.advance(PERIOD)
        it.router.observe_arrival()
        assert it.router.state().starved
        assert not it.probe.consider(idle=True)
        it.probe.cancel()
        await it.ended()
        assert it.probe.consider(idle=True)


async def test_one_a_period() -> None:
    async with floor() as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        it.starve()  # AGE + 1 s later
        it.clock.advance(PERIOD - AGE - 2)
        it.router.observe_arrival()
        assert it.router.state().starved
        assert not it.probe.consider(idle=True)
        it.clock.advance(1)
        assert it.probe.consider(idle=True)


async def test_no_more_a_day_than_allowed_and_again_the_next_day() -> None:
    async with floor() as it:
        for sent in range(1, A_DAY + 1):
            assert it.probe.consider(idle=True)
            await it.ended()
            assert it.probe.sent == sent
            it.clock.advance(PERIOD)
            it.starve()
        assert not it.probe.consider(idle=True)
        since_the_first = A_DAY * (PERIOD + AGE + 1)
        it.clock.advance(86_400.0 - since_the_first - 1)
        it.router.observe_arrival()
        assert not it.probe.consider(idle=True)
        it.clock.advance(1)
        assert it.probe.consider(idle=True)
        assert it.probe.sent == A_DAY
        await it.ended()
        assert len(it.cloud.requests) == A_DAY + 1


async def test_one_that_was_cancelled_or_failed_counts_too() -> None:
    async with floor(Script([STALL]), Script([b'no'], status=500), router__probes_per_day=2) as it:
        for _ in range(2):
            assert it.probe.consider(idle=True)
            await until(lambda: len(it.cloud.requests) == it.probe.sent)
            if it.probe.sent == 1:
                it.probe.cancel()
            await it.ended()
            it.clock.advance(PERIOD)
            it.router.observe_arrival()
            assert it.router.state().starved
        assert not it.probe.consider(idle=True)


@pytest.mark.parametrize('script', [
    pytest.param(Script([b'no'], status=500), id='refused'),
    pytest.param(Script([DROP]), id='dropped'),
    pytest.param(sse('junk'), id='malformed'),
    pytest.param(answer('', ' '), id='blank'),
    pytest.param(answer(), id='empty'),
])
async def test_one_that_fails_leaves_the_signal_as_it_was(script: Script | bytes) -> None:
    async with floor(script) as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        state = it.router.state()
        assert (it.ewma, state.ttft_samples, state.starved) == (INITIAL, 0, True)
        assert len(it.cloud.requests) == 1


async def test_one_that_gets_no_token_in_time_leaves_the_signal_as_it_was() -> None:
    async with floor(Script([STALL]), l2__first_token_timeout=0.1) as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        assert it.ewma == INITIAL
        await until(lambda: it.cloud.closed_early == 1)


async def test_a_failed_one_speaks_against_the_endpoint() -> None:
    async with floor(Script([b'no'], status=500), l2__breaker_failures=1) as it:
        assert it.probe.consider(idle=True)
        await it.ended()
        assert it.llm.breaker.state == 'open'


async def test_a_visitor_who_speaks_ends_it() -> None:
    async with floor(Script([STALL]), l2__breaker_failures=1) as it:
        assert it.probe.consider(idle=True)
        await until(lambda: len(it.cloud.requests) == 1)
        it.probe.cancel()
        await it.ended()
        await until(lambda: it.cloud.closed_early == 1)
        assert (it.ewma, it.llm.breaker.state) == (INITIAL, 'closed')


async def test_a_visitor_who_speaks_at_once_keeps_it_from_being_sent() -> None:
    async with floor() as it:
        assert it.probe.consider(idle=True)
        it.probe.cancel()
        await it.ended()
        assert (it.cloud.requests, it.ewma) == ([], INITIAL)


async def test_there_may_be_nothing_to_cancel_or_close() -> None:
    async with floor() as it:
        it.probe.cancel()
        await it.probe.aclose()
        assert it.probe.consider(idle=True)
        await it.ended()
        it.probe.cancel()
        await it.probe.aclose()
        await it.probe.aclose()
        assert it.probe.sent == 1


async def test_closing_ends_it_and_waits() -> None:
    async with floor(Script([STALL])) as it:
        assert it.probe.consider(idle=True)
        await until(lambda: len(it.cloud.requests) == 1)
        await it.probe.aclose()
        assert not probing()
        await until(lambda: it.cloud.closed_early == 1)
