"""The knowledge, lexicon and remarks that come with the package, measured with the default encoder."""
from __future__ import annotations

import datetime
from collections import Counter
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from harness import FACTS, LEXICONS, NAMES

from pace_ros import packaged
from pace_ros.cache import Guards, ScopeReader
from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.embedding import Embedder, Vector
from pace_ros.hits import HitRules
from pace_ros.language import detect_locale, is_blank, language, normal_form
from pace_ros.levels import Levels
from pace_ros.query import Query
from pace_ros.retrieval import KnowledgeBase, KnowledgeEntry, read_knowledge
from pace_ros.retrieval.index import KnowledgeIndex

DAY = datetime.date(2027, 1, 15)  # when all of it is valid
LANGUAGES = ('zh', 'en')


@pytest.fixture(scope='module')
def entries() -> list[KnowledgeEntry]:
    return read_knowledge([packaged.config_dir() / 'knowledge'])


@pytest.fixture(scope='module')
def asked(entries: list[KnowledgeEntry]) -> list[tuple[str, str, KnowledgeEntry]]:
    """Every question: its language, its words, its entry."""
    return [(key, text, entry) for entry in entries for key, texts in entry.questions.items() for text in texts]


@pytest.fixture(scope='module')
def vectors(asked: list[tuple[str, str, KnowledgeEntry]], embedder: Embedder) -> Vector:
    return np.stack([embedder.embed(text) for _, text, _ in asked])


def test_there_is_enough_of_it(entries: list[KnowledgeEntry]) -> None:
    assert len(entries) >= 150
    assert sum(entry.volatile for entry in entries) >= 30
    assert len({entry.entry_id for entry in entries}) == len(entries)
    assert len({entry.topic for entry in entries}) >= 4
    assert all(entry.topic and entry.source for entry in entries)


def test_every_entry_asks_and_answers_in_chinese_and_english(entries: list[KnowledgeEntry]) -> None:
    for entry in entries:
        assert set(entry.questions) == set(entry.answers) == set(LANGUAGES), entry.entry_id
        for key in LANGUAGES:
            assert len(entry.questions[key]) >= 2, entry.entry_id
            for text in (*entry.questions[key], entry.answers[key]):
                assert not is_blank(text)
                assert language(detect_locale(text, '')) == key, (entry.entry_id, text)


def test_what_ages_has_a_last_day_and_what_lasts_has_none(entries: list[KnowledgeEntry]) -> None:
    assert {entry.volatile for entry in entries if entry.valid_until} == {True}
    assert all(entry.valid_until for entry in entries if entry.volatile)
    assert all(entry.is_valid(DAY) for entry in entries)


def test_no_question_is_asked_twice(asked: list[tuple[str, str, KnowledgeEntry]]) -> None:
    words = Counter(normal_form(text) for _, text, _ in asked)
    assert [text for text, count in words.items() if count > 1] == []


def test_every_question_finds_its_own_entry_first(
    entries: list[KnowledgeEntry], asked: list[tuple[str, str, KnowledgeEntry]], vectors: Vector, embedder: Embedder
) -> None:
    """Measured: 1163 of 1163."""
    index = KnowledgeIndex(entries, embedder)
    lost = []
    for (_, text, entry), vector in zip(asked, vectors, strict=True):
        (hit,) = index.search(vector, 1, DAY)
        assert hit.score == pytest.approx(1.0, abs=1e-4)
        if hit.entry.entry_id != entry.entry_id:
            lost.append((text, entry.entry_id, hit.entry.entry_id))
    share = 1 - len(lost) / len(asked)
    assert share >= 0.97, lost


@pytest.mark.parametrize('key', LANGUAGES)
def test_a_question_without_its_own_wording_in_the_index(
    asked: list[tuple[str, str, KnowledgeEntry]], vectors: Vector, key: str
) -> None:
    """How well a visitor's paraphrase is understood: each question searched among all the others.

    Measured: zh 0.534, en 0.555.
    """
    owners = [entry.entry_id for _, _, entry in asked]
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -1.0)
    nearest = scores.argmax(axis=1)
    own = [owners[best] == owners[row] for row, best in enumerate(nearest) if asked[row][0] == key]
    assert sum(own) / len(own) >= 0.5


def test_questions_of_different_entries_are_told_apart_by_the_cache(
    asked: list[tuple[str, str, KnowledgeEntry]], vectors: Vector
) -> None:
    """No two of one language reach the operating point of L0 (0.95) unless they ask for the same."""
    scores = vectors @ vectors.T
    close = [
        (asked[a][1], asked[b][1])
        for a, b in zip(*np.nonzero(np.triu(scores, 1) >= 0.95), strict=True)
        if asked[a][0] == asked[b][0] and asked[a][2] is not asked[b][2]
    ]
    assert close == []


def test_every_question_gets_its_own_entry_past_the_guards(
    asked: list[tuple[str, str, KnowledgeEntry]], embedder: Embedder
) -> None:
    """Scope and guards stand in no question's way, but for the few that mean nothing without a subject."""
    config = Config()
    base = KnowledgeBase([packaged.config_dir() / 'knowledge'], embedder, VirtualClock(wall=1_799_985_600.0))
    levels = cast('Levels', SimpleNamespace(knowledge=base, guards=Guards(FACTS)))
    rules = HitRules(levels, lambda: config, VirtualClock())
    scopes = ScopeReader.read(LEXICONS, NAMES)
    lost, wrong = [], []
    for key, text, entry in asked:
        query = Query(text, key, scopes.of(text, key, ()), vector=embedder.embed(text))
        assert query.vector is not None
        query.hits = tuple(base.search(query.vector, 12))
        hit = rules.direct(query, config.router.direct_high).hit
        if hit is None:
            lost.append((text, query.scope.reason))
        elif hit.entry.entry_id != entry.entry_id:
            wrong.append((text, hit.entry.entry_id))
    assert wrong == []
    assert len(lost) <= 0.02 * len(asked), lost
