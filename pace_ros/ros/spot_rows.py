"""From a stream, what its visitors saw and the robot's records to rows of the evaluation."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pace_ros.ros.spot_visitors import Visit
from pace_ros.study.evaluation.columns import COLUMNS, from_record
from pace_ros.study.judging.reference import ReferenceJudge
from pace_ros.study.workload.request import Request
from pace_ros.turn import TurnRecord

JUDGED = ('correct', 'quality', 'stale', 'cache_error', 'after_change', 'event_age')
"""Columns that a judge adds."""
EXTRA: Mapping[str, str] = {
    'ptfr_client': 'from sending to the first answer frame, as the visitors saw it over DDS, s',
    'transit': 'from sending to receipt in the node, s',
}
"""Columns of a real-time run beside those of the evaluation."""


def spot_rows(
    requests: Sequence[Request], records: Iterable[TurnRecord], visits: Mapping[int, Visit], *, arm: str, dataset: str,
    seed: int,
) -> list[dict[str, Any]]:
    """One row a request in the order of the stream, part spot, without the columns in JUDGED.

    Records are joined by utterance id, which is the request's index. A request without a record is a row without an
    answer, path and outcome UNKNOWN.
    """
    by_utterance = {each.utterance_id: each for each in records}
    rows = []
    for request in requests:
        index, question = request.index, request.question
        record = by_utterance.get(str(index)) or TurnRecord('', '', reason='no record of the turn')
        visit = visits.get(index, Visit())
        row = {
            **from_record(record),
            'part': 'spot', 'dataset': dataset, 'arm': arm, 'concurrency': request.concurrency, 'seed': seed,
            'index': index, 'phase': request.phase, 'at': request.at, 'lag': visit.sent - request.at,
            'question_id': question.question_id, 'meaning': question.meaning, 'locale': question.locale,
            'kind': question.kind, 'text': question.text, 'reference': question.answer, 'volatile': question.volatile,
            'seen': request.seen, 'ptfr_client': visit.first_response, 'transit': record.since_speech_end,
        }
        rows.append({name: row[name] for name in (*COLUMNS, *EXTRA) if name in row})
    return rows


def judged(
    rows: Sequence[Mapping[str, Any]], requests: Sequence[Request], judge: ReferenceJudge
) -> list[dict[str, Any]]:
    """The rows of the requests with the columns in JUDGED, in a world that does not change."""
    found = []
    for row, request in zip(rows, requests, strict=True):
        verdict = judge.verdict(row['answer'], request.question, (request.question.answer,))
        found.append({
            **row, 'correct': verdict.correct, 'quality': verdict.quality, 'stale': verdict.stale,
            'cache_error': row['path'] in ('L0', 'L1') and not verdict.correct, 'after_change': False,
            'event_age': math.nan,
        })
    return found
