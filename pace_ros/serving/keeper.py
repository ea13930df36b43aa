"""What is looked after beside the turns: replicas that die and come back, conversations that are over, files left."""
from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from pace_ros.serving.gateway import IDLE, TOLD, Gateway
from pace_ros.serving.replica_client import SlotState
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused, ReplicaSlow
from pace_ros.serving.replica_state import PATIENCE, STRIKES, ReplicaState

log = logging.getLogger(__name__)
MISSES = 3  # looks in a row that a replica does not answer, and says nothing else meanwhile, until it is lost
NOT_FOR_US = (401, 403)  # it wants another key
PROBE = {'messages': [{'role': 'user', 'content': 'Hello.'}], 'max_tokens': 1}
PROBED = 64  # tokens, more than that takes
PROBER = ''  # no client's conversation has this key


class Keeper:
    """Looks at everything once a period, until it is cancelled."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._unfit: set[str] = set()

    async def run(self) -> None:
        """For as long as the gateway serves. Nobody waits for a replica that is slow, but itself."""
        async with anyio.create_task_group() as group:
            for job in self._jobs():
                group.start_soon(self._again, job)

    async def look(self) -> None:
        """Once, at all replicas and at all conversations that are over, at the same time."""
        async with anyio.create_task_group() as group:
            for job in self._jobs():
                group.start_soon(self._once, job)

    def _jobs(self) -> list[Callable[[], Awaitable[None]]]:
        return [*(partial(self._look_at, each) for each in self._gateway.states.values()), self._tidy]

    async def _again(self, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._once(job)
            await anyio.sleep(self._gateway.fleet.settings.health_period)

    @staticmethod
    async def _once(job: Callable[[], Awaitable[None]]) -> None:
        """A mistake in one look ends neither the looking nor the looks of others."""
        try:
            await job()
        except Exception:
            log.exception('a look at the fleet failed')

    async def _tidy(self) -> None:
        """End what is over, delete what is left."""
        gateway = self._gateway
        async with anyio.create_task_group() as group:
            for conversation in gateway.conversations.over():
                why = TOLD if conversation.told else IDLE
                group.start_soon(self._once, partial(gateway.end, conversation, why))
        if gateway.files is not None:
            with contextlib.suppress(OSError):
                gateway.files.sweep()

    async def _look_at(self, state: ReplicaState) -> None:
        gateway = self._gateway
        began = gateway.clock.monotonic()
        if not await state.client.healthy():
            self._missed(state, began)
            return
        state.misses = 0
        try:
            slots = await self._slots(state)
        except (ReplicaSlow, ReplicaDown) as error:
            log.debug('%s', error)
            if not state.up:
                return  # to be back it must do more than say that it is well
            slots = None
        if slots is not None:
            self._check_fits(state, slots)
        if state.name in self._unfit:
            if state.up:
                gateway.lost(state.name)
            return
        if not state.up:
            log.warning('replica %s is back', state.name)
            state.up = True
            gateway.seating.changed()
        elif slots is not None:
            gateway.audit(state.name, slots, began)
        if state.strikes >= STRIKES:
            await self._probe(state)

    def _missed(self, state: ReplicaState, began: float) -> None:
        """One that has never said anything is not waited for."""
        heard = state.client.heard
        state.misses = 0 if heard > began - self._gateway.fleet.settings.health_period else state.misses + 1
        if state.up and (state.misses >= MISSES or math.isinf(heard)):
            self._gateway.lost(state.name)
        if not state.up:
            self._unfit.discard(state.name)  # another one may come in its place

    async def _slots(self, state: ReplicaState) -> list[SlotState] | None:
        """None where it tells none; one that wants another key is no more fit than one of the wrong size. Raises
        ReplicaSlow or ReplicaDown.
        """
        try:
            return await state.client.slots(patience=PATIENCE)
        except ReplicaRefused as error:
            if error.status not in NOT_FOR_US:
                log.debug('%s', error)
            elif state.name not in self._unfit:
                log.error('replica %s does not take the key of the gateway: it is left out', state.name)
                self._unfit.add(state.name)
            return None

    async def _probe(self, state: ReplicaState) -> None:
        """What a turn asks of a replica, in small: one that does it is well again. An answer there says so as well."""
        gateway = self._gateway
        account = gateway.ledger.open(PROBER, state.name, min(PROBED, state.replica.context))
        try:
            with state.while_up():
                await state.client.tokens(PROBE)
                state.untold = 0
                if account is not None:  # else all slots are conversations', and stay so
                    await state.client.prefill(PROBE, account.slot, patience=PATIENCE)
        except ReplicaError as error:
            log.debug('%s', error)
        else:
            log.warning('replica %s is well again', state.name)
            state.strikes = 0
        finally:
            if account is not None:
                gateway.ledger.close(account)
            gateway.seating.changed()

    def _check_fits(self, state: ReplicaState, slots: list[SlotState]) -> None:
        """Whether the server has what the fleet file says; said once if not."""
        replica = state.replica
        if len(slots) >= replica.slots and all(each.context >= replica.context for each in slots):
            self._unfit.discard(state.name)
            return
        if state.name not in self._unfit:
            log.error('replica %s has %d slots of %d tokens, the fleet file says %d of %d: it is left out', state.name,
                      len(slots), min((each.context for each in slots), default=0), replica.slots, replica.context)
        self._unfit.add(state.name)
