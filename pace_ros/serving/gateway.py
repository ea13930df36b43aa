"""The fleet's one door: which conversation a turn belongs to, what is known of the replicas, what becomes of both."""
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from pace_ros.clock import Clock
from pace_ros.serving.admission import SOON
from pace_ros.serving.answering import Answering
from pace_ros.serving.contents import Contents
from pace_ros.serving.conversations import Conversation, Conversations, TooMany
from pace_ros.serving.fleet import Fleet
from pace_ros.serving.gateway_metrics import FirstTokens
from pace_ros.serving.hand_over import SlotFiles
from pace_ros.serving.ledger import Account, Ledger
from pace_ros.serving.policies import make_policy
from pace_ros.serving.replica_client import ReplicaClient, SlotState
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused, ReplicaSlow
from pace_ros.serving.replica_state import STRIKES, ReplicaState
from pace_ros.serving.seating import Refused, Seating
from pace_ros.serving.tally import Tally
from pace_ros.serving.usage import Chunk, Usage, says_something

log = logging.getLogger(__name__)
QUEUE = 8  # turns of one conversation that may be there at once; a robot has one, and one more while it is interrupted
TELLING = 16  # prompts whose tokens are asked for at once
EMPTYING = 5.0  # s that emptying a slot may take
IDLE, TOLD, GAVE_WAY = 'idle', 'told', 'gave way'


@dataclass
class Wait:
    """For the first that a replica says to a prompt: it has ``patience`` s; ``in_vain``: the client did not wait, and
    had waited for longer than it should have.
    """

    patience: float
    in_vain: bool = False


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
        largest = settings.limits.slot_file
        self.files = SlotFiles(Path(folder), largest=largest, clock=clock) if folder else None
        self.conversations = Conversations(
            clock, idle=settings.idle, grace=settings.grace, most=settings.limits.conversations
        )
        self.seating = Seating(self.states, self.ledger, self.policy, settings.admission, clock,
                               hands_over=self.files is not None, make_room=self.make_room,
                               frees=self.conversations.first_end)
        self.telling = asyncio.Semaphore(TELLING)
        self.tally = Tally()
        self.first_tokens = FirstTokens()

    async def answer(
        self, key: str, body: Mapping[str, Any], *, derived: bool = False
    ) -> AsyncGenerator[Chunk, None]:
        """The chunks of a turn's answer; one turn of a conversation at a time. ``derived``: not its client said which.

        Raises Refused, TooMany or ReplicaError; before the first chunk, unless a replica was lost while it answered.
        Close the generator when the client has hung up.
        """
        received = self.clock.monotonic()
        until = received + self.fleet.settings.deadlines.total
        conversation = await self._entered(key, until)
        conversation.derived = derived
        later, spoken, hung_up, answered = conversation.turns > 0, False, True, False
        try:
            async with contextlib.aclosing(Answering(self, conversation, body, until).chunks()) as chunks:
                async for chunk in chunks:
                    if not spoken and says_something(chunk):
                        spoken = True
                        self.first_tokens.sent(self.clock.monotonic() - received, later=later)
                    yield chunk
            hung_up, answered = False, True
        except Exception:
            hung_up = False
            raise
        finally:
            self.tally.hung_up += hung_up
            try:
                if conversation.told:
                    await self._end(conversation, TOLD)
            finally:
                conversation.lock.release()
                self._left(conversation, hung_up=hung_up, answered=answered)

    async def aclose(self) -> None:
        """Close every connection, delete what is left in the slot folder, and let go of it."""
        for state in self.states.values():
            await state.client.aclose()
        if self.files is not None:
            with contextlib.suppress(OSError):
                self.files.close()

    async def end(self, conversation: Conversation, why: str) -> None:
        """Forget a conversation, and empty its slot. One that has a turn goes on if it was idle, and ends with that
        turn if it was told to.
        """
        if conversation.under_way or conversation.lock.locked():
            conversation.told = conversation.told or why == TOLD
        elif why == TOLD or self.conversations.is_over(conversation):
            async with conversation.lock:
                await self._end(conversation, why)

    async def make_room(self, replicas: Collection[str]) -> bool:
        """An idle conversation on one of these replicas whose client will never end it gives up its slot: its next turn
        is read as a first one. False if there is none.
        """
        conversation = self.conversations.longest_idle(replicas)
        if conversation is None:
            return False
        async with conversation.lock:
            await self._end(conversation, GAVE_WAY)
        return True

    async def _end(self, conversation: Conversation, why: str) -> None:
        """Nobody else has its lock meanwhile."""
        if self.conversations.get(conversation.key) is not conversation:
            return
        account, conversation.home = conversation.home, None
        try:
            if account is not None:
                await self._vacate(account, empty=True)
        finally:
            self.conversations.remove(conversation)  # after its account: who comes under this key begins anew
            self.policy.forget(conversation.key)
            self.tally.conversation_ended(why)

    async def give_back(self, conversation: Conversation, account: Account, *, ours: bool = True) -> None:
        """A slot that a conversation needs no more. Where slots share one cache it is emptied: a server that has no
        room left takes it from any of them. One that is slow is not asked, for a turn waits; nor is it where the
        server chose the slot, which then is not ``ours``.
        """
        if conversation.home is account:
            conversation.home = None
        state = self.states[account.replica]
        await self._vacate(account, empty=ours and state.replica.kv > 0 and not state.strikes)

    async def _vacate(self, account: Account, *, empty: bool) -> None:
        """It is nobody else's until it has been emptied."""
        state = self.states[account.replica]
        try:
            if empty and state.up and self.ledger.is_open(account):
                with anyio.CancelScope(shield=True), contextlib.suppress(ReplicaError), state.while_up():
                    await state.client.erase(account.slot, patience=EMPTYING)
        finally:
            self.contents.forget(account)
            self.ledger.close(account)
            self.seating.changed()

    async def blame(self, state: ReplicaState, error: ReplicaError) -> None:
        """What an error says of a replica: it may be dead, or slow once too often, or not to blame."""
        if isinstance(error, ReplicaDown):
            if state.up and not await state.client.healthy():
                self.lost(state.name)
        elif isinstance(error, ReplicaSlow) or (isinstance(error, ReplicaRefused) and error.failed):
            self.strike(state)

    def strike(self, state: ReplicaState) -> None:
        """A call was slow or failed: after too many in a row no turn goes there, until the keeper finds it well again.
        What it holds is kept.
        """
        state.strikes += 1
        self.tally.was_slow(state.name)
        if state.strikes == STRIKES and state.up:
            log.warning('replica %s is left out: it was slow or failed %d times in a row', state.name, STRIKES)
            self.seating.changed()

    @contextlib.contextmanager
    def expecting(self, state: ReplicaState, target: ReplicaState | None = None) -> Iterator[Wait]:
        """A replica has been asked, and says nothing yet; ``target``: for whom. That it is waited for no longer says
        nothing of it if the target has been lost.
        """
        began, wait = self.clock.monotonic(), Wait(state.patience)
        try:
            yield wait
        except asyncio.CancelledError:
            in_time = self.clock.monotonic() - began <= wait.patience / 2
            if not in_time and (target is None or target.up):
                wait.in_vain = True
                self.strike(state)
            raise

    def has_read(self, state: ReplicaState, usage: Usage) -> None:
        """A prompt was read there."""
        state.strikes = 0
        state.learn(usage)
        self.tally.read += usage.read
        self.tally.cached += usage.cached

    def lost(self, name: str) -> None:
        """A replica has died: its caches are lost, and the conversations that lived there live nowhere."""
        state = self.states[name]
        if state.up:
            log.warning('replica %s is lost', name)
            self.tally.deaths += 1
        state.lose()
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
                self.tally.drifted(name, lost)
                self.contents.forget(account)
                log.warning('%s has lost %d tokens of a conversation', name, lost)
            self.ledger.settle(account, slot.tokens or 0)
            self.seating.changed()

    async def _entered(self, key: str, until: float) -> Conversation:
        """The conversation, when it is this turn's turn. Raises TooMany or Refused."""
        while True:
            conversation = self._known(key)
            come = False
            try:
                if conversation.under_way > QUEUE:
                    raise self._refused(f'{QUEUE} turns of this conversation are there already')
                await self._lock(conversation, until)
                try:
                    if conversation.told:
                        await self._end(conversation, TOLD)
                    come = self.conversations.get(key) is conversation
                    if come:
                        return conversation  # else it has ended meanwhile, and begins anew
                finally:
                    if not come:
                        conversation.lock.release()
            finally:
                if not come:
                    self._left(conversation, answered=False)

    async def _lock(self, conversation: Conversation, until: float) -> None:
        mine = False
        with anyio.move_on_after(max(0.0, until - self.clock.monotonic())):
            mine = await conversation.lock.acquire()
        if not mine:
            raise self._refused('an earlier turn of this conversation does not end')

    def _known(self, key: str) -> Conversation:
        """The conversation, with one more turn. Raises TooMany."""
        try:
            return self.conversations.enter(key)
        except TooMany:
            self.tally.refused += 1
            raise

    def _refused(self, why: str) -> Refused:
        self.tally.refused += 1
        return Refused(why, SOON)

    def _left(self, conversation: Conversation, *, hung_up: bool = False, answered: bool) -> None:
        self.conversations.leave(conversation, hung_up=hung_up, answered=answered)
        first = not conversation.turns and conversation.home is None and not conversation.under_way
        if first and self.conversations.get(conversation.key) is conversation:
            self.conversations.remove(conversation)  # its first turn did not come in
            self.policy.forget(conversation.key)
