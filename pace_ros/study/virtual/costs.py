"""Local computations at fixed cost: runs that are the same to the last bit on every machine."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pace_ros.cache import CacheMatch, SemanticCache
from pace_ros.cache.semantic_cache import Differs, no_difference
from pace_ros.clock import Clock
from pace_ros.embedding import Embedder, Vector
from pace_ros.retrieval import KnowledgeBase, RetrievalHit
from pace_ros.retrieval.index import KnowledgeIndex

Charge = Callable[[float], None]


@dataclass(frozen=True)
class FixedCosts:
    """What counts as spent (s) on one encoding, one look into L0, one search of L1, and one look into the GPTCache
    library beside the encoding.
    """

    embed: float = 0.0012
    recall: float = 0.0004
    search: float = 0.0004
    library: float = 0.006


class ChargedEmbedder:
    """An encoder whose questions take ``costs.embed``; knowledge is encoded before anybody waits."""

    def __init__(self, embedder: Embedder, costs: FixedCosts, charge: Charge) -> None:
        self._embedder = embedder
        self._costs = costs
        self._charge = charge
        self.dimension, self.fingerprint = embedder.dimension, embedder.fingerprint

    def embed(self, text: str) -> Vector:
        """As the encoder's own."""
        self._charge(self._costs.embed)
        return self._embedder.embed(text)

    def embed_passage(self, text: str) -> Vector:
        """As the encoder's own; free."""
        return self._embedder.embed_passage(text)


class ChargedCache(SemanticCache):
    """An L0 store of which a look takes ``costs.recall``."""

    costs = FixedCosts()
    charge: Charge = staticmethod(lambda _seconds: None)

    def recall_exact(self, question: str, scope: str, differs: Differs = no_difference) -> CacheMatch:
        """As the cache's own."""
        self.charge(self.costs.recall)
        return super().recall_exact(question, scope, differs)

    def recall(
        self, vector: Vector, scope: str, threshold: float, differs: Differs = no_difference
    ) -> CacheMatch:
        """As the cache's own."""
        self.charge(self.costs.recall)
        return super().recall(vector, scope, threshold, differs)


def charged_cache(costs: FixedCosts, charge: Charge) -> type[SemanticCache]:
    """The class of such stores."""
    return type('ChargedCache', (ChargedCache,), {'costs': costs, 'charge': staticmethod(charge)})


class HeldKnowledge(KnowledgeBase):
    """A knowledge base over an index that is there already, of which a search takes
    ``costs.search``; it is not reloaded.
    """

    def __init__(
        self, index: KnowledgeIndex, embedder: Embedder, clock: Clock, costs: FixedCosts, charge: Charge
    ) -> None:
        self._held = index
        self._costs = costs
        self._charge = charge
        super().__init__([], embedder, clock)

    def search(self, vector: Vector, k: int) -> list[RetrievalHit]:
        """As any knowledge base's."""
        self._charge(self._costs.search)
        return super().search(vector, k)

    def _read(self) -> KnowledgeIndex:
        return self._held
