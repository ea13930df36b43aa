"""The parts a turn passes through."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.cache import SemanticCache, VolatilityClassifier
from pace_ros.control import Router
from pace_ros.embedding import Embedder
from pace_ros.filler import FillerDesk
from pace_ros.llm import ChatClient, PromptBook
from pace_ros.remarks import Remarks
from pace_ros.retrieval import KnowledgeStore


@dataclass
class Levels:
    """One of each."""

    embedder: Embedder
    cache: SemanticCache
    knowledge: KnowledgeStore
    volatility: VolatilityClassifier
    router: Router
    fillers: FillerDesk
    llm: ChatClient
    prompts: PromptBook
    remarks: Remarks
