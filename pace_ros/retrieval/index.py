"""FAISS index over every question and passage of the knowledge base."""
from __future__ import annotations

import datetime
from collections.abc import Sequence

import faiss
import numpy as np

from pace_ros.embedding import Embedder, Vector
from pace_ros.nearest import nearest
from pace_ros.retrieval.entry import KnowledgeEntry, RetrievalHit


class KnowledgeIndex:
    """Immutable: a reload builds another one and swaps it in. Raises DegenerateText for an entry without direction."""

    def __init__(self, entries: Sequence[KnowledgeEntry], embedder: Embedder) -> None:
        self.entries = {entry.entry_id: entry for entry in entries}
        self._owner: list[KnowledgeEntry] = []
        vectors: list[Vector] = []
        for entry in entries:
            for question in (question for group in entry.questions.values() for question in group):
                vectors.append(embedder.embed(question))
                self._owner.append(entry)
            if entry.is_passage:
                vectors.append(embedder.embed_passage(next(iter(entry.answers.values()))))
                self._owner.append(entry)
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
        best: dict[str, RetrievalHit] = {}
        for row, score in nearest(self._index, vector, wanted):
            entry = self._owner[row]
            if entry.entry_id not in best and entry.is_valid(today):
                best[entry.entry_id] = RetrievalHit(entry, score)
        return list(best.values())
