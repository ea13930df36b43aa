"""Whether an answer the language model has just given may be given to other visitors, too."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pace_ros.aging import STABLE
from pace_ros.cache import CacheEntry, Source, admit
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Completion, Exchange
from pace_ros.llm.tools.call import UNREADABLE
from pace_ros.llm.tools.residue import looks_like_a_call
from pace_ros.llm.tools.used import ToolsUsed
from pace_ros.query import Query


@dataclass(frozen=True)
class Generated:
    """How an answer came about: its request's report, the knowledge in its prompt, and when that ends (wall, s)."""

    report: Completion
    sources: tuple[Source, ...]
    expires: float


class Admitting:
    """The door of L0 (design section 2, rule 5, and section 5, Volatility)."""

    def __init__(self, levels: Levels, config: Callable[[], Config], clock: Clock) -> None:
        self._levels = levels
        self._config = config
        self._clock = clock

    def admit(self, turn: LiveTurn, query: Query, generated: Generated, history: Sequence[Exchange]) -> None:
        """Cache the answer, unless something speaks against it; the record says what. ``history`` was in the prompt."""
        record = turn.record
        record.admission_reason = self._against(turn, query, generated, history)
        if record.admission_reason:
            return
        admission = admit(turn.switches.aging, query.category, query.locale)
        record.admission_reason = admission.reason
        if not admission.admitted:
            return
        assert query.vector is not None and query.scope.key is not None  # noqa: S101, PT018  nothing spoke against it
        now = self._clock.wall()
        expires = min(math.inf if admission.ttl is None else now + admission.ttl, generated.expires)
        entry = CacheEntry(
            question=query.text,
            answer=record.effective_answer.strip(),
            scope=query.scope.key,
            sources=generated.sources,
            written=now,
            expires=None if math.isinf(expires) else expires,
            reason=admission.reason,
            category='' if query.category == STABLE else query.category,
        )
        record.admitted = self._levels.cache.admit(entry, query.vector, since=query.epoch)
        if not record.admitted:
            record.admission_reason = self._levels.cache.error or 'its knowledge has changed meanwhile'

    def _against(self, turn: LiveTurn, query: Query, generated: Generated, history: Sequence[Exchange]) -> str:
        """Why the answer is not for others, whatever its age; empty if nothing speaks against it."""
        record, guards = turn.record, self._config().guards
        answer = record.effective_answer  # what would be kept
        if not turn.switches.l0:
            return 'l0 off'
        if query.vector is None:
            return 'no vector'
        if query.scope.key is None:
            return query.scope.reason
        if generated.report.calls or looks_like_a_call(answer):
            return 'unsound: it calls a tool'
        if not generated.report.whole:
            return f'unsound: finish {record.finish_reason}, breaker {record.breaker}'
        if reason := _of_tools(generated.report.used, history):
            return reason
        if guards.unknowing and (line := self._levels.unknowing.admits(answer, query.locale)):
            return f'it does not know: {line}'
        if self._strays(query, answer, history):
            return 'it names another subject'
        personal = guards.personal and self._levels.personal.in_conversation(query.text, answer, history)
        return f'personal: {personal}' if personal else ''

    def _strays(self, query: Query, answer: str, history: Sequence[Exchange]) -> bool:
        """Whether the answer speaks of what was asked about before and not now, or of another subject than the focus.

        Whoever asks the same without that history would not know what it speaks of.
        """
        facts, locale = self._levels.facts.facts, query.locale
        focus = dict(query.scope.subject)
        asked = {*facts(query.text, locale).names, *query.scope.subject}
        before = {name for each in history for name in facts(each.question, locale).names}
        others = [name for name in facts(answer, locale).names if name not in asked]
        return any(name in before or (query.scope.leans and name[0] in focus) for name in others)


def _of_tools(used: ToolsUsed, history: Sequence[Exchange]) -> str:
    """What tools had to do with the answer that makes it one for this visitor and this moment; empty for nothing."""
    if used.live:
        return f'tool: {", ".join(used.live)}'
    if used.acted:
        return 'tool: something was done for this visitor'
    failed = [use.name or UNREADABLE for use in used.uses if use.error]
    if failed:
        return f'tool failed: {failed[0]}'
    earlier = any(each.live for each in history)
    return "tool: an earlier answer that is nobody else's was in the prompt" if earlier else ''
