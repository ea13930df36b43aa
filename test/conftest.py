"""Fixtures shared by all rooms. Each test process has a ROS domain of its own and hears this machine only."""
from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 100)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ.setdefault('FASTDDS_DEFAULT_PROFILES_FILE', str(Path(__file__).with_name('discovery.xml')))
for name in ('PACE_L2_BASE_URL', 'PACE_L2_API_KEY', 'PACE_L2_MODEL', 'PACE_L2_HEDGE_API_KEY', 'PACE_DATA_DIR'):
    os.environ.pop(name, None)

# The environment must be set before rclpy is imported anywhere.
from harness import KNOWLEDGE  # noqa: E402
from remembering import RememberingEmbedder  # noqa: E402

from pace_ros.clock import VirtualClock  # noqa: E402
from pace_ros.config import Embedding  # noqa: E402
from pace_ros.embedding import Embedder, open_embedder  # noqa: E402


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    """Tests marked ``anyio`` run on asyncio, as the core does."""
    return 'asyncio'


@pytest.fixture(scope='session')
def embedder() -> Embedder:
    """The default multilingual encoder, loaded once, each text encoded once."""
    return RememberingEmbedder(open_embedder(Embedding()))


@pytest.fixture(scope='session', autouse=True)
def certificates() -> Iterator[None]:
    """Every HTTP client reads the certificates, which takes longer than most tests; here they are read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, 'create_default_context', functools.cache(ssl.create_default_context))
        yield


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that moves only when told to."""
    return VirtualClock()


@pytest.fixture
def one_encoder(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembly takes the session's encoder instead of another copy in memory."""
    monkeypatch.setattr('pace_ros.assembly.open_embedder', lambda _settings: embedder)


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    """A small knowledge base where ``whole.configured`` looks for it."""
    path = tmp_path / 'knowledge.yaml'
    path.write_text(KNOWLEDGE, encoding='utf-8')
    return path
