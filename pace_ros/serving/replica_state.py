"""What is observed of a replica while it works."""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterator

from pace_ros.serving.fleet import Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.placement import ReplicaView
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.usage import Usage

WEIGHT = 0.2  # of the last reading in the measured rate
ENOUGH = 32  # tokens: shorter readings say little about the rate


class ReplicaState:
    """One replica: its client, whether it is well, what it is doing, how fast it reads. ``misses``: looks at its health
    in a row that it did not answer; ``touched``: when a turn there last ended (monotonic, s).
    """

    def __init__(self, client: ReplicaClient) -> None:
        self.client = client
        self.well = True
        self.misses = 0
        self.touched = -math.inf
        self.waiting = 0
        self.one_at_a_time = asyncio.Lock()  # prompts to be handed over: two at once share batches, and both are late
        self.streams = 0
        self.rate = client.replica.prefill_rate
        self.measured = False

    @property
    def replica(self) -> Replica:
        """Its configuration."""
        return self.client.replica

    @property
    def name(self) -> str:
        """Its name."""
        return self.client.replica.name

    def view(self, ledger: Ledger, *, held: int, hands_over: bool) -> ReplicaView:
        """What a policy may see."""
        replica = self.replica
        return ReplicaView(
            name=self.name, prefills=replica.prefills, decodes=replica.decodes, free=ledger.free(self.name),
            free_slots=ledger.free_slots(self.name), context=replica.context, capacity=replica.capacity,
            waiting=self.waiting, streams=self.streams, rate=self.rate, held=held, hands_over=hands_over,
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

    def learn(self, usage: Usage) -> None:
        """How fast it has read, by its own clock."""
        if usage.read < ENOUGH or usage.reading <= 0.0:
            return
        rate = usage.read / usage.reading
        self.rate = rate if not self.measured else self.rate + WEIGHT * (rate - self.rate)
        self.measured = True
