"""What a request to the language model leaves in its turn's record and in the ledger."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.control import CostLedger
from pace_ros.generation import Generation
from pace_ros.llm import Completion, Exchange
from pace_ros.llm.tools.used import ToolsUsed
from pace_ros.query import Query
from pace_ros.turn import ToolUse, TurnRecord


def catch_up(record: TurnRecord, report: Completion, rounds: int, tools: tuple[ToolUse, ...]) -> None:
    """Note how far a request has come, beside the ``rounds`` and ``tools`` of those before it."""
    record.ttft, record.tool_rounds = report.ttft, rounds + report.used.rounds
    record.tools = (*tools, *report.used.uses)


def note_request(record: TurnRecord, generation: Generation, ledger: CostLedger, breaker: str) -> None:
    """Book a request that has ended: in the record, and its tokens in the ledger (estimated where the server said
    nothing). ``breaker`` is the state that holds where the request does not tell.
    """
    report, cost = generation.request.report, generation.cost
    record.l2_attempts, record.finish_reason = report.attempts, report.finish_reason
    record.tokens_in, record.tokens_out = report.tokens_in, report.tokens_out
    record.hedge, record.tokens_wasted = report.hedge, record.tokens_wasted + report.tokens_wasted
    record.breaker = report.breaker_after or breaker
    if generation.outdated or generation.too_long:
        record.tokens_wasted += cost
    ledger.spend(tokens=cost)


def note_tools(record: TurnRecord, query: Query, used: ToolsUsed, history: Sequence[Exchange]) -> None:
    """An answer made of what a tool found ages with that knowledge; one of a live tool, or made of such an answer, is
    old at once. ``history`` was in the prompt.
    """
    record.entry_ids = tuple(dict.fromkeys((*record.entry_ids, *(hit.entry.entry_id for hit in used.hits))))
    query.note_volatile(record, used.hits)
    query.live = bool(used.live or used.acted) or any(each.live for each in history)
    if used.live:
        record.volatile_query, record.volatile_reason = True, f'tool: {", ".join(used.live)}'
