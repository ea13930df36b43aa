"""Local computation at fixed cost."""
from __future__ import annotations

import numpy as np
import pytest

from pace_ros.cache import CacheEntry
from pace_ros.clock import VirtualClock
from pace_ros.embedding import Embedder
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.retrieval.index import KnowledgeIndex
from pace_ros.study.virtual.costs import ChargedEmbedder, FixedCosts, HeldKnowledge, charged_cache

COSTS = FixedCosts(embed=0.1, recall=0.02, search=0.003)


def test_every_part_charges_its_cost_and_answers_as_without(embedder: Embedder) -> None:
    charged: list[float] = []
    clock = VirtualClock()
    paying = ChargedEmbedder(embedder, COSTS, charged.append)
    vector = paying.embed('How far does it go?')
    np.testing.assert_array_equal(vector, embedder.embed('How far does it go?'))
    paying.embed_passage('It goes far.')
    assert charged == [0.1]

    cache = charged_cache(COSTS, charged.append)(
        dimension=embedder.dimension, capacity=10, half_life=1e4, clock=clock, file=None
    )
    cache.admit(CacheEntry('How far does it go?', 'Far.', 'en', (), clock.wall(), None), vector)
    assert cache.recall_exact('how far does it go', 'en').entry is not None
    assert cache.recall(vector, 'en', 0.9).score == pytest.approx(1.0)
    assert charged[1:] == [0.02, 0.02]
    cache.close()

    entry = KnowledgeEntry('range', {'en': ('How far does it go?',)}, {'en': 'Far.'})
    base = HeldKnowledge(KnowledgeIndex([entry], embedder), embedder, clock, COSTS, charged.append)
    assert base.search(vector, 1)[0].entry is entry
    assert base.serves(entry)
    assert charged[3:] == [0.003]
