"""The rows of a run as the tables and figures take them, with the plan they were made by."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pace_ros.study.judging.verdict_file import NAME as VERDICTS
from pace_ros.study.judging.verdict_file import read_verdicts
from pace_ros.study.load_log import REQUESTS, read_rows
from pace_ros.study.refusal import Refusal
from pace_ros.study.results.arms_order import in_order
from pace_ros.study.results.hit_kinds import hit_kinds
from pace_ros.study.results.published import Published
from pace_ros.study.workload.request import WARM_UP

PARTS = ('campaign', 'cold', 'steady', 'ramp', 'volatility', 'transfer', 'spot')
_NEEDED = (
    'part', 'dataset', 'arm', 'concurrency', 'seed', 'index', 'phase', 'at', 'lag', 'question_id', 'path', 'outcome',
    'ptfr', 'perceived_latency', 'completion', 't_embed', 't_route', 't_retrieve', 't_path', 'theta_cache',
    'theta_direct', 'load_index', 'gate', 'filler_launched', 'filler_shown', 'filler_calls', 'filler_elapsed',
    'filler_conflict', 'stale_reject', 'tokens_in', 'tokens_out', 'tokens_wasted', 'hedge', 'correct', 'quality',
    'stale', 'cache_error', 'after_change', 'event_age',
)
_FLAGS = ('filler_launched', 'filler_shown', 'stale_reject', 'stale', 'cache_error', 'after_change')
_WORDS = ('filler_conflict', 'gate', 'hedge')


class ResultsError(Refusal):
    """A run cannot be read; the message says which file and why."""


@dataclass(frozen=True)
class Results:
    """``rows``: all measured requests; ``plan``: what the run was asked to do and where, free in form.

    To the columns of evaluation/columns.py the rows have, all in s and infinite without an answer: ``first``, PTFR from
    receipt, ``perceived``, PL, ``sent_first`` and ``sent_perceived``, the same from the intended send time; and
    ``answered``, ``instant`` (answered by L0 or L1), ``hit`` (what an answer of L0 was, hit_kinds.py). ``scores`` are a
    language model's, 1 to 5, by answer (judging/blinding.py).
    """

    rows: pd.DataFrame
    plan: dict[str, Any]
    published: Published
    scores: Mapping[str, int] = field(default_factory=dict)

    def part(self, name: str) -> pd.DataFrame:
        """The rows of one part; none where it was not run."""
        return self.rows.loc[self.rows['part'] == name]

    def cells(self, name: str) -> dict[tuple[str, float], pd.DataFrame]:
        """The rows of one part by arm and offered concurrency, in the order in which they are shown."""
        rows = self.part(name)
        grouped = {(str(arm), float(c)): part for (arm, c), part in rows.groupby(['arm', 'concurrency'])}
        order = {arm: place for place, arm in enumerate(in_order(rows['arm']))}
        return {key: grouped[key] for key in sorted(grouped, key=lambda key: (key[1], order[key[0]]))}


def read(folder: Path, numbers: Published) -> Results:
    """Read DIR/requests.parquet and, if there, DIR/plan.json and DIR/verdicts.jsonl.

    Raises ResultsError, SourceError, JudgingError.
    """
    frame = read_rows(folder / REQUESTS, columns=_NEEDED)
    verdicts = read_verdicts(folder / VERDICTS)
    scores = {name: each.score for name, each in verdicts.items() if each.score is not None}
    return replace(prepared(frame, _plan(folder / 'plan.json'), numbers), scores=scores)


def plan_of(content: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, of the content of plan.json: its entry ``plan``, or all of it."""
    inner = content.get('plan', content)
    return inner if isinstance(inner, dict) else {}


def _plan(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ResultsError(f'{path}: cannot be read as JSON: {error}') from error
    if not isinstance(content, dict):
        raise ResultsError(f'{path}: must hold an object.')
    return content


def prepared(frame: pd.DataFrame, plan: dict[str, Any], numbers: Published) -> Results:
    """Leave out the warm-up and add what is counted everywhere. Raises ResultsError naming columns that lack."""
    lacking = [name for name in _NEEDED if name not in frame]
    if lacking:
        raise ResultsError(f'rows: lacks the columns {", ".join(lacking)}.')
    frame = frame.reset_index(drop=True)
    rows = frame.assign(hit=hit_kinds(frame)).loc[frame['phase'] != WARM_UP].copy()
    for name in _FLAGS:
        rows[name] = rows[name].eq(True)
    for name in _WORDS:
        rows[name] = rows[name].where(rows[name].notna(), '').astype(str)
    rows['answered'] = rows['outcome'] == 'ANSWERED'
    rows['instant'] = rows['answered'] & rows['path'].isin(('L0', 'L1'))
    lag = rows['lag'].fillna(0.0)
    for name, source_name in (('first', 'ptfr'), ('perceived', 'perceived_latency')):
        rows[name] = rows[source_name].astype(float).fillna(np.inf)
        rows[f'sent_{name}'] = rows[name] + lag
    rows = rows.sort_values(['part', 'dataset', 'concurrency', 'arm', 'seed', 'index'], kind='stable')
    return Results(rows.reset_index(drop=True), plan, numbers)
