"""Fixtures shared by all rooms. Each test process has a ROS domain of its own and hears this machine only."""
from __future__ import annotations

import os

import pytest

os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 100)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
for name in ('PACE_L2_BASE_URL', 'PACE_L2_API_KEY', 'PACE_L2_MODEL', 'PACE_L2_HEDGE_API_KEY', 'PACE_DATA_DIR'):
    os.environ.pop(name, None)

# The environment must be set before rclpy is imported anywhere.
from pace_ros.clock import VirtualClock  # noqa: E402
from pace_ros.config import Embedding  # noqa: E402
from pace_ros.embedding import Embedder, open_embedder  # noqa: E402


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    """Tests marked ``anyio`` run on asyncio, as the core does."""
    return 'asyncio'


@pytest.fixture(scope='session')
def embedder() -> Embedder:
    """The default multilingual encoder, loaded once."""
    return open_embedder(Embedding())


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that moves only when told to."""
    return VirtualClock()
