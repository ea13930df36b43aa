"""The gateway's seating in simulated time: its own decisions, another way to wait."""
from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any, cast

import simpy

from pace_ros.serving.admission import Verdict
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import Fleet, Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.placement import Policy, Turn
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import LOOK_AGAIN, Seat, Seating
from pace_ros.serving.simulator.bell import ring

BEHIND = Verdict(admitted=False, reason='others wait for a place')


class SimulatedClock:
    """The simulation's time as the core's clock."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env

    def monotonic(self) -> float:
        """Simulated seconds."""
        return float(self._env.now)

    def wall(self) -> float:
        """The same: there is no calendar here."""
        return float(self._env.now)


class _Plate:
    """All that a state needs of its client."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica


def states_of(fleet: Fleet) -> dict[str, ReplicaState]:
    """What the gateway observes of each replica; nothing yet."""
    return {each.name: ReplicaState(cast(ReplicaClient, _Plate(each))) for each in fleet.replicas}


class Door:
    """The same line as at the gateway: turns of conversations that live nowhere come in one after the other, those that
    live somewhere wait behind nobody; who waits looks again when something has changed, or after a while.
    """

    def __init__(
        self, env: simpy.Environment, fleet: Fleet, states: Mapping[str, ReplicaState], ledger: Ledger, policy: Policy
    ) -> None:
        self._settings = fleet.settings.admission
        self._seating = Seating(states, ledger, policy, self._settings, SimulatedClock(env), hands_over=True)
        self._env = env
        self._newcomers: list[_Waiting] = []
        self._at_home: list[_Waiting] = []

    @property
    def waiting(self) -> int:
        """Turns that wait."""
        return len(self._newcomers) + len(self._at_home)

    def changed(self) -> None:
        """Something became free."""
        for each in (*self._at_home, *self._newcomers[:1]):
            each.ring()

    def enter(self, conversation: Conversation, turn: Turn) -> Generator[simpy.Event, Any, Seat | str]:
        """A seat, as soon as there is one, or why there was none."""
        lives = conversation.home is not None
        found = self._seating.look(conversation, turn) if lives or not self._newcomers else BEHIND
        if isinstance(found, Seat):
            return found
        if self._settings.wait <= 0.0 or math.isinf(found.retry_after):
            return found.reason
        if self.waiting >= self._settings.waiting:
            return f'{found.reason}, and {self.waiting} turns are waiting'
        latest = yield from self._wait(conversation, turn, found, lives=lives)
        return latest if isinstance(latest, Seat) else latest.reason

    def _wait(
        self, conversation: Conversation, turn: Turn, found: Verdict, *, lives: bool
    ) -> Generator[simpy.Event, Any, Seat | Verdict]:
        until, me = self._env.now + self._settings.wait, _Waiting(self._env)
        line = self._at_home if lives else self._newcomers
        line.append(me)
        latest: Seat | Verdict = found
        while not isinstance(latest, Seat) and self._env.now < until:
            left = until - self._env.now
            yield me.until_rung(min(left, LOOK_AGAIN) if lives or line[0] is me else left)
            if self._env.now < until and (lives or line[0] is me):
                latest = self._seating.look(conversation, turn)
        line.remove(me)
        self.changed()
        return latest


class _Waiting:
    """One in the line, and the bell that is rung for it."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._bell = env.event()

    def ring(self) -> None:
        """There is something to look at."""
        ring(self._bell)

    def until_rung(self, longest: float) -> simpy.Event:
        """Happens when it is rung, or after so many s."""
        bell = self._bell = self._env.event()
        self._env.timeout(longest).callbacks.append(lambda _: ring(bell))
        return bell
