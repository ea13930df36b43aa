"""Encoder and indexes, on the event loop where that is quick, else on a worker thread."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pace_ros.cache import CacheMatch, Differs
from pace_ros.config import Config
from pace_ros.embedding import DegenerateText
from pace_ros.language import normal_form
from pace_ros.levels import Levels
from pace_ros.query import Query

T = TypeVar('T')
QUICK_SECONDS = 0.004  # the longest encoding of a short question that the event loop does itself
QUICK_CHARS = 80  # what a short question is
QUICK_ENTRIES = 5000  # an index of which FAISS searches in about a millisecond
DIRECT_CANDIDATES = 12  # knowledge entries looked at: those about another subject may be nearer than the right one
NO_MATCH = CacheMatch(None, math.nan)


class Lookup:
    """Finds what is known already.

    The worker keeps encoding and searching from holding up the event loop, i.e. other visitors' tokens. Where both are
    quick the hand-over would cost more than it saves. ``embed_seconds`` is what the encoding of a short question takes.
    """

    def __init__(self, levels: Levels, config: Callable[[], Config], *, embed_seconds: float) -> None:
        self._levels = levels
        self._config = config
        self._quick_encoder = embed_seconds < QUICK_SECONDS
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix='recall')

    def close(self) -> None:
        """End the worker thread after what it is doing."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    async def recall(
        self, query: Query, threshold: float, differs: Differs, embedded: Callable[[], None]
    ) -> CacheMatch:
        """Embed, unless that was done before, and search L0 if the query may; ``embedded`` is told between the two."""
        if self._quick(query) and len(self._levels.cache) <= QUICK_ENTRIES:
            return self._recall(query, threshold, differs, embedded)
        return await self._off_loop(self._recall, query, threshold, differs, embedded)

    async def would_recall(self, query: Query, threshold: float, differs: Differs) -> bool:
        """Whether L0 would answer; the look leaves no trace."""
        if query.vector is None or query.key is None:
            return False
        return await self._off_loop(
            self._levels.cache.would_hit, query.text, query.vector, query.key, threshold, differs
        )

    async def search(self, query: Query) -> None:
        """Search L1 for what is near the query; without a vector there is nothing to search by."""
        if query.vector is not None:
            wanted = max(self._config().l1.top_k, DIRECT_CANDIDATES)
            query.hits = tuple(await self._off_loop(self._levels.knowledge.search, query.vector, wanted))

    async def embed(self, query: Query) -> None:
        """Encode a question no level has needed the vector of yet."""
        if query.vector is None and self._quick(query):
            self._embed(query)
        elif query.vector is None:
            await self._off_loop(self._embed, query)

    def _quick(self, query: Query) -> bool:
        return self._quick_encoder and len(query.text) <= QUICK_CHARS

    def _recall(self, query: Query, threshold: float, differs: Differs, embedded: Callable[[], None]) -> CacheMatch:
        if query.vector is None:
            self._embed(query)
            embedded()
        if query.vector is None or query.key is None:
            return NO_MATCH
        return self._levels.cache.recall(query.vector, query.key, threshold, differs)

    def _embed(self, query: Query) -> None:
        foreseen = query.foreseen
        if foreseen is not None and normal_form(foreseen.text) == normal_form(query.text):
            query.vector = foreseen.vector
        if query.vector is None:
            with contextlib.suppress(DegenerateText):
                query.vector = self._levels.embedder.embed(query.text)

    async def _off_loop(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)
