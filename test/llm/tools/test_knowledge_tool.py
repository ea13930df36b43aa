"""The search of the robot's own knowledge ends when it is told to."""
from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from pace_ros.llm.tools import knowledge_tool
from pace_ros.llm.tools.arguments import ArgumentCheck
from pace_ros.llm.tools.knowledge_tool import KnowledgeTool
from pace_ros.llm.tools.tool import ToolSpec

pytestmark = pytest.mark.anyio
SCHEMA = {'type': 'object', 'properties': {'query': {'type': 'string'}}}


class StuckEmbedder:
    """Encodes when it is released, and not before."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def embed(self, _text: str) -> Any:
        self.asked.set()
        self.released.wait(10)
        raise RuntimeError('released')


async def test_closing_does_not_wait_for_ever_for_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_tool, 'LONGEST_END', 0.05)
    embedder: Any = StuckEmbedder()
    nothing: Any = None
    spec = ToolSpec('search', 'Search.', SCHEMA, ArgumentCheck(SCHEMA))
    tool = KnowledgeTool(spec, embedder, nothing, top_k=1, floor=0.0)
    searches = [asyncio.create_task(tool.call({'query': 'x'}, 'en-US')) for _ in range(2)]
    await asyncio.to_thread(embedder.asked.wait, 5)
    with anyio.fail_after(2):
        await tool.aclose()
    embedder.released.set()
    done, _ = await asyncio.wait(searches, timeout=5)
    assert len(done) == 2
    assert sorted(type(each.exception()).__name__ if not each.cancelled() else '-' for each in done) == [
        '-', 'RuntimeError'
    ]
