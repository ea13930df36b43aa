from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from serving_desk import Desk, open_desk
from serving_fleet import SimulatedFleet

from pace_ros.clock import VirtualClock


@pytest.fixture
def fleet(tmp_path: Path) -> SimulatedFleet:
    """A prefiller and two decoders behind a gateway, simulated."""
    return SimulatedFleet(tmp_path)


@pytest.fixture
async def desk(clock: VirtualClock) -> AsyncIterator[Desk]:
    """What makes seatings."""
    async with open_desk(clock) as made:
        yield made
