"""Whether fillers contradict the answers they precede: by their facts, and if wished by a blinded judge."""
from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
from collections.abc import Callable

from pace_ros.config import Filler as FillerSettings
from pace_ros.control import CostLedger
from pace_ros.facts import FactExtractor
from pace_ros.language import count_tokens, language
from pace_ros.llm import ChatClient, Completion, L2Error, Message, estimated_tokens
from pace_ros.turn import Outcome, TurnRecord

log = logging.getLogger(__name__)
JUDGE_DEADLINE = 10.0  # s
LONGEST_VERDICT = 200  # characters of reply in which a verdict must come
AGREE, CONTRADICT = 'agree', 'contradict'
_INSTRUCTIONS = {
    'en': 'Two statements were made in one conversation. Do they contradict each other on any fact? '
          'Reply with one word: yes or no.',
    'zh': '下面两句话出自同一段对话。它们在任何事实上互相矛盾吗？只回答一个词：是 或 否。',
}
_LABELS = {'en': ('Statement 1', 'Statement 2'), 'zh': ('第一句', '第二句')}
_VERDICTS = (  # what a verdict begins with; "not sure" and "note that" are none
    (re.compile(r'yes(?![a-z])'), CONTRADICT), (re.compile(r'no(?![a-z])'), AGREE),
    (re.compile('否|不是|不矛盾'), AGREE), (re.compile('是(?!否)|矛盾'), CONTRADICT),
)


class ConflictMeter:
    """Conflict rate: share of the answered turns with a filler in which both disagree on a fact (design section 5)."""

    def __init__(self, facts: FactExtractor) -> None:
        self._facts = facts
        self.measured = 0
        self.conflicts = 0
        self.judged = 0
        self.contradictions = 0

    @property
    def rate(self) -> float:
        """By the facts; 0 before the first such turn."""
        return self.conflicts / self.measured if self.measured else 0.0

    def measure(self, record: TurnRecord) -> None:
        """Note in a turn that is ending whether its filler and its answer disagree, and on what kind of fact."""
        if not is_measurable(record):
            return
        try:
            record.filler_conflict = self._facts.conflict(record.filler_text, record.answer, record.locale)
        except Exception:  # a turn ends whatever its texts are
            log.exception('filler and answer of turn %s cannot be compared', record.turn_id)
            return
        self.measured += 1
        self.conflicts += bool(record.filler_conflict)

    def note_verdict(self, record: TurnRecord, verdict: str) -> None:
        """Note what the judge found."""
        record.filler_verdict = verdict
        self.judged += verdict in (AGREE, CONTRADICT)
        self.contradictions += verdict == CONTRADICT


def is_measurable(record: TurnRecord) -> bool:
    """Whether a filler was shown and a whole answer followed."""
    return record.filler_shown and record.outcome is Outcome.ANSWERED


class ConflictJudge:
    """Asks the language model. It is blinded: it learns neither which statement was the filler nor that there was one,
    and their order is drawn anew each time.
    """

    def __init__(
        self,
        llm: ChatClient,
        settings: Callable[[], FillerSettings],
        ledger: CostLedger,
        chance: random.Random | None = None,
    ) -> None:
        self._llm = llm
        self._settings = settings
        self._ledger = ledger
        self._chance = chance or random.Random()  # noqa: S311  a coin, no secret

    async def verdict(self, record: TurnRecord) -> str:
        """``agree``, ``contradict``, or why there is no verdict; empty where none is wanted."""
        if not self._settings().judge or not is_measurable(record):
            return ''
        if self._llm.breaker.state != 'closed':
            return f'none: breaker {self._llm.breaker.state}'  # its one probe belongs to a visitor
        messages = self.messages(record.filler_text, record.answer, record.locale)
        if not self._ledger.try_spend(tokens=estimated_tokens(messages)):
            return 'none: cost ceiling'
        report = Completion()
        try:
            return await asyncio.wait_for(self._ask(messages, report), JUDGE_DEADLINE)
        except (L2Error, asyncio.TimeoutError) as error:
            return f'none: {str(error) or "no verdict in time"}'
        except Exception as error:
            log.exception('the judge failed')
            return f'none: internal error: {error}'
        finally:
            if report.attempts == 0:  # nothing was sent
                self._ledger.spend(tokens=-estimated_tokens(messages))

    def messages(self, filler: str, answer: str, locale: str) -> list[Message]:
        """The prompt, with both statements in drawn order."""
        name = language(locale) if language(locale) in _INSTRUCTIONS else 'en'
        statements = [filler, answer]
        self._chance.shuffle(statements)
        lines = (f'{label}: {text}' for label, text in zip(_LABELS[name], statements, strict=True))
        return [{'role': 'system', 'content': _INSTRUCTIONS[name]}, {'role': 'user', 'content': '\n'.join(lines)}]

    async def _ask(self, messages: list[Message], report: Completion) -> str:
        reply = ''
        async with contextlib.aclosing(self._llm.stream(messages, report)) as pieces:
            async for piece in pieces:
                reply += piece
                if len(reply) > LONGEST_VERDICT:
                    break
        self._ledger.spend(tokens=count_tokens(reply))
        return read_verdict(reply)


def read_verdict(reply: str) -> str:
    """The verdict a reply begins with."""
    opening = reply.strip().lower().lstrip('*"\'“「(')
    return next((verdict for form, verdict in _VERDICTS if form.match(opening)), f'none: unclear: {opening[:40]}')
