"""The encoder itself, which here is what is tested."""
from __future__ import annotations

import pytest

from pace_ros.config import Embedding
from pace_ros.embedding import Embedder, open_embedder


@pytest.fixture(scope='session')
def embedder() -> Embedder:
    """The default multilingual encoder."""
    return open_embedder(Embedding())
