"""What is looked after beside the turns: replicas that die and come back, conversations that are over, files left."""
from __future__ import annotations

import contextlib
import logging

import anyio

from pace_ros.serving.gateway import IDLE, Gateway
from pace_ros.serving.replica_client import SlotState
from pace_ros.serving.replica_errors import ReplicaError
from pace_ros.serving.replica_state import ReplicaState

log = logging.getLogger(__name__)
MISSES = 3  # looks in a row that a replica does not answer, and says nothing else meanwhile, until it is lost


class Keeper:
    """Looks at everything once a period, until it is cancelled."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._unfit: set[str] = set()

    async def run(self) -> None:
        """For as long as the gateway serves. A mistake in one look does not end the looking."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception('a look at the fleet failed')
            await anyio.sleep(self._gateway.fleet.settings.health_period)

    async def look(self) -> None:
        """Once, at all replicas and at all conversations that are over, at the same time."""
        async with anyio.create_task_group() as group:
            for state in self._gateway.states.values():
                group.start_soon(self._look_at, state)
            for conversation in self._gateway.conversations.over():
                group.start_soon(self._gateway.end, conversation, IDLE)
        if self._gateway.files is not None:
            with contextlib.suppress(OSError):
                self._gateway.files.sweep()

    async def _look_at(self, state: ReplicaState) -> None:
        gateway = self._gateway
        began = gateway.clock.monotonic()
        if not await state.client.healthy():
            spoke = state.client.heard > began - gateway.fleet.settings.health_period
            state.misses = 0 if spoke else state.misses + 1
            if state.well and state.misses >= MISSES:
                gateway.lost(state.name)
            return
        state.misses = 0
        try:
            slots = await state.client.slots()
        except ReplicaError as error:
            log.debug('%s', error)
            slots = None
        if slots is not None and not self._fits(state, slots):
            if state.well:
                gateway.lost(state.name)
            return
        if not state.well:
            log.warning('replica %s is back', state.name)
            state.well = True
            gateway.seating.changed()
        elif slots is not None:
            gateway.audit(state.name, slots, began)

    def _fits(self, state: ReplicaState, slots: list[SlotState]) -> bool:
        """Whether the server has what the fleet file says; said once if not."""
        replica = state.replica
        if len(slots) >= replica.slots and all(each.context >= replica.context for each in slots):
            self._unfit.discard(state.name)
            return True
        if state.name not in self._unfit:
            log.error('replica %s has %d slots of %d tokens, the fleet file says %d of %d: it is left out', state.name,
                      len(slots), min((each.context for each in slots), default=0), replica.slots, replica.context)
        self._unfit.add(state.name)
        return False
