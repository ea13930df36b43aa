"""Parts that take the place of the robot's own, in studies."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import httpx

from pace_ros.cache import SemanticCache
from pace_ros.embedding import Embedder
from pace_ros.filler import FillerGenerator
from pace_ros.retrieval import KnowledgeBase
from pace_ros.understanding import Understanding


@dataclass(frozen=True)
class Substitutes:
    """None: the robot opens its own.

    ``transport`` stands for the network before the language model, ``cache`` makes the L0 store. ``knowledge`` and
    ``understanding`` have been in use before: nothing is read ahead. ``embed_seconds``: what one encoding counts as
    (s), instead of a measurement.
    """

    transport: httpx.AsyncBaseTransport | None = None
    embedder: Embedder | None = None
    knowledge: KnowledgeBase | None = None
    understanding: Understanding | None = None
    generator: FillerGenerator | None = None
    cache: Callable[..., SemanticCache] = SemanticCache
    embed_seconds: float | None = None


NOTHING = Substitutes()
