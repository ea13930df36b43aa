"""Speculative turns: a hypothesis that has been stable for a while is prepared before the visitor has finished."""
from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pace_ros.config import Speculation as SpeculationSettings
from pace_ros.language import normal_form
from pace_ros.query import Foreseen

log = logging.getLogger(__name__)
REMEMBERED = 1000  # conversations
Prepare = Callable[[], Awaitable[Foreseen]]


@dataclass
class _Hypothesis:
    """What is believed the visitor is saying, and what has been made of it."""

    utterance_id: str
    text: str
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[Foreseen] | None = field(default=None)


class Speculator:
    """One hypothesis a conversation. Whatever is not claimed is cancelled: by other words, by another utterance, by
    ``speculation.patience``, or at the end. ``charge`` is told the tokens that came of it unheard.
    """

    def __init__(self, settings: Callable[[], SpeculationSettings], charge: Callable[[int], None]) -> None:
        self._settings = settings
        self._charge = charge
        self._open: dict[str, _Hypothesis] = {}
        self._finished: OrderedDict[str, str] = OrderedDict()  # the last final utterance of each conversation
        self._closing: set[asyncio.Task[None]] = set()

    def hear(self, conversation_id: str, utterance_id: str, text: str, prepare: Prepare) -> None:
        """Take a partial hypothesis; ``prepare`` is called once it has been stable."""
        if not self._settings().enabled or (utterance_id and self._finished.get(conversation_id) == utterance_id):
            return  # a partial result that comes after the final one
        held = self._open.get(conversation_id)
        if held is not None and held.utterance_id == utterance_id and normal_form(held.text) == normal_form(text):
            return
        self.drop(conversation_id)
        hypothesis = _Hypothesis(utterance_id, text)
        loop = asyncio.get_running_loop()
        hypothesis.timer = loop.call_later(self._settings().stable_for, self._begin, conversation_id, prepare)
        self._open[conversation_id] = hypothesis

    def claim(self, conversation_id: str, utterance_id: str) -> Foreseen | None:
        """What was prepared for this final utterance, None if nothing was. It is the caller's to close from now on."""
        hypothesis = self._open.pop(conversation_id, None)
        if utterance_id:
            self._finished[conversation_id] = utterance_id
            self._finished.move_to_end(conversation_id)
            if len(self._finished) > REMEMBERED:
                self._finished.popitem(last=False)
        if hypothesis is None:
            return None
        if hypothesis.timer is not None:
            hypothesis.timer.cancel()
        if hypothesis.task is None:
            return None
        if hypothesis.utterance_id != utterance_id or not hypothesis.task.done():
            self._close(hypothesis)
            return None
        try:
            return hypothesis.task.result()
        except Exception:
            log.exception('a speculative turn failed')
            return None

    def drop(self, conversation_id: str) -> None:
        """Forget a conversation's hypothesis and end what runs for it."""
        hypothesis = self._open.pop(conversation_id, None)
        if hypothesis is not None:
            self._close(hypothesis)

    def forget(self, conversation_id: str) -> None:
        """The conversation has ended."""
        self.drop(conversation_id)
        self._finished.pop(conversation_id, None)

    async def aclose(self) -> None:
        """End everything."""
        for conversation_id in list(self._open):
            self.drop(conversation_id)
        if self._closing:
            await asyncio.wait(self._closing)

    def _begin(self, conversation_id: str, prepare: Prepare) -> None:
        hypothesis = self._open[conversation_id]
        loop = asyncio.get_running_loop()
        hypothesis.task = loop.create_task(_prepared(prepare), name=f'foresee {conversation_id}')
        hypothesis.timer = loop.call_later(self._settings().patience, self._expire, conversation_id, hypothesis)

    def _expire(self, conversation_id: str, hypothesis: _Hypothesis) -> None:
        if self._open.get(conversation_id) is hypothesis:
            self.drop(conversation_id)

    def _close(self, hypothesis: _Hypothesis) -> None:
        if hypothesis.timer is not None:
            hypothesis.timer.cancel()
        if hypothesis.task is not None:
            closing = asyncio.get_running_loop().create_task(self._end(hypothesis.task))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _end(self, task: asyncio.Task[Foreseen]) -> None:
        """Let a preparation end, which is short, and drop what came of it."""
        try:
            foreseen = await task
        except Exception:
            log.exception('a speculative turn failed')
        else:
            self._charge(await foreseen.aclose())


async def _prepared(prepare: Prepare) -> Foreseen:
    return await prepare()
