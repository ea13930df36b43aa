"""The parts a turn passes through."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.cache import Guards, Personal, ScopeReader, SemanticCache, Unknowing, VolatilityClassifier
from pace_ros.control import CostLedger, Router
from pace_ros.embedding import Embedder
from pace_ros.facts import FactExtractor
from pace_ros.filler import ConflictJudge, ConflictMeter, FillerDesk
from pace_ros.llm import ChatModel, PromptBook
from pace_ros.llm.tools.rounds import ToolRounds
from pace_ros.remarks import Remarks
from pace_ros.retrieval import KnowledgeStore


@dataclass
class Levels:
    """One of each."""

    embedder: Embedder
    cache: SemanticCache
    knowledge: KnowledgeStore
    volatility: VolatilityClassifier
    scopes: ScopeReader
    guards: Guards
    personal: Personal
    unknowing: Unknowing
    router: Router
    ledger: CostLedger
    fillers: FillerDesk
    facts: FactExtractor
    conflicts: ConflictMeter
    judge: ConflictJudge
    llm: ChatModel
    prompts: PromptBook
    remarks: Remarks
    tools: ToolRounds | None = None
