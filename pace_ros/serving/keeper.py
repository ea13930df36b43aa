"""What is looked after beside the turns: replicas that die and come back, conversations that are over, files left."""
from __future__ import annotations

import contextlib
import logging

import anyio

from pace_ros.serving.gateway import Gateway

log = logging.getLogger(__name__)


class Keeper:
    """Looks at everything once a period, until it is cancelled."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def run(self) -> None:
        """For as long as the gateway serves."""
        while True:
            await self.look()
            await anyio.sleep(self._gateway.fleet.settings.health_period)

    async def look(self) -> None:
        """Once: all replicas at the same time, then what is over."""
        async with anyio.create_task_group() as group:
            for name in self._gateway.states:
                group.start_soon(self._look_at, name)
        for conversation in self._gateway.conversations.over():
            await self._gateway.end(conversation, 'idle')
        if self._gateway.files is not None:
            with contextlib.suppress(OSError):
                self._gateway.files.sweep()

    async def _look_at(self, name: str) -> None:
        state = self._gateway.states[name]
        well = await state.client.healthy()
        if state.well and not well:
            self._gateway.lost(name)
        elif well and not state.well:
            log.info('replica %s is back', name)
            state.well = True
            self._gateway.seating.changed()
