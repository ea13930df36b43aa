"""A rare request of one token that tells how busy L2 is when no visitor's turn does."""
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable

from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control import CostLedger, Router
from pace_ros.llm.chat import ChatClient
from pace_ros.llm.completion import Completion, estimated_tokens
from pace_ros.llm.errors import L2Error
from pace_ros.llm.prompt import PromptBook

log = logging.getLogger(__name__)
DAY = 86_400.0  # s
GREETING = {'zh-CN': '你好！', 'en-US': 'Hello!'}


class SignalProbe:
    """Relieves a starved TTFT signal (``router.probe``) at no visitor's cost: it runs while nobody waits, is ended when
    somebody speaks, and keeps to its period, its number a day, the cost ceiling, and a closed breaker.
    """

    def __init__(
        self,
        llm: ChatClient,
        prompts: PromptBook,
        router: Router,
        ledger: CostLedger,
        *,
        config: Callable[[], Config],
        clock: Clock,
    ) -> None:
        self._llm = llm
        self._prompts = prompts
        self._router = router
        self._ledger = ledger
        self._config = config
        self._clock = clock
        self._sent: deque[float] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def sent(self) -> int:
        """Probes of the last 24 hours."""
        return len(self._sent)

    def consider(self, *, idle: bool) -> bool:
        """Send a probe if the signal is starved, one is due, and the floor is ``idle``; says whether it did."""
        settings, now = self._config().router, self._clock.monotonic()
        while self._sent and self._sent[0] <= now - DAY:
            self._sent.popleft()
        due = not self._sent or now - self._sent[-1] >= settings.probe_period
        busy = self._task is not None and not self._task.done()
        if not (settings.probe and idle and due and not busy and len(self._sent) < settings.probes_per_day):
            return False
        if not self._router.state().starved or self._llm.breaker.state != 'closed':
            return False
        locale = self._config().locale
        messages = self._prompts.messages(GREETING[locale], locale, passages=(), history=(), persona=True)
        if not self._ledger.try_spend(tokens=estimated_tokens(messages) + 1):
            return False
        self._sent.append(now)
        self._task = asyncio.get_running_loop().create_task(self._run(messages), name='probe')
        return True

    def cancel(self) -> None:
        """A visitor speaks: leave the endpoint to them."""
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        """End a probe under way and wait until it has ended."""
        self.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self, messages: list[dict[str, str]]) -> None:
        """The first token is all that is wanted; then the request is ended."""
        report = Completion()
        with contextlib.suppress(L2Error):
            async with contextlib.aclosing(self._llm.stream(messages, report, max_tokens=1)) as pieces:
                async for _ in pieces:
                    self._router.observe_ttft(report.sample)
                    return
