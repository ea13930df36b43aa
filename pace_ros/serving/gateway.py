"""The fleet's one door: which conversation a turn belongs to, what is known of the replicas, what becomes of both."""
from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from pace_ros.clock import Clock
from pace_ros.serving.answering import Answering
from pace_ros.serving.contents import Contents
from pace_ros.serving.conversations import Conversation, Conversations
from pace_ros.serving.fleet import Fleet
from pace_ros.serving.gateway_metrics import FirstTokens
from pace_ros.serving.hand_over import SlotFiles
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.policies import make_policy
from pace_ros.serving.replica_client import ReplicaClient, SlotState
from pace_ros.serving.replica_errors import ReplicaError
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused, Seating
from pace_ros.serving.tally import Tally
from pace_ros.serving.usage import Chunk, says_something

log = logging.getLogger(__name__)
SOON = 1.0  # s after which a client may try again
QUEUE = 8  # turns of one conversation that may be there at once; a robot has one, and one more while it is interrupted
IDLE, TOLD = 'idle', 'told'


class Gateway:
    """Its ledger and its conversations are changed between two awaits, never across one."""

    def __init__(self, fleet: Fleet, clients: Sequence[ReplicaClient], clock: Clock) -> None:
        settings = fleet.settings
        self.fleet = fleet
        self.clock = clock
        self.states = {each.replica.name: ReplicaState(each) for each in clients}
        self.ledger = Ledger(fleet.replicas)
        self.contents = Contents()
        self.policy = make_policy(settings.policy, prediction_error=settings.prediction_error)
        folder = settings.slot_dir
        self.files = SlotFiles(Path(folder), largest=settings.limits.slot_file) if folder else None
        self.conversations = Conversations(
            clock, idle=settings.idle, grace=settings.grace, most=settings.limits.conversations
        )
        self.seating = Seating(self.states, self.ledger, self.policy, settings.admission, clock,
                               hands_over=self.files is not None)
        self.tally = Tally()
        self.first_tokens = FirstTokens()

    async def answer(self, key: str, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """The chunks of a turn's answer; one turn of a conversation at a time.

        Raises Refused, TooMany or ReplicaError; before the first chunk, unless a replica was lost while it answered.
        Close the generator when the client has hung up.
        """
        received = self.clock.monotonic()
        until = received + self.fleet.settings.deadlines.total
        conversation = await self._entered(key, until)
        later, spoken, hung_up = conversation.turns > 0, False, True
        try:
            async with contextlib.aclosing(Answering(self, conversation, body, until).chunks()) as chunks:
                async for chunk in chunks:
                    if not spoken and says_something(chunk):
                        spoken = True
                        self.first_tokens.sent(self.clock.monotonic() - received, later=later)
                    yield chunk
            hung_up = False
        except (Refused, ReplicaError):
            hung_up = False
            raise
        finally:
            conversation.lock.release()
            self._left(conversation, hung_up=hung_up)

    async def aclose(self) -> None:
        """Close every connection, and delete what is left in the slot folder."""
        for state in self.states.values():
            await state.client.aclose()
        if self.files is not None:
            with contextlib.suppress(OSError):
                self.files.sweep()

    async def end(self, conversation: Conversation, why: str) -> None:
        """Forget a conversation, and empty its slot. A turn under way keeps it until it has ended; one that was idle
        and has a turn again goes on.
        """
        async with conversation.lock:
            if why == IDLE and not any(each is conversation for each in self.conversations.over()):
                return
            account, conversation.home = conversation.home, None
            try:
                if account is not None and self.ledger.is_open(account):
                    with contextlib.suppress(ReplicaError):
                        await self.states[account.replica].client.erase(account.slot)
            finally:
                if account is not None:
                    self.contents.forget(account)
                    self.ledger.close(account)
                self.conversations.remove(conversation)  # after its account: who comes under this key begins anew
                self.policy.forget(conversation.key)
                self.tally.conversation_ended(why)
                self.seating.changed()

    async def suspect(self, name: str) -> None:
        """A connection to a replica has failed: is it dead, or was it that connection alone?"""
        if not await self.states[name].client.healthy():
            self.lost(name)

    def lost(self, name: str) -> None:
        """A replica has died: its caches are lost, and the conversations that lived there live nowhere."""
        state = self.states[name]
        if state.well:
            log.warning('replica %s is lost', name)
            self.tally.deaths += 1
        state.well = False
        self.ledger.drop(name)
        self.contents.drop(name)
        for conversation in self.conversations:
            if conversation.home is not None and conversation.home.replica == name:
                conversation.home = None
        self.seating.changed()

    def audit(self, name: str, slots: Sequence[SlotState], began: float) -> None:
        """What a server said of its slots since ``began`` corrects the ledger, where no turn came in between."""
        for account in self.ledger.accounts(name):
            conversation = self.conversations.get(account.conversation)
            if conversation is None or conversation.home is not account or conversation.under_way:
                continue
            slot = slots[account.slot]
            if slot.busy or slot.tokens in (None, account.held) or self.states[name].touched > began:
                continue
            lost = self.contents.known(account) - (slot.tokens or 0)
            if lost > 0:
                self.tally.drift += lost
                self.contents.forget(account)
                log.warning('%s has lost %d tokens of a conversation', name, lost)
            self.ledger.settle(account, slot.tokens or 0)
            self.seating.changed()

    async def _entered(self, key: str, until: float) -> Conversation:
        """The conversation, when it is this turn's turn. Raises TooMany or Refused."""
        while True:
            conversation = self.conversations.enter(key)
            mine = False
            try:
                if conversation.under_way > QUEUE:
                    raise self._refused(f'{QUEUE} turns of this conversation are there already')
                with anyio.move_on_after(max(0.0, until - self.clock.monotonic())):
                    mine = await conversation.lock.acquire()
                if not mine:
                    raise self._refused('an earlier turn of this conversation does not end')
                if self.conversations.get(key) is conversation:
                    return conversation  # else it has ended meanwhile, and begins anew
                mine = False
                conversation.lock.release()
            finally:
                if not mine:
                    self._left(conversation, hung_up=False)

    def _refused(self, why: str) -> Refused:
        self.tally.refused += 1
        return Refused(why, SOON)

    def _left(self, conversation: Conversation, *, hung_up: bool) -> None:
        self.conversations.leave(conversation, hung_up=hung_up)
        if not conversation.turns and conversation.home is None and not conversation.under_way:
            self.conversations.remove(conversation)  # its first turn did not come in
            self.policy.forget(conversation.key)
