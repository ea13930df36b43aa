"""Opens the tools that a file declares."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pace_ros.clock import Clock
from pace_ros.embedding import Embedder
from pace_ros.llm.tools.declaration import Declared, read_tools
from pace_ros.llm.tools.http_tool import HttpRequest, HttpTool
from pace_ros.llm.tools.knowledge_tool import KnowledgeTool
from pace_ros.llm.tools.tool import Tool
from pace_ros.llm.tools.toolbox import Toolbox
from pace_ros.retrieval import KnowledgeStore


def open_tools(
    path: Path, environment: Mapping[str, str], *, embedder: Embedder, knowledge: KnowledgeStore, clock: Clock
) -> Toolbox:
    """The tools in this file, ready to be called. Raises ToolsError naming file and field."""
    declaration = read_tools(path, environment)
    tools = [_opened(each, embedder, knowledge) for each in declaration.tools]
    return Toolbox(tools, declaration.turn_timeout, clock)


def _opened(declared: Declared, embedder: Embedder, knowledge: KnowledgeStore) -> Tool:
    kind = declared.kind
    if isinstance(kind, HttpRequest):
        return HttpTool(declared.spec, kind)
    return KnowledgeTool(declared.spec, embedder, knowledge, top_k=kind.top_k, floor=kind.floor)
