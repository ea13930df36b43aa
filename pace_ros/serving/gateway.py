"""A turn through the fleet: how long its prompt is, whether it comes in and where it goes, its answer."""
from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from pace_ros.clock import Clock
from pace_ros.serving.conversations import Conversation, Conversations
from pace_ros.serving.fleet import Fleet
from pace_ros.serving.hand_over import HandOverFailed, SlotFiles
from pace_ros.serving.ledger import Account, Ledger
from pace_ros.serving.placement import Turn
from pace_ros.serving.policies import make_policy
from pace_ros.serving.replica_client import Chunk, ReplicaClient, Usage, says_something, usage_of
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused, Seat, Seating
from pace_ros.serving.tally import Tally

log = logging.getLogger(__name__)
SOON = 1.0  # s after which a client may try again where nothing is well


class Gateway:
    """The fleet's one door. Its ledger and its conversations are changed between two awaits, never across one."""

    def __init__(self, fleet: Fleet, clients: Sequence[ReplicaClient], clock: Clock) -> None:
        settings = fleet.settings
        self.fleet = fleet
        self.states = {each.replica.name: ReplicaState(each) for each in clients}
        self.ledger = Ledger(fleet.replicas)
        self.policy = make_policy(settings.policy, prediction_error=settings.prediction_error)
        folder = settings.slot_dir
        self.files = SlotFiles(Path(folder), largest=settings.limits.slot_file) if folder else None
        self.conversations = Conversations(
            clock, idle=settings.idle, grace=settings.grace, most=settings.limits.conversations
        )
        self.seating = Seating(self.states, self.ledger, self.policy, settings.admission, clock,
                               hands_over=self.files is not None)
        self.tally = Tally()

    async def answer(self, key: str, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """The chunks of a turn's answer; one turn of a conversation at a time.

        Raises Refused, TooMany or ReplicaError; before the first chunk, unless a replica was lost while it answered.
        Close the generator when the client has hung up.
        """
        conversation = self.conversations.enter(key)
        hung_up = True
        try:
            with anyio.fail_after(self.fleet.settings.deadlines.total):
                await conversation.lock.acquire()
            try:
                async with contextlib.aclosing(self._turn(conversation, body)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            finally:
                conversation.lock.release()
            hung_up = False
        except TimeoutError:
            hung_up = False
            raise Refused('an earlier turn of this conversation does not end', SOON) from None
        except (Refused, ReplicaError):
            hung_up = False
            raise
        finally:
            self.conversations.leave(conversation, hung_up=hung_up)
            if conversation.home is None and not conversation.under_way:
                self.conversations.remove(conversation)

    async def aclose(self) -> None:
        """Close every connection, and delete what is left in the slot folder."""
        for state in self.states.values():
            await state.client.aclose()
        if self.files is not None:
            with contextlib.suppress(OSError):
                self.files.sweep()

    async def end(self, conversation: Conversation, why: str) -> None:
        """Forget a conversation, and empty its slot. A turn under way keeps it until it has ended."""
        async with conversation.lock:
            account, conversation.home = conversation.home, None
            if account is not None:
                with contextlib.suppress(ReplicaError):
                    await self.states[account.replica].client.erase(account.slot)
                self.ledger.close(account)
            self.conversations.remove(conversation)
        self.policy.forget(conversation.key)
        self.tally.conversation_ended(why)
        self.seating.changed()

    def lost(self, name: str) -> None:
        """A replica has died: its caches are lost, and the conversations that lived there live nowhere."""
        state = self.states[name]
        if state.well:
            log.warning('replica %s is lost', name)
            self.tally.deaths += 1
        state.well = False
        self.ledger.drop(name)
        for conversation in self.conversations:
            if conversation.home is not None and conversation.home.replica == name:
                conversation.home = None
        self.seating.changed()

    async def _turn(self, conversation: Conversation, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Until it is answered: a replica that is lost before its first token costs the client time alone."""
        without: set[str] = set()
        while True:
            turn = Turn(conversation.key, conversation.turns + 1, await self._count(body), int(body['max_tokens']))
            try:
                seat = await self.seating.take(conversation, turn, without)
            except Refused:
                self.tally.refused += 1
                raise
            said = False
            try:
                async with contextlib.aclosing(self._seated(conversation, turn, seat, body)) as chunks:
                    async for chunk in chunks:
                        said = said or says_something(chunk)
                        yield chunk
            except ReplicaRefused:
                self.tally.failed += 1
                raise
            except ReplicaError as error:
                without.add(seat.placement.decode)
                log.warning('%s, %s', error, 'in the middle of an answer' if said else 'before its first token')
                if said or len(without) >= len(self.states):
                    self.tally.failed += 1
                    raise
                self.tally.rebound += 1
            else:
                return

    async def _seated(
        self, conversation: Conversation, turn: Turn, seat: Seat, body: Mapping[str, Any]
    ) -> AsyncGenerator[Chunk, None]:
        """Read, hand over, answer; then the ledger says what is held."""
        account, state = seat.account, self.states[seat.placement.decode]
        before, held, keeps = account.held, turn.prompt, seat.placement.stays  # so much is held if the client hangs up
        try:
            with state.answering():
                if seat.source is not None:
                    await self._bring(turn, seat, seat.source, body)
                expected = min(account.held, turn.prompt - 1) if seat.slot is not None else 0
                with contextlib.ExitStack() as reading:
                    reading.enter_context(state.reading(turn.prompt - expected))
                    async with contextlib.aclosing(state.client.stream(body, seat.slot)) as chunks:
                        async for chunk in chunks:
                            if says_something(chunk):
                                reading.close()
                                held += 1
                            usage = usage_of(chunk)
                            if usage is not None:
                                held = usage.held
                                self._learn(turn, state, usage, expected)
                            yield chunk
            conversation.turns += 1
            self.tally.turns += 1
        except ReplicaRefused:
            held, keeps = before, keeps and conversation.home is account
            raise
        except ReplicaError as error:
            keeps = False
            if isinstance(error, ReplicaDown):
                self.lost(state.name)
            raise
        finally:
            self._rise(conversation, seat, held, keeps=keeps)

    async def _bring(self, turn: Turn, seat: Seat, source: Account, body: Mapping[str, Any]) -> None:
        """Read the prompt on the prefiller, hand its cache over. Where that fails, it is read where it is answered."""
        reader, target = self.states[seat.placement.prefill], self.states[seat.placement.decode]
        seat.account.held = 0  # whatever was there is overwritten
        try:
            with reader.reading(turn.prompt):
                usage = await reader.client.prefill(body, source.slot)
            reader.learn(usage)
            self.tally.read += usage.read
            self.tally.cached += usage.cached
            if self.files is None:
                raise HandOverFailed('there is no folder for slot files')  # noqa: TRY301
            moved = await self.files.hand_over(reader.client, source.slot, target.client, seat.account.slot)
            seat.account.held, seat.account.reserved = moved, max(0, turn.tokens - moved)
            self.tally.handed_over += 1
        except (HandOverFailed, ReplicaError) as error:
            log.warning('no hand-over from %s to %s: %s', reader.name, target.name, error)
            self.tally.hand_overs_failed += 1
            if isinstance(error.source if isinstance(error, HandOverFailed) else error, ReplicaDown):
                self.lost(reader.name)
        finally:
            self.ledger.close(source)
            self.seating.changed()

    def _learn(self, turn: Turn, state: ReplicaState, usage: Usage, expected: int) -> None:
        """What the server says is checked against the ledger; it teaches the reading rate, and the policy."""
        state.learn(usage)
        self.policy.learn(turn, usage.answered)
        self.tally.read += usage.read
        self.tally.cached += usage.cached
        self.tally.answered += usage.answered
        lost = expected - usage.cached
        if lost > 0:
            self.tally.drift += lost
            log.info('%s had lost %d of %d tokens', state.name, lost, expected)

    def _rise(self, conversation: Conversation, seat: Seat, held: int, *, keeps: bool) -> None:
        """The turn has ended: its account stays with the conversation, or its slot is free again."""
        account = seat.account
        if seat.source is not None:
            self.ledger.close(seat.source)
        if self.ledger.account(account.conversation, account.replica) is not account:
            keeps = False  # lost with its replica
        elif keeps:
            self.ledger.settle(account, held)
        else:
            self.ledger.close(account)
        if keeps:
            if conversation.home is not None and conversation.home is not account:
                self.ledger.close(conversation.home)
            conversation.home = account
        elif conversation.home is account:
            conversation.home = None
        self.seating.changed()

    async def _count(self, body: Mapping[str, Any]) -> int:
        """The prompt's tokens, by any replica that is well: all have one model. Raises Refused or ReplicaRefused."""
        for state in self.states.values():
            if not state.well:
                continue
            try:
                return await state.client.count(body)
            except ReplicaRefused:
                raise
            except ReplicaDown:
                self.lost(state.name)
            except ReplicaError as error:
                log.warning('%s', error)
        raise Refused('no replica is well', SOON)
