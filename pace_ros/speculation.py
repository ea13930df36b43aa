"""Speculative turns: a hypothesis that has been stable for a while is prepared before the visitor has finished."""
from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from pace_ros.config import Speculation as SpeculationSettings
from pace_ros.control import CostLedger
from pace_ros.language import normal_form
from pace_ros.query import Foreseen

T = TypeVar('T')
log = logging.getLogger(__name__)
REMEMBERED = 1000  # conversations
Prepare = Callable[[Callable[[], bool]], Awaitable[Foreseen]]  # it is told how to ask whether it is still wanted


@dataclass
class _Hypothesis:
    """What is believed the visitor is saying, and what has been made of it; ``state`` is why there is nothing yet."""

    utterance_id: str
    text: str
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[Foreseen] | None = None
    wanted: bool = True
    state: str = 'not stable yet'


class Speculator:
    """One hypothesis a conversation. Whatever is not claimed is cancelled: by other words, by another utterance, by
    ``speculation.patience``, or at the end.
    """

    def __init__(self, settings: Callable[[], SpeculationSettings], ledger: CostLedger) -> None:
        self._settings = settings
        self._ledger = ledger
        self._open: OrderedDict[str, _Hypothesis] = OrderedDict()
        self._finished: OrderedDict[str, str] = OrderedDict()  # the last final utterance of each conversation
        self._waste: OrderedDict[str, int] = OrderedDict()  # tokens since the conversation's last turn
        self._closing: set[asyncio.Task[None]] = set()

    def hear(self, conversation_id: str, utterance_id: str, text: str, prepare: Prepare) -> None:
        """Take a partial hypothesis; ``prepare`` is called once it has been stable."""
        if not self._settings().enabled or (utterance_id and self._finished.get(conversation_id) == utterance_id):
            return  # a partial result that comes after the final one
        held = self._open.get(conversation_id)
        if held is not None and held.utterance_id == utterance_id and normal_form(held.text) == normal_form(text):
            return
        self.drop(conversation_id)
        hypothesis = self._open[conversation_id] = _Hypothesis(utterance_id, text)
        hypothesis.timer = asyncio.get_running_loop().call_later(
            self._settings().stable_for, self._begin, conversation_id, hypothesis, prepare
        )
        while len(self._open) > REMEMBERED:
            self.drop(next(iter(self._open)))

    def claim(self, conversation_id: str, utterance_id: str) -> Foreseen | None:
        """What was prepared for this final utterance, or why nothing was, None if there was no hypothesis.

        It is the caller's to close from now on.
        """
        if utterance_id:
            _remember(self._finished, conversation_id, utterance_id)
        hypothesis = self._open.pop(conversation_id, None)
        if hypothesis is None:
            return None
        if hypothesis.utterance_id != utterance_id:
            self._end(conversation_id, hypothesis)
            return Foreseen('', reason='dropped: another utterance')
        if hypothesis.task is None or not hypothesis.task.done():
            self._end(conversation_id, hypothesis)
            return Foreseen('', reason=f'dropped: {hypothesis.state}')
        self._cancel_timer(hypothesis)
        try:
            return hypothesis.task.result()
        except Exception:
            log.exception('a speculative turn failed')
            return Foreseen('', reason='dropped: it failed')

    def take_waste(self, conversation_id: str) -> int:
        """Tokens of requests for this conversation that were ended unheard since it was last asked."""
        return self._waste.pop(conversation_id, 0)

    def drop(self, conversation_id: str) -> None:
        """Forget a conversation's hypothesis and end what runs for it."""
        hypothesis = self._open.pop(conversation_id, None)
        if hypothesis is not None:
            self._end(conversation_id, hypothesis)

    def forget(self, conversation_id: str) -> None:
        """The conversation has ended."""
        self.drop(conversation_id)
        self._finished.pop(conversation_id, None)
        self._waste.pop(conversation_id, None)

    async def aclose(self) -> None:
        """End everything."""
        for conversation_id in list(self._open):
            self.drop(conversation_id)
        if self._closing:
            await asyncio.wait(self._closing)

    def _begin(self, conversation_id: str, hypothesis: _Hypothesis, prepare: Prepare) -> None:
        loop = asyncio.get_running_loop()
        hypothesis.state = 'not ready yet'
        hypothesis.task = loop.create_task(_prepared(hypothesis, prepare), name=f'foresee {conversation_id}')
        hypothesis.timer = loop.call_later(self._settings().patience, self._expire, conversation_id, hypothesis)

    def _expire(self, conversation_id: str, hypothesis: _Hypothesis) -> None:
        """Nobody has finished the sentence; its words stay known, so that they are not prepared again and again."""
        self._end(conversation_id, hypothesis)
        hypothesis.task, hypothesis.state = None, 'expired'

    def _cancel_timer(self, hypothesis: _Hypothesis) -> None:
        if hypothesis.timer is not None:
            hypothesis.timer.cancel()

    def _end(self, conversation_id: str, hypothesis: _Hypothesis) -> None:
        self._cancel_timer(hypothesis)
        hypothesis.wanted = False
        if hypothesis.task is not None:
            closing = asyncio.get_running_loop().create_task(self._close(conversation_id, hypothesis.task))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, conversation_id: str, task: asyncio.Task[Foreseen]) -> None:
        """Let a preparation end, which is short, and drop what came of it."""
        try:
            foreseen = await task
        except Exception:
            log.exception('a speculative turn failed')
            return
        if wasted := await foreseen.drop(self._ledger):
            _remember(self._waste, conversation_id, self._waste.get(conversation_id, 0) + wasted)


async def _prepared(hypothesis: _Hypothesis, prepare: Prepare) -> Foreseen:
    return await prepare(lambda: hypothesis.wanted)


def _remember(memory: OrderedDict[str, T], conversation_id: str, value: T) -> None:
    memory[conversation_id] = value
    memory.move_to_end(conversation_id)
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
