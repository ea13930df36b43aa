"""A language model as the judge: blinded, by a rubric, with a deadline for every verdict."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import anyio

from pace_ros.clock import Clock
from pace_ros.config_levels import L2
from pace_ros.language import count_tokens
from pace_ros.llm import BreakerOpen, ChatClient, Completion, L2Error, Message, estimated_tokens
from pace_ros.study.judging.blinding import Blinded
from pace_ros.study.judging.rubric import Rubric, parse_score

ATTEMPTS = 2  # replies asked for until one is a score
REPLY_TOKENS = 16
REPLY_CHARS = 200  # of a reply that are kept


@dataclass(frozen=True)
class LlmVerdict:
    """What the model said of an answer: ``score`` 1 to 5, None if it gave none, with the ``error``.

    ``tokens_in`` and ``tokens_out`` are of all replies; ``seconds`` is how long the verdict took.
    """

    answer_id: str
    score: int | None
    reply: str = ''
    error: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


def judge_settings(deadline: float) -> L2:
    """How the endpoint is asked: no chance in the choice of words, and no wait beyond ``deadline`` (s)."""
    return L2(
        temperature=0.0, max_tokens=REPLY_TOKENS, first_token_timeout=deadline, inter_token_timeout=deadline,
        total_timeout=deadline,
    )


class LlmJudge:
    """Scores answers with a language model. ``deadline`` (s) is for a whole verdict, a second reply included."""

    def __init__(self, client: ChatClient, rubric: Rubric, clock: Clock, *, deadline: float = 30.0) -> None:
        self._client = client
        self._rubric = rubric
        self._clock = clock
        self._deadline = deadline

    async def verdict(self, item: Blinded) -> LlmVerdict:
        """Score one answer. Raises BreakerOpen where the endpoint failed too often to be asked."""
        begun = self._clock.monotonic()
        tally = _Tally()
        error = 'no score'
        score = None
        try:
            with anyio.fail_after(self._deadline):
                score = await self._score(item, tally)
        except TimeoutError:
            error = f'no verdict within {self._deadline:g} s'
        except BreakerOpen:
            raise
        except L2Error as problem:
            error = str(problem)
        return LlmVerdict(
            item.answer_id, score, tally.reply[:REPLY_CHARS], '' if score else error, tally.tokens_in,
            tally.tokens_out, round(self._clock.monotonic() - begun, 3),
        )

    async def judge(self, items: Iterable[Blinded], keep: Callable[[LlmVerdict], None], concurrency: int) -> str:
        """Score answers, ``concurrency`` at a time, and give every verdict to ``keep`` as soon as it is there.

        Returns why it stopped before the end, empty if it did not: an endpoint that fails again and again is left.
        """
        waiting = iter(items)
        stopped: list[str] = []

        async def work() -> None:
            for item in waiting:
                try:
                    keep(await self.verdict(item))
                except BreakerOpen as error:
                    stopped.append(str(error))
                    group.cancel_scope.cancel()
                    return

        async with anyio.create_task_group() as group:
            for _ in range(concurrency):
                group.start_soon(work)
        return stopped[0] if stopped else ''

    async def _score(self, item: Blinded, tally: _Tally) -> int | None:
        messages = self._rubric.messages(item)
        for _ in range(ATTEMPTS):
            tally.reply = await self._reply(messages, tally)
            if score := parse_score(tally.reply):
                return score
            messages = self._rubric.again(item, tally.reply)
        return None

    async def _reply(self, messages: list[Message], tally: _Tally) -> str:
        report = Completion()
        text = ''
        try:
            async with contextlib.aclosing(self._client.stream(messages, report)) as pieces:
                async for piece in pieces:
                    text += piece
        finally:
            if text:
                tally.tokens_in += report.tokens_in or estimated_tokens(messages)
                tally.tokens_out += report.tokens_out or count_tokens(text)
        return text.strip()


@dataclass
class _Tally:
    """What a verdict has cost so far, and the last reply."""

    reply: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
