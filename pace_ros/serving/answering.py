"""One turn through the fleet: how long its prompt is, whether it comes in and where it goes, its answer."""
from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from pace_ros.serving.arriving import seen
from pace_ros.serving.bringing import Bringing
from pace_ros.serving.ledger import Account
from pace_ros.serving.placement import Turn
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import TOO_LARGE, Refused, Seat
from pace_ros.serving.usage import Chunk, Usage, says_something, usage_of

if TYPE_CHECKING:
    from pace_ros.serving.conversations import Conversation
    from pace_ros.serving.gateway import Gateway, Wait

log = logging.getLogger(__name__)
MOST_LOST = 2  # replicas that a turn may cost: it may be what they die of


class Answering:
    """Until it is answered: a replica that is lost before its first token costs the client time alone, but for a turn
    that has cost two.
    """

    def __init__(self, gateway: Gateway, conversation: Conversation, body: Mapping[str, Any], until: float) -> None:
        self._gateway = gateway
        self._conversation = conversation
        self._body = body
        self._until = until
        self._prompt: list[int] = []
        self._again = False
        self._lost = 0  # replicas that were lost while they had this turn

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """What the client is sent. Raises Refused or ReplicaError; the first chunk of all says something."""
        gateway, without = self._gateway, set[str]()
        turn = await self._turn()
        while True:
            seat = await self._taken(turn, without)
            said = False
            try:
                async with contextlib.aclosing(self._held_back(turn, seat)) as chunks:
                    async for chunk in chunks:
                        said = True
                        yield chunk
            except ReplicaError as error:
                without.add(seat.placement.decode)
                self._lost += not gateway.states[seat.placement.decode].up
                log.warning('%s, %s', error, 'in the middle of an answer' if said else 'before its first token')
                if said or not self._elsewhere(error, without):
                    gateway.tally.failed += 1
                    raise
                gateway.tally.rebound += 1
            else:
                return

    def _elsewhere(self, error: ReplicaError, without: set[str]) -> bool:
        """Whether to begin the turn again: elsewhere, or once more here if a connection failed and nobody died."""
        gateway = self._gateway
        if gateway.clock.monotonic() >= self._until or (isinstance(error, ReplicaRefused) and error.for_the_request):
            return False
        if self._lost >= MOST_LOST:
            log.error('a turn is not tried again: %d replicas were lost that had it', self._lost)
            return False
        able = [each for each in gateway.states.values() if gateway.policy.answers(decodes=each.replica.decodes)]
        if any(each.well and each.name not in without for each in able):
            return True
        if self._again or not isinstance(error, ReplicaDown):
            return False
        self._again = True
        without.clear()
        return any(each.well for each in able)

    async def _turn(self) -> Turn:
        try:
            turn, self._prompt = await seen(self._gateway, self._conversation, self._body, self._until)
        except Refused as refused:
            self._gateway.tally.was_refused(too_long=refused.status == TOO_LARGE)
            raise
        except ReplicaError:
            self._gateway.tally.failed += 1
            raise
        return turn

    async def _taken(self, turn: Turn, without: set[str]) -> Seat:
        try:
            return await self._gateway.seating.take(self._conversation, turn, without, again=self._again,
                                                    until=self._until)
        except Refused as refused:
            self._gateway.tally.was_refused(too_long=refused.status == TOO_LARGE)
            raise

    async def _held_back(self, turn: Turn, seat: Seat) -> AsyncGenerator[Chunk, None]:
        """Chunks that say nothing wait for one that does: until then the turn may still be answered elsewhere."""
        waiting: list[Chunk] | None = []
        async with contextlib.aclosing(self._seated(turn, seat)) as chunks:
            async for chunk in chunks:
                if waiting is not None:
                    waiting.append(chunk)
                    if not says_something(chunk):
                        continue
                for each in waiting if waiting is not None else (chunk,):
                    yield each
                waiting = None
            for each in waiting or ():
                yield each

    async def _seated(self, turn: Turn, seat: Seat) -> AsyncGenerator[Chunk, None]:
        """Read, hand over, answer; then the ledger says what is held."""
        gateway, account, state = self._gateway, seat.account, self._gateway.states[seat.placement.decode]
        ending = _Ending(held=account.held)
        self._conversation.seat = account
        try:
            with state.answering():
                if seat.source is not None:
                    await self._bring(seat, seat.source)
                async with contextlib.aclosing(self._answered(turn, seat, state, ending)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            self._conversation.turns += 1
            gateway.tally.turns += 1
        except ReplicaRefused as error:
            ending.keeps = ending.keeps and error.for_the_request and self._conversation.home is account
            ending.held, ending.read = account.held, gateway.contents.known(account) > 0
            await gateway.blame(state, error)
            raise
        except ReplicaError as error:
            ending.keeps = False
            await gateway.blame(state, error)
            raise
        finally:
            await self._rise(turn, seat, ending)

    async def _answered(
        self, turn: Turn, seat: Seat, state: ReplicaState, ending: _Ending
    ) -> AsyncGenerator[Chunk, None]:
        gateway, account = self._gateway, seat.account
        in_slot = seat.slot is not None
        expected = gateway.contents.shared(account, self._prompt) if in_slot else 0
        to_read = gateway.contents.to_read(account, self._prompt) if in_slot else turn.prompt
        asked = {**self._body, 'max_tokens': turn.answer}
        ending.held, ending.keeps = turn.prompt, seat.placement.stays  # as it is where the client hangs up
        with contextlib.ExitStack() as reading:
            reading.enter_context(state.reading(to_read))
            wait = ending.wait = reading.enter_context(gateway.expecting(state))
            stream = state.client.stream(asked, seat.slot, until=self._until, patience=wait.patience)
            async with contextlib.aclosing(stream) as chunks:
                while (chunk := await self._next(seat, state, chunks)) is not None:
                    if says_something(chunk):
                        state.strikes = 0
                        ending.held += ending.read  # the word before was fed back
                        ending.said += 1
                        if not ending.read:
                            reading.close()
                            gateway.contents.put(account, self._prompt)
                            ending.read = True
                    usage = usage_of(chunk)
                    if usage is not None:
                        gateway.contents.put(account, self._prompt)
                        ending.held, ending.read, ending.said = usage.held, True, usage.answered
                        self._learn(turn, state, usage, expected)
                    yield chunk

    async def _next(self, seat: Seat, state: ReplicaState, chunks: AsyncGenerator[Chunk, None]) -> Chunk | None:
        """None at the end. Raises ReplicaDown if the replica is lost meanwhile, or was and is back."""
        if not self._gateway.ledger.is_open(seat.account):
            raise ReplicaDown(f'{state.name} was lost')
        with state.while_up():
            return await anext(chunks, None)

    async def _bring(self, seat: Seat, source: Account) -> None:
        """By the time at which the decoder may still answer in time."""
        gateway, deadlines = self._gateway, self._gateway.fleet.settings.deadlines
        until = self._until - min(deadlines.first_token, deadlines.total / 2)
        try:
            await Bringing(gateway, seat, source, self._body, self._prompt, until).run()
            self._lost += not gateway.states[source.replica].up
        finally:
            await gateway.give_back(self._conversation, source)

    def _learn(self, turn: Turn, state: ReplicaState, usage: Usage, expected: int) -> None:
        """What the server says is checked against what must be there; it teaches the reading rate, and the policy."""
        self._gateway.has_read(state, usage)
        self._gateway.policy.learn(turn, usage.answered)
        lost = expected - usage.cached
        if lost > 0:
            self._gateway.tally.drifted(state.name, lost)
            log.warning('%s had lost %d of %d tokens', state.name, lost, expected)

    async def _rise(self, turn: Turn, seat: Seat, ending: _Ending) -> None:
        """The turn has ended: its account stays with the conversation, or its slot is free again."""
        gateway, conversation, account = self._gateway, self._conversation, seat.account
        conversation.seat = None
        gateway.states[account.replica].touched = gateway.clock.monotonic()
        gateway.policy.left(turn)
        gateway.tally.answered += ending.said
        keeps = ending.keeps and gateway.ledger.is_open(account) and not (ending.wait and ending.wait.in_vain)
        if keeps:
            gateway.ledger.settle(account, ending.held)
        if not (keeps and ending.read):
            gateway.contents.forget(account)
        left = [account] if not keeps else [conversation.home] if conversation.home is not account else []
        if keeps:
            conversation.home = account
        for each in left:
            if each is not None:
                await gateway.give_back(conversation, each, ours=each is not account or seat.slot is not None)
        gateway.seating.changed()


class _Ending:
    """How a turn ends: tokens that its slot holds then and that were said, whether its prompt was read to the end,
    whether it stays, and how it waited for its first token.
    """

    def __init__(self, *, held: int) -> None:
        self.held = held
        self.said = 0
        self.keeps = False
        self.read = False
        self.wait: Wait | None = None
