"""One turn through the fleet: how long its prompt is, whether it comes in and where it goes, its answer."""
from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from pace_ros.serving.hand_over import HandOverFailed
from pace_ros.serving.ledger import Account
from pace_ros.serving.placement import Turn
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused, Seat
from pace_ros.serving.usage import Chunk, Usage, says_something, usage_of

if TYPE_CHECKING:
    from pace_ros.serving.conversations import Conversation
    from pace_ros.serving.gateway import Gateway

log = logging.getLogger(__name__)
SOON = 1.0  # s after which a client may try again where nothing is well


class Answering:
    """Until it is answered: a replica that is lost before its first token costs the client time alone."""

    def __init__(self, gateway: Gateway, conversation: Conversation, body: Mapping[str, Any], until: float) -> None:
        self._gateway = gateway
        self._conversation = conversation
        self._body = body
        self._until = until
        self._prompt: list[int] = []
        self._again = False

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """What the client is sent. Raises Refused or ReplicaError; the first chunk of all says something."""
        gateway, without = self._gateway, set[str]()
        turn = await self._turn()
        while True:
            try:
                seat = await gateway.seating.take(self._conversation, turn, without, again=self._again)
            except Refused:
                gateway.tally.refused += 1
                raise
            said = False
            try:
                async with contextlib.aclosing(self._held_back(turn, seat)) as chunks:
                    async for chunk in chunks:
                        said = True
                        yield chunk
            except ReplicaError as error:
                without.add(seat.placement.decode)
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
        able = [each for each in gateway.states.values() if each.replica.decodes or gateway.policy.role_blind]
        if any(each.well and each.name not in without for each in able):
            return True
        if self._again or not isinstance(error, ReplicaDown):
            return False
        self._again = True
        without.clear()
        return any(each.well for each in able)

    async def _turn(self) -> Turn:
        """Any replica that is well tells the prompt's tokens: all have one model. Raises Refused or ReplicaRefused."""
        gateway = self._gateway
        for state in sorted(gateway.states.values(), key=lambda each: (each.misses, each.waiting, each.streams)):
            if not state.well:
                continue
            try:
                self._prompt = await state.client.tokens(self._body)
                break
            except ReplicaDown as error:
                log.warning('%s', error)
                await gateway.suspect(state.name)
            except ReplicaError as error:
                if isinstance(error, ReplicaRefused) and error.for_the_request:
                    gateway.tally.failed += 1
                    raise
                log.warning('%s', error)
        else:
            gateway.tally.refused += 1
            raise Refused('no replica is well', SOON)
        return Turn(self._conversation.key, self._conversation.turns + 1, len(self._prompt), self._answer())

    def _answer(self) -> int:
        """Tokens it may be answered with: as many as it asks for, else as many as there may be."""
        if 'max_tokens' in self._body:
            return int(self._body['max_tokens'])
        fleet, home = self._gateway.fleet, self._conversation.home
        at = [each for each in fleet.decoders if home is None or each.name == home.replica] or fleet.decoders
        room = max(each.context for each in at) - len(self._prompt)
        return max(1, min(fleet.settings.limits.answer, room))

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
        try:
            with state.answering():
                if seat.source is not None:
                    await self._bring(turn, seat, seat.source)
                async with contextlib.aclosing(self._answered(turn, seat, state, ending)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            self._conversation.turns += 1
            gateway.tally.turns += 1
        except ReplicaRefused as error:
            ending.keeps = ending.keeps and error.for_the_request and self._conversation.home is account
            ending.held, ending.read = account.held, gateway.contents.known(account) > 0
            raise
        except ReplicaError as error:
            ending.keeps = False
            if isinstance(error, ReplicaDown):
                await gateway.suspect(state.name)
            raise
        finally:
            self._rise(seat, ending)

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
            async with contextlib.aclosing(state.client.stream(asked, seat.slot, until=self._until)) as chunks:
                async for chunk in chunks:
                    if says_something(chunk):
                        ending.held += ending.read  # the word before was fed back
                        if not ending.read:
                            reading.close()
                            gateway.contents.put(account, self._prompt)
                            ending.read = True
                    usage = usage_of(chunk)
                    if usage is not None:
                        gateway.contents.put(account, self._prompt)
                        ending.held, ending.read = usage.held, True
                        self._learn(turn, state, usage, expected)
                    yield chunk

    async def _bring(self, turn: Turn, seat: Seat, source: Account) -> None:
        """Read the prompt on the prefiller, hand its cache over. Where that fails, it is read where it is answered."""
        gateway = self._gateway
        reader, target = gateway.states[seat.placement.prefill], gateway.states[seat.placement.decode]
        gateway.ledger.empty(seat.account)  # whatever was there is overwritten
        gateway.contents.forget(seat.account)
        try:
            if gateway.files is None:
                raise HandOverFailed('there is no folder for slot files')  # noqa: TRY301
            with reader.reading(gateway.contents.to_read(source, self._prompt)):
                async with reader.one_at_a_time:
                    usage = await reader.client.prefill(self._body, source.slot, until=self._until)
                    self._count(reader, usage)
                    moved = await gateway.files.hand_over(reader.client, source.slot, target.client,
                                                          seat.account.slot, turn.prompt)
            if gateway.ledger.is_open(seat.account):
                gateway.ledger.fill(seat.account, moved)
                gateway.contents.put(seat.account, self._prompt)
            gateway.tally.handed_over += 1
        except (HandOverFailed, ReplicaError) as error:
            log.warning('no hand-over from %s to %s: %s', reader.name, target.name, error)
            gateway.tally.hand_overs_failed += 1
            if isinstance(error.source if isinstance(error, HandOverFailed) else error, ReplicaDown):
                await gateway.suspect(reader.name)
        finally:
            self._give_back(source)

    def _give_back(self, source: Account) -> None:
        """The prefiller's slot is free again; where it was the conversation's home, its cache has moved on."""
        if self._conversation.home is source:
            self._conversation.home = None
        self._gateway.contents.forget(source)
        self._gateway.ledger.close(source)
        self._gateway.seating.changed()

    def _learn(self, turn: Turn, state: ReplicaState, usage: Usage, expected: int) -> None:
        """What the server says is checked against what must be there; it teaches the reading rate, and the policy."""
        self._count(state, usage)
        self._gateway.policy.learn(turn, usage.answered)
        self._gateway.tally.answered += usage.answered
        lost = expected - usage.cached
        if lost > 0:
            self._gateway.tally.drift += lost
            log.warning('%s had lost %d of %d tokens', state.name, lost, expected)

    def _count(self, state: ReplicaState, usage: Usage) -> None:
        state.learn(usage)
        self._gateway.tally.read += usage.read
        self._gateway.tally.cached += usage.cached

    def _rise(self, seat: Seat, ending: _Ending) -> None:
        """The turn has ended: its account stays with the conversation, or its slot is free again."""
        gateway, conversation, account = self._gateway, self._conversation, seat.account
        gateway.states[account.replica].touched = gateway.clock.monotonic()
        if seat.source is not None:
            self._give_back(seat.source)
        if not gateway.ledger.is_open(account):
            ending.keeps = False  # lost with its replica
        elif ending.keeps:
            gateway.ledger.settle(account, ending.held)
        else:
            gateway.ledger.close(account)
        if not (ending.keeps and ending.read):
            gateway.contents.forget(account)
        if ending.keeps:
            if conversation.home is not None and conversation.home is not account:
                gateway.contents.forget(conversation.home)
                gateway.ledger.close(conversation.home)
            conversation.home = account
        elif conversation.home is account:
            conversation.home = None
        gateway.seating.changed()


class _Ending:
    """How a turn ends: tokens that its slot holds then, whether its prompt was read to the end, whether it stays."""

    def __init__(self, *, held: int) -> None:
        self.held = held
        self.keeps = False
        self.read = False
