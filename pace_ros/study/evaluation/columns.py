"""One request of an evaluation as a row: what every table, figure and statistic is made from."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pace_ros.turn import TurnRecord

KEYS = ('part', 'dataset', 'arm', 'concurrency', 'seed', 'index')
"""What identifies a row; rows of different arms that agree in the others are the same request."""

FROM_RECORD = (
    'reason', 'ptfr', 'perceived_latency', 'completion', 'ttft', 't_embed', 't_route', 't_retrieve', 't_path',
    'theta_cache', 'theta_direct', 'load_index', 'p_instant', 'gate', 'router_reason', 'ttft_ewma',
    'filler_launched', 'filler_shown', 'filler_calls', 'filler_elapsed', 'filler_budget', 'filler_conflict',
    'volatile_query', 'stale_reject', 'exact_repeat', 'cache_score', 'cached_question', 'retrieval_score', 'admitted',
    'l2_attempts', 'tokens_in', 'tokens_out', 'tokens_wasted', 'hedge', 'speculation', 'head_start',
)
"""Fields taken over from the turn's record as they are."""

COLUMNS: Mapping[str, str] = {
    'part': 'campaign, cold, steady, ramp, volatility, transfer, spot',
    'dataset': 'name of the data set', 'arm': 'name of the arm', 'concurrency': 'offered concurrency c',
    'seed': 'seed of the stream and the simulated cloud', 'index': 'place in the stream',
    'phase': 'warm-up, measured, or a phase of the ramp', 'at': 'intended send time, s since the run began',
    'lag': 'how much later it was sent, s', 'question_id': '', 'meaning': '', 'locale': '', 'kind': 'of wording',
    'text': 'what was asked', 'answer': 'what was answered',
    'reference': 'the right answer then', 'volatile': 'by the data set',
    'seen': 'its meaning was asked before', 'path': 'L0, L1, L2, FALLBACK, UNKNOWN',
    'outcome': 'ANSWERED, FAILED, ...',
    **dict.fromkeys(FROM_RECORD, 'as in the record of the turn'),
    'refused': 'nearer candidates that were no hits, and why',
    'correct': 'by the reference judge', 'quality': '1 to 5, by the reference judge',
    'stale': 'a former edition of the right answer', 'cache_error': 'wrong or stale, and from L0 or L1',
    'after_change': 'the right answer had changed before', 'event_age': 's since the last change of its answer',
}
"""All columns in order, with their meaning. Times in s, NaN where it did not happen: without an answer PTFR is NaN,
which percentiles count as infinite."""


def from_record(record: TurnRecord) -> dict[str, Any]:
    """The columns that a turn's record gives."""
    row: dict[str, Any] = {name: getattr(record, name) for name in FROM_RECORD}
    row['refused'] = '; '.join(record.refused)
    return {**row, 'path': record.path.name, 'outcome': record.outcome.name, 'answer': record.answer.strip()}
