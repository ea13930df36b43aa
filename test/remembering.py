"""The encoder of all tests but its own."""
from __future__ import annotations

from functools import lru_cache

from pace_ros.embedding import Embedder, Vector

MOST = 16_384  # texts; a vector of the default encoder has 2 KB


class RememberingEmbedder:
    """An encoder that works every text out once. That it comes to the same every time is proved in `test/embedding`."""

    def __init__(self, embedder: Embedder) -> None:
        self.dimension, self.fingerprint = embedder.dimension, embedder.fingerprint
        self._embed = lru_cache(MOST)(embedder.embed)
        self._embed_passage = lru_cache(MOST)(embedder.embed_passage)

    def embed(self, text: str) -> Vector:
        """A vector of the caller's own."""
        return self._embed(text).copy()

    def embed_passage(self, text: str) -> Vector:
        """A vector of the caller's own."""
        return self._embed_passage(text).copy()
