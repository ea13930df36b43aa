"""Tool rounds: the model calls, is told what came of it, and calls again or answers (design section 6, TTFET)."""
from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace

from pace_ros.clock import Clock
from pace_ros.config_levels import L2
from pace_ros.control import CostLedger
from pace_ros.llm.chat import ChatModel
from pace_ros.llm.completion import Completion, Said, estimated_tokens
from pace_ros.llm.errors import L2Error, L2Malformed, L2Refused, L2Timeout
from pace_ros.llm.tools.call import ToolCall, answered, asked_for
from pace_ros.llm.tools.offer import Offer
from pace_ros.llm.tools.toolbox import Done, Toolbox


class PreambleEnd(str):
    """A piece of the stream that says: what was said since the last one is no answer, a tool has been called. Its text
    ends the sentence, so that it is spoken while the tool runs.
    """

    __slots__ = ()


@dataclass
class _Turn:
    """One turn's way through its rounds; instants on the monotonic clock (s)."""

    talk: list[Said]
    report: Completion
    locale: str
    begun: float
    total_by: float
    first_token_by: float
    tool_seconds: float
    done: Done = field(default_factory=dict)


class ToolRounds:
    """Asks ``model``, runs what it calls, and asks again: at most ``l2.tool_rounds`` times, then it is to answer.

    All of it happens within ``l2.first_token_timeout`` and ``l2.total_timeout``, both counted from the first request; a
    preamble that was said gives the first token of the answer its time anew. Each round is a request of its own to the
    breaker and the hedge. Ahead of the end of an utterance no tool with effects is called: the request ends instead.
    """

    def __init__(
        self, model: ChatModel, toolbox: Toolbox, config: Callable[[], L2], ledger: CostLedger, clock: Clock
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._config = config
        self._ledger = ledger
        self._clock = clock

    async def aclose(self) -> None:
        """Close the tools; the model is its owner's to close."""
        await self._toolbox.aclose()

    async def stream(
        self, messages: Sequence[Said], report: Completion, *, conversation: str = '', locale: str = ''
    ) -> AsyncGenerator[str, None]:
        """Yield the answer as ``ChatModel.stream`` does, with a ``PreambleEnd`` after text that no answer was.

        ``report`` holds the sums over all rounds. Raises L2Error. Closing the generator ends the tool that runs.
        """
        config, begun = self._config(), self._clock.monotonic()
        turn = _Turn(
            list(messages), report, locale, begun, begun + config.total_timeout, begun + config.first_token_timeout,
            self._toolbox.turn_timeout,
        )
        for number in range(1, config.tool_rounds + 2):
            one, said = Completion(), list[str]()
            may_call = number <= config.tool_rounds
            asked = self._round(turn, one, conversation, may_call=may_call)
            async with contextlib.aclosing(asked) as pieces:
                async for piece in pieces:
                    said.append(piece)
                    yield piece
            if not one.calls:
                return
            if said:
                yield PreambleEnd('\n')
                report.ttft = math.nan
                turn.first_token_by = self._clock.monotonic() + config.first_token_timeout
            if not may_call:
                raise L2Malformed('the model called a tool instead of answering')
            await self._call(turn, one, ''.join(said).strip(), number)

    async def _round(
        self, turn: _Turn, one: Completion, conversation: str, *, may_call: bool
    ) -> AsyncGenerator[str, None]:
        """One request, added to the report of the turn."""
        report, pieces_said, refused = turn.report, 0, False
        offer = Offer(
            self._toolbox.fields(), self._toolbox.names, may_call, min(turn.first_token_by, turn.total_by),
            turn.total_by,
        )
        asked = self._model.stream(turn.talk, one, conversation=conversation, offer=offer)
        try:
            async with contextlib.aclosing(asked) as pieces:
                async for piece in pieces:
                    pieces_said += 1
                    if math.isnan(report.ttft):
                        report.ttft = self._clock.monotonic() - turn.begun
                    report.sample = one.sample
                    yield piece
        except L2Refused as error:
            refused = error.too_long
            raise
        finally:
            _add(report, one, [] if refused else turn.talk, pieces_said)

    async def _call(self, turn: _Turn, one: Completion, said: str, number: int) -> None:
        """Run what was called and tell the model what came of it, and what it has ``said`` before.

        Raises L2Error where that may not be, or no time is left.
        """
        calls, used = _named(one.calls, number), turn.report.used
        acts = self._toolbox.has_effects(calls)
        if used.ahead and acts:
            raise L2Error('a tool with effects is not called before the visitor has finished')
        if used.ahead and not self._ledger.may_spend(tokens=estimated_tokens(turn.talk)):
            raise L2Error('a further round ahead is beyond the cost ceiling')
        now = self._clock.monotonic()
        seconds = min(turn.tool_seconds, turn.first_token_by - now, turn.total_by - now)
        if seconds <= 0:
            raise L2Timeout('no time for a tool')
        acted = used.acted
        used.rounds, used.acted = number, acted or acts
        used.live = tuple(dict.fromkeys((*used.live, *self._toolbox.live(calls))))
        outcomes = await self._toolbox.run(
            calls, locale=turn.locale, number=number, seconds=seconds, done=turn.done
        )
        used.acted = acted or any(outcome.acted for outcome in outcomes)
        turn.tool_seconds -= self._clock.monotonic() - now
        turn.talk.append(asked_for(said, calls))
        for call, outcome in zip(calls, outcomes, strict=True):
            turn.talk.append(answered(call, outcome.text))
            used.uses.append(outcome.use)
            used.hits.extend(outcome.hits)


def _named(calls: Sequence[ToolCall], number: int) -> tuple[ToolCall, ...]:
    """Every call with an id, which servers want in the history."""
    return tuple(
        replace(call, call_id=call.call_id or f'call{number:02d}{place:03d}') for place, call in enumerate(calls)
    )


def _add(report: Completion, one: Completion, talk: Sequence[Said], pieces: int) -> None:
    """Add a round; what its server did not count is estimated where other rounds count too."""
    several = report.attempts > 0 or bool(one.calls)
    estimated = several and one.attempts > 0
    report.tokens_in += one.tokens_in or (estimated_tokens(talk) if estimated else 0)
    report.tokens_out += one.tokens_out or (pieces if estimated else 0)
    report.attempts += one.attempts
    report.finish_reason, report.calls = one.finish_reason, one.calls
    report.breaker_before = one.breaker_before if report.breaker_before in ('', 'closed') else report.breaker_before
    report.breaker_after = one.breaker_after if report.breaker_after in ('', 'closed') else report.breaker_after
    report.hedge = one.hedge or report.hedge
    report.tokens_wasted += one.tokens_wasted
