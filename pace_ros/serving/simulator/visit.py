"""A conversation through the simulated gateway, turn by turn: the gateway's own flow, with time in place of servers."""
from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import simpy

from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import Fleet
from pace_ros.serving.ledger import Account, Ledger
from pace_ros.serving.placement import Policy, Turn
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Seat
from pace_ros.serving.simulator.door import Door
from pace_ros.serving.simulator.engine import Engine
from pace_ros.serving.simulator.job import Job
from pace_ros.serving.simulator.row import Row
from pace_ros.serving.simulator.script import Script, TurnScript
from pace_ros.serving.usage import Usage

Flow = Generator[simpy.Event, Any, None]


@dataclass
class Site:
    """Where conversations are served; ``stall``: s, a longer gap between two tokens is a stall; ``answers``: how long
    the answer of each conversation's present turn will be.
    """

    env: simpy.Environment
    fleet: Fleet
    engines: Mapping[str, Engine]
    states: Mapping[str, ReplicaState]
    ledger: Ledger
    policy: Policy
    door: Door
    stall: float
    answers: dict[str, int]
    rows: list[Row] = field(default_factory=list)

    def claim(self, script: Script, account: Account, prompt: int, *, chosen: bool) -> None:
        """It has a slot there now, ``chosen`` by the gateway; else, and where the engine looks for prefixes, the server
        chooses.
        """
        engine = self.engines[account.replica]
        if not chosen or engine.hardware.prefix_cache:
            engine.slots.choose(account.slot, script, prompt, [*self._idle(account.replica), account.slot])
        self.shrink(account.replica)

    def give_back(self, account: Account, *, ours: bool = True) -> None:
        """Its slot is free again. Where slots share one cache the gateway empties it, unless the server chose it, which
        then is not ``ours``; else, and where the engine looks for prefixes, the context is left over.
        """
        engine = self.engines[account.replica]
        if ours and self.states[account.replica].replica.kv > 0 and not engine.hardware.prefix_cache:
            engine.slots.erase(account.slot)
        self.ledger.close(account)
        self.shrink(account.replica)

    def shrink(self, replica: str) -> None:
        """What the ledger has promised is not there for old contexts any more."""
        slots, free = self.engines[replica].slots, self.ledger.free(replica)
        if slots.tokens > free:  # else the idle ones alone cannot be too many
            slots.shrink(free, self._idle(replica))

    def _idle(self, replica: str) -> list[int]:
        """Slots without an account."""
        taken = {each.slot for each in self.ledger.accounts(replica)}
        return [each for each in range(len(taken) + self.ledger.free_slots(replica)) if each not in taken]


class Visit:
    """One conversation. It ends with its last turn, by a refusal, or for the fleet by idling."""

    def __init__(self, site: Site, script: Script) -> None:
        self._site = site
        self._script = script
        self._conversation = Conversation(script.key)

    def run(self) -> Flow:
        """From its first turn to its last."""
        for number, turn in enumerate(self._script.turns, start=1):
            if number > 1:
                yield from self._think(turn.think)
            row = Row(self._script.key, number, number == len(self._script.turns), self._site.env.now, turn.prompt,
                      turn.answer, turn.prompt - turn.known)
            self._site.rows.append(row)
            yield from self._turn(turn, row)
            if row.refused:
                break
        self._end()

    def _think(self, seconds: float) -> Flow:
        idle = self._site.fleet.settings.idle
        yield self._site.env.timeout(min(seconds, idle))
        if seconds > idle:
            self._end()
            self._conversation = Conversation(self._script.key)
            yield self._site.env.timeout(seconds - idle)

    def _turn(self, turn: TurnScript, row: Row) -> Flow:
        site = self._site
        seen = Turn(self._script.key, self._conversation.turns + 1, turn.prompt, turn.most)
        site.answers[self._script.key] = turn.answer
        seat = yield from site.door.enter(self._conversation, seen)
        row.queued = site.env.now - row.arrival
        if isinstance(seat, str):
            row.refused = seat
            return
        row.read_at, row.answered_at = seat.placement.prefill, seat.placement.decode
        site.claim(self._script, seat.account, turn.prompt, chosen=seat.slot is not None)
        state = site.states[row.answered_at]
        with state.answering():
            if seat.source is not None:
                yield from self._bring(turn, seat, seat.source, row)
            yield from self._answer(turn, seen, seat, row)
        self._conversation.turns += 1
        self._rise(turn, seat)

    def _bring(self, turn: TurnScript, seat: Seat, source: Account, row: Row) -> Flow:
        """The prompt is read on a prefiller or at home, its cache is moved; then the next one is read there."""
        site, reader, target = self._site, self._site.engines[row.read_at], self._site.engines[row.answered_at]
        site.ledger.empty(seat.account)
        target.slots.erase(seat.account.slot)
        site.claim(self._script, source, turn.prompt, chosen=True)
        with site.states[row.read_at].reading(_to_read(turn, source)), reader.one_at_a_time.request() as its_turn:
            yield its_turn
            job = self._job(turn, source, self._found(source, turn), answer=1)
            self._note(row, turn, job)
            reader.slots.put(source.slot, self._script, turn.prompt)
            reader.read(job)
            yield job.begun
            _learn(site.states[row.read_at], job)
            read = site.env.now
            yield reader.move(reader.hardware.costs.save(turn.prompt), job)
            yield site.env.timeout(reader.hardware.costs.transfer(turn.prompt))
            yield target.move(target.hardware.costs.restore(turn.prompt), job)
        target.slots.put(seat.account.slot, self._script, turn.prompt)
        row.moved, row.hand_over, row.energy = turn.prompt, site.env.now - read, job.energy
        site.ledger.fill(seat.account, turn.prompt)
        if self._conversation.home is source:
            self._conversation.home = None
        site.give_back(source)
        site.door.changed()

    def _answer(self, turn: TurnScript, seen: Turn, seat: Seat, row: Row) -> Flow:
        site, engine, state = self._site, self._site.engines[row.answered_at], self._site.states[row.answered_at]
        cached = turn.prompt - 1 if row.moved else self._found(seat.account, turn)
        job = self._job(turn, seat.account, cached, turn.answer)
        if row.moved:
            row.reread = expected = 1
        else:
            self._note(row, turn, job)
            expected = _to_read(turn, seat.account) if seat.slot is not None else turn.prompt
        engine.slots.put(seat.account.slot, self._script, turn.prompt)
        with state.reading(expected):
            engine.read(job)
            yield job.begun
        _learn(state, job)
        yield job.ended
        site.policy.learn(seen, turn.answer)
        row.ttft, row.ttfet = job.first - row.arrival, job.visible - row.arrival
        row.stalls, row.ended, row.energy = job.stalls, job.last, row.energy + job.energy
        if turn.answer > 1:
            row.tbt_mean, row.tbt_max = job.gaps / (turn.answer - 1), job.longest

    def _job(self, turn: TurnScript, account: Account, cached: int, answer: int) -> Job:
        env = self._site.env
        return Job(turn.prompt, cached, answer, env.event(), env.event(), turn.hidden, self._site.stall, account.slot)

    def _found(self, account: Account, turn: TurnScript) -> int:
        """Tokens of the prompt that are really in its slot."""
        most = max(turn.known, min(self._script.opening, turn.prompt - 1))
        return min(self._site.engines[account.replica].slots.found(account.slot, self._script), most)

    @staticmethod
    def _note(row: Row, turn: TurnScript, job: Job) -> None:
        """What is found, and what has to be read."""
        row.cached, row.read, row.lost = job.cached, job.left, max(0, turn.known - job.cached)

    def _rise(self, turn: TurnScript, seat: Seat) -> None:
        """The turn has ended: the account is kept, or its slot is given back."""
        site, account, conversation = self._site, seat.account, self._conversation
        held = Usage(turn.prompt, 0, turn.answer, 0.0).held
        site.engines[account.replica].slots.put(account.slot, self._script, held)
        if seat.placement.stays:
            site.ledger.settle(account, held)
            if conversation.home is not None and conversation.home is not account:
                site.give_back(conversation.home)
            conversation.home = account
            site.shrink(account.replica)
        else:
            site.give_back(account, ours=seat.slot is not None)
        site.door.changed()

    def _end(self) -> None:
        """The slot where it lived is emptied; what it has left elsewhere remains until it is overwritten."""
        home, self._conversation.home = self._conversation.home, None
        if home is not None:
            self._site.engines[home.replica].slots.erase(home.slot)
            self._site.ledger.close(home)
        self._site.policy.forget(self._script.key)
        self._site.door.changed()


def _learn(state: ReplicaState, job: Job) -> None:
    """What the server's timings teach the gateway."""
    if not math.isnan(job.first):
        state.learn(Usage(job.prompt, job.cached, job.answer, job.reading))


def _to_read(turn: TurnScript, account: Account) -> int:
    """What the gateway takes to be missing: it knows what it has sent to a slot."""
    return turn.prompt - min(turn.known, account.held)
