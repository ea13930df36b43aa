"""The frozen cache with which every arm that has one begins: answers given while its hit rate became steady."""
from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from pace_ros.cache import CacheEntry
from pace_ros.cache.entry import Source
from pace_ros.files import replacing
from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.laboratory import Laboratory
from pace_ros.study.evaluation.streams import BLOCK, steady_after
from pace_ros.study.evaluation.virtual_run import FIXED, Conditions, Job, perform
from pace_ros.study.workload.arrivals import steady
from pace_ros.study.workload.stream import stream

REQUESTS, EACH = 600, 20  # at most, and of a small data set so many a meaning
CONCURRENCY = 4.0
OTHER_VISITORS = 7919  # added to the seed: those who filled the cache are not those who are measured


def fill(dataset: str, seed: int, laboratory: Laboratory, conditions: Conditions, completion: float
         ) -> list[CacheEntry]:
    """Let other visitors ask PACE-static, of the simulated cloud at fixed cost, until the share of instant answers is
    steady; what is cached by then.
    """
    arm, data = ARMS['pace-static'], laboratory.subject(dataset).data
    count = min(REQUESTS, max(2 * BLOCK, EACH * len(data.wordings)))
    schedule = steady(CONCURRENCY, completion, seed=seed + OTHER_VISITORS, warm_up=0, measured=count)
    requests = stream(data, schedule, seed=seed + OTHER_VISITORS)
    job = Job(Cell('snapshot', dataset, arm.name, CONCURRENCY, seed + OTHER_VISITORS), arm, requests)
    admitted: list[CacheEntry] = []
    fixed = dataclasses.replace(conditions, time=FIXED, base_url='')
    rows = perform(job, laboratory, fixed, on_admit=admitted.append)
    until = steady_after([row['path'] in ('L0', 'L1') for row in rows])
    asked = {row['text'] for row in rows[:until]}
    return [entry for entry in admitted if entry.question in asked]


def write(entries: Sequence[CacheEntry], path: Path) -> None:
    """One entry a line. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        for each in entries:
            file.write(json.dumps(dataclasses.asdict(each), ensure_ascii=False).encode() + b'\n')


def read(path: Path, *, written: float) -> list[CacheEntry]:
    """The entries of a snapshot, as written at ``written`` (wall, s). Raises OSError, ValueError."""
    entries = []
    for line in path.read_text(encoding='utf-8').splitlines():
        fields = json.loads(line)
        fields['sources'] = tuple(Source(*each) for each in fields['sources'])
        entries.append(CacheEntry(**{**fields, 'written': written}))
    return entries
