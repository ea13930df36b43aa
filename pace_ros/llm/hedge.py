"""Hedged requests: when the first token is late, a second request is sent, and the first to speak wins."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence

import anyio
import numpy as np

from pace_ros.clock import Clock
from pace_ros.config_levels import Hedge
from pace_ros.control import CostLedger
from pace_ros.llm.breaker import Breaker
from pace_ros.llm.chat import ChatClient
from pace_ros.llm.completion import Completion, Said, estimated_tokens
from pace_ros.llm.in_flight import InFlight
from pace_ros.llm.stickiness import hedge_of
from pace_ros.llm.tools.offer import Offer

SHARE_WINDOW = 200  # requests over which the share of hedged ones is limited
KEPT_TTFTS = 100


class HedgedChat:
    """Two clients behind one ``stream``; ``second`` may be the first one again. Off, it is the first client alone.

    The delay is a percentile of recent first-token times. Where the second request wins, the first one's time is known
    only to be longer than its life; that life is kept as its sample, which leaves every percentile below it right.
    A hedge carries an identity of its own that is the visit's: on the first one's it would wait behind what is late.
    """

    def __init__(
        self, first: ChatClient, second: ChatClient, settings: Callable[[], Hedge], ledger: CostLedger, clock: Clock
    ) -> None:
        self.first = first
        self.second = second
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._ttfts: deque[float] = deque(maxlen=KEPT_TTFTS)
        self._recent: deque[Completion] = deque(maxlen=SHARE_WINDOW)

    @property
    def breaker(self) -> Breaker:
        """The first endpoint's."""
        return self.first.breaker

    @property
    def share(self) -> float:
        """Hedged requests among the last 200."""
        recent = list(self._recent)  # asked from other threads too
        return sum(bool(each.hedge) for each in recent) / len(recent) if recent else 0.0

    @property
    def _hedged(self) -> int:
        return sum(bool(each.hedge) for each in self._recent)

    async def aclose(self) -> None:
        """Close both connection pools."""
        await asyncio.gather(*(each.aclose() for each in {self.first, self.second}))

    def forget(self, conversation: str) -> None:
        """As ``ChatClient.forget``, at both endpoints."""
        self.first.forget(conversation)
        self.second.forget(hedge_of(conversation))

    async def stream(
        self, messages: Sequence[Said], report: Completion, *, conversation: str = '', offer: Offer | None = None
    ) -> AsyncGenerator[str, None]:
        """As ``ChatClient.stream``; ``report`` is that of the request which speaks, or calls a tool, first."""
        delay = self._delay()
        self._recent.append(report)
        try:
            if delay is None:
                alone = self.first.stream(messages, report, conversation=conversation, offer=offer)
                async with contextlib.aclosing(alone) as pieces:
                    async for piece in pieces:
                        yield piece
            else:
                hedged = self._hedged_stream(messages, report, conversation, offer, delay)
                async with contextlib.aclosing(hedged) as pieces:
                    async for piece in pieces:
                        yield piece
        finally:
            if not math.isnan(report.ttft):
                self._ttfts.append(report.ttft)

    async def _hedged_stream(
        self, messages: Sequence[Said], report: Completion, conversation: str, offer: Offer | None, delay: float
    ) -> AsyncGenerator[str, None]:
        async with contextlib.AsyncExitStack() as requests:
            asked = self._request(self.first, messages, conversation, offer)
            first = winner = await requests.enter_async_context(asked)
            try:
                if not await _settles_within(first, delay) and self._may_hedge(messages, report):
                    hedge = self._request(self.second, messages, hedge_of(conversation), offer)
                    second = await requests.enter_async_context(hedge)
                    winner = await self._race(first, second, messages, report)
                async for piece in winner:
                    _copy(report, winner, first)
                    yield piece
            finally:
                _copy(report, winner, first)

    def _delay(self) -> float | None:
        """When the first token counts as late (s), None for never."""
        settings = self._settings()
        if not settings.enabled or len(self._ttfts) < settings.min_samples:
            return None
        return float(np.percentile(list(self._ttfts), settings.percentile))

    def _may_hedge(self, messages: Sequence[Said], report: Completion) -> bool:
        """Within the share and under the cost ceiling, which is charged at once."""
        allowed = self._settings().max_share * len(self._recent)
        if self._hedged + 1 > allowed:
            return False
        tokens = estimated_tokens(messages)
        if not self._ledger.try_spend(tokens=tokens):
            return False
        report.hedge, report.tokens_wasted = 'neither', report.tokens_wasted + tokens
        return True

    async def _race(
        self, first: InFlight, second: InFlight, messages: Sequence[Said], report: Completion
    ) -> InFlight:
        """The request that speaks first; the other is ended. Neither speaks in time: the first one, with its error."""
        racing = {asyncio.ensure_future(each.settled()): each for each in (first, second)}
        try:
            while racing:
                remaining = first.begun + self.first.first_token_timeout - self._clock.monotonic()
                done, _ = await asyncio.wait(
                    racing, return_when=asyncio.FIRST_COMPLETED, timeout=max(0.0, remaining)
                )
                if not done:
                    break  # the visitor has waited long enough, for both
                if _decided(first) or _decided(second):
                    break
                for each in done:
                    del racing[each]
        finally:
            for each in racing:
                each.cancel()
        winner, loser = (second, first) if _decided(second) and not _decided(first) else (first, second)
        if second.report.attempts == 0:  # its breaker refused it: nothing was sent
            tokens = estimated_tokens(messages)
            self._ledger.spend(tokens=-tokens)
            report.hedge, report.tokens_wasted = '', report.tokens_wasted - tokens
            return first
        if _decided(winner):
            report.hedge = 'second' if winner is second else 'first'
        report.tokens_wasted += loser.pieces
        self._ledger.spend(tokens=loser.pieces)
        await loser.aclose()
        return winner

    def _request(
        self, client: ChatClient, messages: Sequence[Said], conversation: str, offer: Offer | None
    ) -> InFlight:
        return InFlight(
            lambda report: client.stream(messages, report, conversation=conversation, offer=offer),
            self._clock.monotonic(),
        )


async def _settles_within(request: InFlight, seconds: float) -> bool:
    """Whether the request speaks, calls a tool or fails before it counts as late."""
    with anyio.move_on_after(seconds):
        await request.settled()
    return request.speaks or request.calls or request.over


def _decided(request: InFlight) -> bool:
    """Whether the request has begun to answer, or to call a tool."""
    return request.speaks or request.calls


def _copy(report: Completion, winner: InFlight, first: InFlight) -> None:
    """Take the winner's report over; its time counts from the first request."""
    report.take(winner.report)
    if winner is not first:
        report.ttft += winner.begun - first.begun
        if not first.failed:
            report.sample = report.ttft
