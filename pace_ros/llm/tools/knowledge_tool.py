"""A tool that searches the robot's own knowledge."""
from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent import futures

from pace_ros.embedding import DegenerateText, Embedder
from pace_ros.llm.tools.tool import ToolResult, ToolSpec
from pace_ros.retrieval import KnowledgeStore, RetrievalHit

LONGEST_QUERY = 500  # characters
LONGEST_END = 2.0  # s
NOTHING = 'Nothing was found. Do not make anything up.'


class KnowledgeTool:
    """Gives the texts of the entries nearest to the argument ``query``: at most ``top_k``, none below ``floor``."""

    def __init__(
        self, spec: ToolSpec, embedder: Embedder, knowledge: KnowledgeStore, *, top_k: int, floor: float
    ) -> None:
        self.spec = spec
        self._embedder = embedder
        self._knowledge = knowledge
        self._top_k = top_k
        self._floor = floor
        self._worker = futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix='knowledge tool')
        self._searches: set[futures.Future[list[RetrievalHit]]] = set()

    async def aclose(self) -> None:
        """End the worker thread after what it is doing, which is waited for no longer than ``LONGEST_END``."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(futures.wait, list(self._searches), LONGEST_END)

    async def call(self, arguments: Mapping[str, object], locale: str) -> ToolResult:
        """Search; what is found is told one entry a line."""
        query = str(arguments.get('query', ''))[:LONGEST_QUERY]
        search = self._worker.submit(self._search, query)
        self._searches.add(search)
        search.add_done_callback(self._searches.discard)
        hits = await asyncio.wrap_future(search)
        if not hits:
            return ToolResult(NOTHING)
        return ToolResult('\n'.join(f'- {hit.entry.text(locale)}' for hit in hits), tuple(hits))

    def _search(self, query: str) -> list[RetrievalHit]:
        try:
            vector = self._embedder.embed(query)
        except DegenerateText:
            return []
        return [hit for hit in self._knowledge.search(vector, self._top_k) if hit.score >= self._floor]
