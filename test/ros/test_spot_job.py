"""A study's cell made ready for the real node: its files, its plan, what its cloud is told."""
from __future__ import annotations

import argparse
import datetime
import json
import math
from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.config import Config
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.retrieval.files import read_knowledge
from pace_ros.ros.spot_check import Study, add_arguments, cells_of, run
from pace_ros.ros.spot_cloud import Announcer, ToldCloud
from pace_ros.ros.spot_job import write_knowledge, write_snapshot
from pace_ros.ros.spot_rows import JUDGED, judged
from pace_ros.study.cloud import CloudSettings, SimulatedCloud
from pace_ros.study.datasets.question import Question
from pace_ros.study.spot import SpotError
from pace_ros.study.workload.request import Request

PLAN = {
    'completion': 1.5,
    'plan': {'dataset': 'carqa', 'language': 'zh', 'sizes': {'warm_up': 100}, 'seeds': [1, 2],
             'cloud': {'knee': 12.0, 'outages': []}},
}


class OneHot:
    """An encoder of three dimensions: the length of the text chooses one."""

    dimension, fingerprint = 3, 'one-hot'

    def embed(self, text: str) -> Any:
        vector = np.zeros(3, dtype=np.float32)
        vector[len(text) % 3] = 1.0
        return vector

    embed_passage = embed


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def study(folder: FilePath, **changes: Any) -> FilePath:
    folder.mkdir(exist_ok=True)
    (folder / 'plan.json').write_text(json.dumps({**PLAN, **changes}))
    return folder


def test_knowledge_is_read_back_as_it_was(tmp_path: FilePath) -> None:
    entries = [
        KnowledgeEntry('price', {'zh': ('多少钱？', '价格'), 'en': ('How much?',)}, {'zh': '九万', 'en': '90,000.'},
                       'price', volatile=True, source='list', valid_until=datetime.date(2030, 1, 31)),
        KnowledgeEntry('seats', {'en': ('How many seats?',)}, {'en': 'Five.'}),
    ]
    write_knowledge(entries, tmp_path / 'knowledge.jsonl')
    assert read_knowledge([tmp_path / 'knowledge.jsonl']) == entries


def test_a_passage_is_marked_as_one(tmp_path: FilePath) -> None:
    write_knowledge([KnowledgeEntry('p1', {}, {'en': 'It has five seats.'})], tmp_path / 'knowledge.jsonl')
    assert json.loads((tmp_path / 'knowledge.jsonl').read_text()) == {
        'id': 'p1', 'passage': True, 'answer': {'en': 'It has five seats.'}, 'topic': '', 'volatile': False,
        'source': '',
    }


def test_a_snapshot_becomes_a_cache_file(tmp_path: FilePath) -> None:
    entries = [CacheEntry(text, 'Far.', 'en', (), 1e9, None) for text in ('How far?', 'How much')]
    for _ in range(2):  # the second time over the first
        write_snapshot(entries, tmp_path / 'l0.sqlite', OneHot(), Config())
    cache = SemanticCache(dimension=3, capacity=10, half_life=60.0, clock=SystemClock(),
                          file=tmp_path / 'l0.sqlite', fingerprint='one-hot')
    assert len(cache) == 2
    cache.close()


def test_the_cloud_is_told_what_is_asked(tmp_path: FilePath) -> None:
    told, known = (kind(None, CloudSettings(), seed=1) for kind in (ToldCloud, SimulatedCloud))
    for _ in range(2):
        known.announce('Why?')
        assert told.respond('POST', '/v1/announce', b'Why?').status == 200
    other = ToldCloud(None, CloudSettings(), seed=1)
    assert told._draw('Why?').normal == known._draw('Why?').normal != other._draw('Why?').normal


def test_what_a_cloud_is_not_told_is_counted() -> None:
    with Announcer('http://127.0.0.1:9/v1') as nobody, Announcer('') as silent:
        nobody.tell('Why?')
        silent.tell('Why?')
    assert (nobody.untold, silent.untold) == (1, 0)


def test_a_study_is_read(tmp_path: FilePath) -> None:
    found = Study.read(study(tmp_path))
    assert (found.dataset, found.language, found.warm_up, found.completion) == ('carqa', 'zh', 100, 1.5)
    assert found.cloud == CloudSettings(knee=12.0)
    assert [cell.name for cell in cells_of(options(str(tmp_path)), found)] == [
        f'spot-carqa-{arm}-c{c}-s1' for c in (4, 16) for arm in ('pace-static', 'pace-full')
    ]


@pytest.mark.parametrize(('arguments', 'message'), [
    (('--arms', 'fastest'), "There is no arm 'fastest'"),
    (('--arms', 'gptcache-library'), "The arm 'gptcache-library' is no node"),
    (('--requests', '0'), 'needs requests'),
    (('--concurrency', '0'), 'concurrencies above 0'),
])
def test_what_cannot_be_run_is_one_sentence(
    tmp_path: FilePath, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(options(str(study(tmp_path)), *arguments)) == 2
    assert message in capsys.readouterr().err


def test_a_study_that_was_not_run_is_refused(tmp_path: FilePath) -> None:
    with pytest.raises(SpotError, match='run `study run campaign --out'):
        Study.read(tmp_path / 'nothing')
    with pytest.raises(SpotError, match=r'is not the plan of a study that has been run: TypeError'):
        Study.read(study(tmp_path, completion=None))


def test_rows_are_judged_in_a_world_that_stands_still() -> None:
    judge: Any = SimpleNamespace(verdict=lambda answer, _question, editions: SimpleNamespace(
        correct=answer == editions[-1], quality=5, stale=False))
    requests = [Request(index, 0.0, Question('q', 'How many?', 'en-US', 'q', 'Five.'), 4.0) for index in range(3)]
    answers = (('Five.', 'L0'), ('Six.', 'L1'), ('Six.', 'L2'))
    rows = judged([{'answer': answer, 'path': path} for answer, path in answers], requests, judge)
    assert [(row['correct'], row['cache_error']) for row in rows] == [(True, False), (False, True), (False, False)]
    assert set(JUDGED) <= rows[0].keys()
    assert not rows[0]['after_change']
    assert math.isnan(rows[0]['event_age'])
