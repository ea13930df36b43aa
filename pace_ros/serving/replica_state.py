"""What is observed of a replica while it works."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterator

import anyio

from pace_ros.serving.fleet import Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.placement import ReplicaView
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_errors import ReplicaDown
from pace_ros.serving.usage import Usage

WEIGHT = 0.2  # of the last reading in the measured rate
ENOUGH = 32  # tokens: shorter readings say little about the rate
STRIKES = 2  # calls in a row that were slow or failed, with no token meanwhile, after which no turn goes there
PATIENCE = 5.0  # s in which a replica says something that has nothing to read
SLACK = 4.0  # times as long as its prompts take by the measured rate, on top of that
UNKNOWN = 40.0  # prompt tokens/s, in place of a rate not measured yet: with that slack, 10 tokens/s are waited for


class ReplicaState:
    """One replica: its client, whether it is well, what it is doing, how fast it reads. ``up``: it is not lost, and
    what it holds counts; ``strikes``: calls in a row that were slow or failed, with no token meanwhile; ``misses``:
    looks at its health in a row that it did not answer; ``untold``: prompts in a row whose tokens it did not tell;
    ``touched``: when a turn there last ended (monotonic, s); ``apart``: it writes slot files into a folder of its own.
    """

    def __init__(self, client: ReplicaClient) -> None:
        self.client = client
        self.up = True
        self.strikes = 0
        self.misses = 0
        self.untold = 0
        self.apart = False
        self.touched = -math.inf
        self.waiting = 0
        self.one_at_a_time = asyncio.Lock()  # prompts to be handed over: two at once share batches, and both are late
        self.streams = 0
        self.rate = client.replica.prefill_rate
        self.measured = False
        self._waits: set[anyio.CancelScope] = set()

    @property
    def replica(self) -> Replica:
        """Its configuration."""
        return self.client.replica

    @property
    def name(self) -> str:
        """Its name."""
        return self.client.replica.name

    @property
    def well(self) -> bool:
        """Whether turns may go there."""
        return self.up and self.strikes < STRIKES

    @property
    def patience(self) -> float:
        """Time in which it says something to what was sent there now, s; whoever hangs up after half of that has not
        been answered as he should have been. Until it is known how fast it reads, it may be slow.
        """
        return PATIENCE + SLACK * self.waiting / (self.rate if self.measured else min(self.rate, UNKNOWN))

    def view(self, ledger: Ledger, *, held: int, hands_over: bool) -> ReplicaView:
        """What a policy may see."""
        replica = self.replica
        return ReplicaView(
            name=self.name, prefills=replica.prefills, decodes=replica.decodes, free=ledger.free(self.name),
            free_slots=ledger.free_slots(self.name), context=replica.context, capacity=replica.capacity,
            waiting=self.waiting, streams=self.streams, rate=self.rate, held=held,
            hands_over=hands_over and not self.apart,
        )

    @contextlib.contextmanager
    def reading(self, tokens: int) -> Iterator[None]:
        """A prompt of about so many new tokens is waiting or being read."""
        self.waiting += tokens
        try:
            yield
        finally:
            self.waiting -= tokens

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """An answer is under way."""
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    @contextlib.contextmanager
    def while_up(self) -> Iterator[None]:
        """What is waited for in here ends once the replica is lost. Raises ReplicaDown then, or if it was before."""
        if not self.up:
            raise ReplicaDown(f'{self.name} was lost')
        with anyio.CancelScope() as scope:
            self._waits.add(scope)
            try:
                yield
            finally:
                self._waits.discard(scope)
        if scope.cancelled_caught:
            raise ReplicaDown(f'{self.name} was lost')

    def lose(self) -> None:
        """It is lost, and what waits for it is told."""
        self.up, self.strikes, self.untold, self.apart = False, 0, 0, False
        for scope in self._waits:
            scope.cancel()

    def learn(self, usage: Usage) -> None:
        """How fast it has read, by its own clock."""
        if usage.read < ENOUGH or not 0.0 < usage.reading < math.inf:
            return
        rate = usage.read / usage.reading
        self.rate = rate if not self.measured else self.rate + WEIGHT * (rate - self.rate)
        self.measured = True
