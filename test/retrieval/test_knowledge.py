from __future__ import annotations

import datetime
import threading
from pathlib import Path

import numpy as np
import pytest

from pace_ros.clock import VirtualClock
from pace_ros.embedding import DegenerateText, Vector
from pace_ros.retrieval import KnowledgeBase, KnowledgeChange, KnowledgeError


class OwnAxis:
    """Every text has an axis of its own: cosine 1 with itself, 0 with all others."""

    dimension = 256
    fingerprint = 'own-axis'

    def __init__(self) -> None:
        self._axes: dict[str, int] = {}

    def embed(self, text: str) -> Vector:
        if text == 'nowhere':
            raise DegenerateText('the text has no direction in the vector space')
        vector = np.zeros(self.dimension, dtype=np.float32)
        vector[self._axes.setdefault(text, len(self._axes))] = 1.0
        return vector

    embed_passage = embed


def write(path: Path, entries: dict[str, str], extra: str = '') -> None:
    """One entry an id: its question is "<id>?", its answer the value."""
    lines = [f'- {{id: {key}, questions: {{en: "{key}?"}}, answer: {{en: "{text}"}}{extra}}}\n'
             for key, text in entries.items()]
    path.write_text(''.join(lines), encoding='utf-8')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / 'kb.yaml'
    write(path, {'a': 'one', 'b': 'two', 'c': 'three'})
    return path


@pytest.fixture
def base(path: Path, clock: VirtualClock) -> KnowledgeBase:
    return KnowledgeBase([path], OwnAxis(), clock)


def answer(base: KnowledgeBase, question: str) -> str | None:
    """The text of the entry found with certainty."""
    hits = base.search(base._embedder.embed(question), 1)
    return hits[0].entry.text('en') if hits and hits[0].score > 0.99 else None


def test_entries_are_found_by_their_questions(base: KnowledgeBase) -> None:
    assert len(base) == 3
    assert set(base.entries) == {'a', 'b', 'c'}
    assert [answer(base, f'{key}?') for key in 'abcd'] == ['one', 'two', 'three', None]


def test_a_broken_file_is_refused_at_the_start(path: Path, clock: VirtualClock) -> None:
    path.write_text('- id: a\n', encoding='utf-8')
    with pytest.raises(KnowledgeError, match=r"kb\.yaml, line 1, field 'questions'"):
        KnowledgeBase([path], OwnAxis(), clock)


def test_a_text_without_direction_is_refused_naming_the_file(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / 'kb.yaml'
    path.write_text('- {id: a, questions: {en: nowhere}, answer: {en: x}}\n', encoding='utf-8')
    with pytest.raises(KnowledgeError, match=r'kb\.yaml.*no direction'):
        KnowledgeBase([path], OwnAxis(), clock)


def test_the_last_valid_day_is_a_whole_day_of_the_showroom(path: Path, clock: VirtualClock) -> None:
    write(path, {'a': 'one'}, ', valid_until: 2027-06-30')
    base = KnowledgeBase([path], OwnAxis(), clock)
    midnight = datetime.datetime(2027, 7, 1).timestamp()  # local time is meant
    clock.jump_wall(midnight - clock.wall() - 1.0)
    assert answer(base, 'a?') == 'one'
    clock.advance(1.0)
    assert answer(base, 'a?') is None


# -- reload ---------------------------------------------------------------------------------------------------------


def test_a_reload_says_what_was_added_changed_and_withdrawn(base: KnowledgeBase, path: Path) -> None:
    write(path, {'b': 'two', 'c': 'THREE', 'e': 'five', 'd': 'four'})
    seen: list[KnowledgeChange] = []
    change = base.reload(seen.append)
    assert change == KnowledgeChange(added=('d', 'e'), changed=('c',), withdrawn=('a',))
    assert seen == [change]
    assert str(change) == '2 added: d, e; 1 changed: c; 1 withdrawn: a'
    assert [answer(base, f'{key}?') for key in 'abcde'] == [None, 'two', 'THREE', 'four', 'five']


def test_a_reload_of_the_same_files_changes_nothing(base: KnowledgeBase, path: Path) -> None:
    write(path, {'c': 'three', 'b': 'two', 'a': 'one'})  # another order is no change
    assert base.reload() == KnowledgeChange((), (), ())
    assert str(base.reload()) == '0 added; 0 changed; 0 withdrawn'


@pytest.mark.parametrize('extra', [', volatile: true', ', source: s', ', valid_until: 2030-01-01', ', topic: t'])
def test_any_other_field_is_a_change_too(base: KnowledgeBase, path: Path, extra: str) -> None:
    write(path, {'a': 'one', 'b': 'two', 'c': 'three'}, extra)
    assert base.reload().changed == ('a', 'b', 'c')


@pytest.mark.parametrize(
    'content', ['- id: a\n', '- [broken', '', '- {id: a, questions: {en: nowhere}, answer: {en: x}}']
)
def test_a_broken_reload_leaves_the_old_knowledge_in_service(base: KnowledgeBase, path: Path, content: str) -> None:
    path.write_text(content, encoding='utf-8')
    told: list[KnowledgeChange] = []
    with pytest.raises(KnowledgeError, match=r'kb\.yaml'):
        base.reload(told.append)
    assert told == []
    assert [answer(base, f'{key}?') for key in 'abc'] == ['one', 'two', 'three']
    write(path, {'a': 'new'})
    assert base.reload().withdrawn == ('b', 'c')  # and the next good one is taken
    assert answer(base, 'a?') == 'new'


def test_a_vanished_file_leaves_the_old_knowledge_in_service(base: KnowledgeBase, path: Path) -> None:
    path.unlink()
    with pytest.raises(KnowledgeError, match=r'kb\.yaml'):
        base.reload()
    assert len(base) == 3


def test_listeners_are_told_when_the_new_knowledge_is_in_service(base: KnowledgeBase, path: Path) -> None:
    write(path, {'a': 'new'})
    found: list[str | None] = []
    base.reload(lambda _change: found.append(answer(base, 'a?')))
    assert found == ['new']


def test_a_search_during_a_reload_sees_one_edition_whole(tmp_path: Path, clock: VirtualClock) -> None:
    """Every entry of an edition carries its number; two numbers in one answer would be a mixture."""
    path = tmp_path / 'kb.yaml'
    write(path, {f'e{number}': '0' for number in range(8)})
    base = KnowledgeBase([path], OwnAxis(), clock)
    query = np.full(256, 1 / 16, dtype=np.float32)
    mixed: list[set[str]] = []
    done, searched = threading.Event(), threading.Event()

    def visit() -> None:
        while not done.is_set():
            editions = {hit.entry.text('en') for hit in base.search(query, 8)}
            if len(editions) != 1:
                mixed.append(editions)
            searched.set()

    visitors = [threading.Thread(target=visit, daemon=True) for _ in range(2)]
    for visitor in visitors:
        visitor.start()
    assert searched.wait(10)
    for edition in range(1, 40):
        write(path, {f'e{number}': str(edition) for number in range(8)})
        assert len(base.reload().changed) == 8
    done.set()
    for visitor in visitors:
        visitor.join(10)
        assert not visitor.is_alive()
    assert mixed == []
