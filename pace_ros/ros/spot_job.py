"""A cell of the evaluation as a run of the real node: its files, its parameters, its simulated cloud."""
from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.config import Config
from pace_ros.embedding import Embedder
from pace_ros.files import replacing
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.retrieval.files import read_knowledge
from pace_ros.ros.spot_run import RealRun
from pace_ros.settings import settings_of, value_of
from pace_ros.study.cloud import CloudSettings
from pace_ros.study.evaluation.laboratory import Laboratory
from pace_ros.study.evaluation.virtual_run import Job


def real_run(job: Job, laboratory: Laboratory, cloud: CloudSettings, folder: Path, data: Path | None = None) -> RealRun:
    """The run that is to agree with ``perform(job, ...)``; what it needs is written into ``folder``.

    ``data`` is where public data sets lie. Raises ConfigError, KnowledgeError, OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    subject = laboratory.subject(job.cell.dataset)
    config = job.arm.config(subject.base)
    knowledge = folder / 'knowledge.jsonl'
    write_knowledge(subject.data.knowledge, knowledge)
    read_knowledge([knowledge])
    snapshot = folder / 'snapshot.sqlite'
    write_snapshot(job.snapshot, snapshot, laboratory.remembering, config)
    cloud.write(folder / 'cloud.yaml')
    command = [
        sys.executable, '-m', 'pace_ros.ros.spot_cloud', '--port', '0', '--dataset', job.cell.dataset,
        '--seed', str(job.cell.seed), '--settings', str(folder / 'cloud.yaml'),
        *([] if data is None else ['--data', str(data)]),
    ]
    return RealRun(
        job.cell.arm, tuple(job.requests), job.cell.dataset, job.cell.seed,
        {**changed(config), 'l1.knowledge': (str(knowledge),)}, cloud=tuple(command), announces=True,
        snapshot=snapshot,
    )


def changed(config: Config) -> dict[str, object]:
    """The settings that are not at their defaults, by dotted name."""
    values = ((each, value_of(config, each.name)) for each in settings_of(Config))
    return {each.name: value for each, value in values if value != each.default}


def write_knowledge(entries: Iterable[KnowledgeEntry], file: Path) -> None:
    """A knowledge file. Raises OSError."""
    with replacing(file) as target:
        for each in entries:
            target.write(json.dumps(_fields(each), ensure_ascii=False).encode() + b'\n')


def _fields(entry: KnowledgeEntry) -> dict[str, Any]:
    fields: dict[str, Any] = {'id': entry.entry_id}
    if entry.is_passage:
        fields['passage'] = True
    else:
        fields['questions'] = {key: list(texts) for key, texts in entry.questions.items()}
    fields |= {'answer': dict(entry.answers), 'topic': entry.topic, 'volatile': entry.volatile, 'source': entry.source}
    return fields if entry.valid_until is None else {**fields, 'valid_until': entry.valid_until.isoformat()}


def write_snapshot(entries: Sequence[CacheEntry], file: Path, embedder: Embedder, config: Config) -> None:
    """A cache file that holds these answers. Raises CacheFileError."""
    for part in ('', '-wal', '-shm', '.lock'):
        file.with_name(f'{file.name}{part}').unlink(missing_ok=True)
    cache = SemanticCache(
        dimension=embedder.dimension, capacity=config.l0.capacity, half_life=config.l0.half_life, clock=SystemClock(),
        file=file, fingerprint=embedder.fingerprint,
    )
    try:
        for each in entries:
            cache.admit(each, embedder.embed(each.question))
    finally:
        cache.close()
