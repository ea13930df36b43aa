"""A prompt is read on one replica, and its cache brought to the one that answers."""
from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from pace_ros.serving.hand_over import HandOverFailed
from pace_ros.serving.ledger import Account
from pace_ros.serving.replica_errors import ReplicaError
from pace_ros.serving.seating import Seat

if TYPE_CHECKING:
    from pace_ros.serving.gateway import Gateway

log = logging.getLogger(__name__)


class Bringing:
    """One turn's hand-over; it is over before ``until`` (monotonic, s), so that there is time to answer."""

    def __init__(
        self, gateway: Gateway, seat: Seat, source: Account, body: Mapping[str, Any], prompt: Sequence[int],
        until: float,
    ) -> None:
        self._gateway = gateway
        self._seat = seat
        self._source = source
        self._reader, self._target = (gateway.states[each.replica] for each in (source, seat.account))
        self._body = body
        self._prompt = prompt
        self._until = until

    async def run(self) -> None:
        """Where it fails, the prompt is read where it is answered. Raises ReplicaDown if that is lost meanwhile."""
        gateway, account = self._gateway, self._seat.account
        gateway.ledger.empty(account)  # whatever was there is overwritten
        gateway.contents.forget(account)
        with self._target.while_up():
            try:
                moved = await self._moved()
            except (HandOverFailed, ReplicaError) as error:
                log.warning('no hand-over from %s to %s: %s', self._reader.name, self._target.name, error)
                gateway.tally.hand_overs_failed += 1
                await self._blame(error)
                return
        if gateway.ledger.is_open(account):
            gateway.ledger.fill(account, moved)
            gateway.contents.put(account, self._prompt)
        gateway.tally.handed_over += 1

    async def _moved(self) -> int:
        """Tokens that were. Raises HandOverFailed or ReplicaError, ReplicaDown if the reader is lost meanwhile."""
        gateway, reader, slot = self._gateway, self._reader, self._source.slot
        if gateway.files is None:
            raise HandOverFailed('there is no folder for slot files')
        with reader.reading(gateway.contents.to_read(self._source, self._prompt)):
            async with self._alone():
                with gateway.expecting(reader, self._target) as wait, reader.while_up():
                    usage = await reader.client.prefill(self._body, slot, until=self._until, patience=wait.patience)
                gateway.has_read(reader, usage)
                with self._in_time(self._until), reader.while_up():
                    return await gateway.files.hand_over(reader.client, slot, self._target.client,
                                                         self._seat.account.slot, len(self._prompt))

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """No other prompt is read to be handed over. Raises HandOverFailed where that takes too long, or is of no use
        because the reader was left out meanwhile.
        """
        reader, gateway = self._reader, self._gateway
        patience = gateway.fleet.settings.deadlines.prefill
        with self._in_time(min(self._until, gateway.clock.monotonic() + patience)), reader.while_up():
            await reader.one_at_a_time.acquire()
        try:
            if not reader.well:
                raise HandOverFailed(f'{reader.name} is not well')
            yield
        finally:
            reader.one_at_a_time.release()

    @contextlib.contextmanager
    def _in_time(self, until: float) -> Iterator[None]:
        left = max(0.0, until - self._gateway.clock.monotonic())
        try:
            with anyio.fail_after(left):
                yield
        except TimeoutError:
            raise HandOverFailed(f'its time was over after {left:.3g} s') from None

    async def _blame(self, error: HandOverFailed | ReplicaError) -> None:
        if isinstance(error, ReplicaError):
            await self._gateway.blame(self._reader, error)
            return
        if error.apart and not self._reader.apart:
            self._reader.apart = True
            log.error("replica %s keeps slot files in a folder that is not 'slot_dir', and one is left there: it hands "
                      'nothing over until it is started again', self._reader.name)
        for state, why in ((self._reader, error.source), (self._target, error.target)):
            if why is not None:
                await self._gateway.blame(state, why)
