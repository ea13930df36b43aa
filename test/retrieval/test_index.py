from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

from pace_ros.embedding import DegenerateText, Vector
from pace_ros.retrieval.entry import KnowledgeEntry
from pace_ros.retrieval.index import KnowledgeIndex

TODAY = datetime.date(2027, 1, 1)


class AngleEmbedder:
    """The text is its vector: degrees on the unit circle. Passages are turned by 90 degrees."""

    dimension = 2
    fingerprint = 'angle'

    def embed(self, text: str) -> Vector:
        if text == 'nowhere':
            raise DegenerateText(text)
        angle = math.radians(float(text))
        return np.array([math.cos(angle), math.sin(angle)], dtype=np.float32)

    def embed_passage(self, text: str) -> Vector:
        return self.embed(str(float(text) + 90))


def entry(name: str, *questions: str, until: datetime.date | None = None) -> KnowledgeEntry:
    return KnowledgeEntry(name, {'en': questions[:1], 'zh': questions[1:]}, {'en': name}, valid_until=until)


def search(index: KnowledgeIndex, angle: str, k: int, today: datetime.date = TODAY) -> list[tuple[str, float]]:
    return [(hit.entry.entry_id, hit.score) for hit in index.search(AngleEmbedder().embed(angle), k, today)]


def test_the_best_entries_come_first_each_once_with_its_best_cosine() -> None:
    index = KnowledgeIndex([entry('a', '10', '20', '30'), entry('b', '60'), entry('c', '180')], AngleEmbedder())
    hits = search(index, '0', 3)
    assert [name for name, _ in hits] == ['a', 'b', 'c']
    assert [score for _, score in hits] == pytest.approx([math.cos(math.radians(10)), 0.5, -1.0], abs=1e-6)


def test_an_entry_with_many_near_questions_does_not_crowd_out_the_next() -> None:
    many = entry('many', *(str(angle / 10) for angle in range(50)))
    index = KnowledgeIndex([many, entry('b', '60'), entry('c', '90'), entry('d', '120')], AngleEmbedder())
    assert [name for name, _ in search(index, '0', 3)] == ['many', 'b', 'c']


def test_no_more_hits_come_than_there_are_entries() -> None:
    index = KnowledgeIndex([entry('a', '0'), entry('b', '90')], AngleEmbedder())
    assert len(search(index, '0', 100)) == 2
    assert len(search(index, '0', 1)) == 1


def test_an_entry_is_found_to_its_last_day_and_no_longer() -> None:
    index = KnowledgeIndex([entry('old', '0', until=TODAY), entry('lasting', '60')], AngleEmbedder())
    assert [name for name, _ in search(index, '0', 2, TODAY)] == ['old', 'lasting']
    assert [name for name, _ in search(index, '0', 2, TODAY + datetime.timedelta(days=1))] == ['lasting']


def test_outdated_entries_do_not_take_the_places_of_valid_ones() -> None:
    yesterday = TODAY - datetime.timedelta(days=1)
    outdated = [entry(f'old{number}', str(number / 100), until=yesterday) for number in range(300)]
    index = KnowledgeIndex([*outdated, entry('a', '60'), entry('b', '70')], AngleEmbedder())
    assert [name for name, _ in search(index, '0', 2)] == ['a', 'b']
    assert search(KnowledgeIndex(outdated, AngleEmbedder()), '0', 2) == []


def test_a_passage_is_found_by_its_text_as_a_passage() -> None:
    passage = KnowledgeEntry('p', {}, {'en': '0'})
    index = KnowledgeIndex([passage, entry('a', '0')], AngleEmbedder())
    ((name, score),) = search(index, '90', 1)
    assert (name, score) == ('p', pytest.approx(1.0))
    assert passage.is_passage


def test_a_query_without_numbers_finds_nothing() -> None:
    index = KnowledgeIndex([entry('a', '0')], AngleEmbedder())
    assert index.search(np.array([np.nan, 1.0], dtype=np.float32), 1, TODAY) == []


def test_a_text_without_direction_is_refused() -> None:
    with pytest.raises(DegenerateText):
        KnowledgeIndex([entry('a', '0'), entry('b', 'nowhere')], AngleEmbedder())


def test_hits_agree_with_a_plain_search_over_all_questions() -> None:
    dice = np.random.default_rng(11)
    days = [None, TODAY, TODAY - datetime.timedelta(days=1)]
    entries = [
        entry(f'e{number}', *(f'{angle:.3f}' for angle in dice.uniform(0, 360, dice.integers(1, 6))),
              until=days[number % 3])
        for number in range(40)
    ]
    index, embedder = KnowledgeIndex(entries, AngleEmbedder()), AngleEmbedder()
    for angle in dice.uniform(0, 360, 50):
        query = embedder.embed(str(angle))
        best = {
            each.entry_id: max(
                float(embedder.embed(text) @ query) for texts in each.questions.values() for text in texts
            )
            for each in entries
            if each.is_valid(TODAY)
        }
        hits = index.search(query, 4, TODAY)
        assert [hit.score for hit in hits] == pytest.approx(sorted(best.values(), reverse=True)[:4], abs=1e-5)
        for hit in hits:
            assert hit.score == pytest.approx(best[hit.entry.entry_id], abs=1e-5)
