"""FAISS index over every question and passage of the knowledge base."""
from __future__ import annotations

import datetime
from collections.abc import Sequence

import faiss
import numpy as np

from pace_ros.embedding import Embedder, Vector
from pace_ros.nearest import nearest
from pace_ros.retrieval.entry import KnowledgeEntry, RetrievalHit, Wording


class KnowledgeIndex:
    """Immutable: a reload builds another one and swaps it in. Raises DegenerateText for an entry without direction."""

    def __init__(self, entries: Sequence[KnowledgeEntry], embedder: Embedder) -> None:
        self.entries = {entry.entry_id: entry for entry in entries}
        self._rows: list[tuple[KnowledgeEntry, str, str]] = []  # entry, question and language, both empty for a passage
        vectors: list[Vector] = []
        for entry in entries:
            for locale, questions in entry.questions.items():
                for question in questions:
                    vectors.append(embedder.embed(question))
                    self._rows.append((entry, question, locale))
            if entry.is_passage:
                vectors.append(embedder.embed_passage(next(iter(entry.answers.values()))))
                self._rows.append((entry, '', ''))
        self._index = faiss.IndexFlatIP(embedder.dimension)
        self._index.add(np.stack(vectors))
        self._most = max(sum(map(len, entry.questions.values())) for entry in entries)

    def search(self, vector: Vector, k: int, today: datetime.date) -> list[RetrievalHit]:
        """The ``k`` best entries valid today, each with its best cosine, best first; ``vector`` has shape (d,)."""
        wanted = min(self._index.ntotal, k * max(self._most, 1))
        while True:
            hits = self._best(vector, wanted, today)
            if len(hits) >= k or wanted == self._index.ntotal:
                return hits[:k]
            wanted = min(self._index.ntotal, wanted * 4)  # entries out of date took the places

    def _best(self, vector: Vector, wanted: int, today: datetime.date) -> list[RetrievalHit]:
        best: dict[str, float] = {}
        near: dict[str, list[Wording]] = {}
        for row, score in nearest(self._index, vector, wanted):
            entry, question, locale = self._rows[row]
            if not entry.is_valid(today):
                continue
            best.setdefault(entry.entry_id, score)
            if question:
                near.setdefault(entry.entry_id, []).append(Wording(question, locale, score))
        return [
            RetrievalHit(self.entries[entry_id], score, tuple(near.get(entry_id, ())))
            for entry_id, score in best.items()
        ]
