"""Per-turn prediction: each turn is placed anew by what it is predicted to cost."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.policies.answer_lengths import AnswerLengths

TOKEN = 0.03  # s that a token of an answer takes
MOVE = 0.05  # s that a hand-over takes
SHARE = 0.25  # of its own time is what one answer's token costs another that is answered beside it
HELD_UP = 0.25  # of a first token's delay is what a delay in the middle of an answer counts for


class Predicted(Policy):
    """Weighs, turn by turn, every way to serve it: any decoder with room may answer, and the prompt may be read on any
    replica, from where the cache then moves with the turn. The cheapest way is taken, in s:

    - until the prompt is read: (tokens waiting there + tokens of the prompt not held there) / measured rate;
    - for whoever is answered where it is read: HELD_UP of that reading (without the queue), once for each of them;
    - a hand-over, if it is answered elsewhere: ``move``;
    - the answer: its predicted length times ``token``;
    - for those answered beside it: SHARE of a token's time for every token that both are predicted to be answered with
      at the same time, for it and for them. The others are halfway through, by what was predicted for them.

    A tie goes to the decoder that has most KV left once the turn has grown by its prediction. Room is reserved for the
    longest answer allowed, so that a wrong prediction costs time, never an overflow.

    ``oracle`` tells the length that an answer will have; without one it is the conversation's own running mean. The
    share ``error`` of all predictions is wrong: a long answer is taken for a short one and the other way round.
    """

    name = 'predicted'

    def __init__(
        self, *, error: float = 0.0, seed: int = 0, oracle: Callable[[Turn], float] | None = None,
        token: float = TOKEN, move: float = MOVE,
    ) -> None:
        self._lengths = AnswerLengths(error, random.Random(seed), oracle)  # noqa: S311  errors are injected
        self._token = token
        self._move = move

    def seen(self, fleet: Sequence[ReplicaView]) -> Sequence[ReplicaView]:
        """Every replica reads, so that admission counts what all of them can read: with the prefillers' part alone
        first turns would wait at the door for a prefiller that later turns keep busy, while decoders have time.
        """
        return [each if each.prefills else replace(each, prefills=True) for each in fleet]

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The cheapest way, if there is any room."""
        answer = self._lengths.predict(turn)
        ways = list(_ways(turn, fleet, home))
        if not ways:
            return None

        def rank(way: tuple[ReplicaView, ReplicaView]) -> tuple[float, float, str, str]:
            read, decode = way
            left = decode.free + decode.held - turn.prompt - answer
            return self._cost(turn, read, decode, answer), -left, decode.name, read.name

        read, decode = min(ways, key=rank)
        return Placement(read.name, decode.name)

    def placed(self, turn: Turn, placement: Placement) -> None:
        """Its answer counts, where it is answered."""
        self._lengths.placed(turn, placement.decode)

    def left(self, turn: Turn) -> None:
        """Its answer counts no more."""
        self._lengths.left(turn)

    def learn(self, turn: Turn, answered: int) -> None:
        """What it predicts from."""
        self._lengths.learn(turn, answered)

    def forget(self, conversation: str) -> None:
        """Its answers count no more."""
        self._lengths.forget(conversation)

    def _cost(self, turn: Turn, read: ReplicaView, decode: ReplicaView, answer: float) -> float:
        reading = max(1, turn.prompt - read.held) / read.rate
        moving = self._move if read is not decode else 0.0
        beside = decode.streams * min(answer, self._lengths.under_way(decode.name, besides=turn.conversation) / 2.0)
        return (
            read.waiting / read.rate + reading * (1 + HELD_UP * read.streams) + moving
            + self._token * (answer + 2.0 * SHARE * beside)
        )


def _ways(turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Iterator[tuple[ReplicaView, ReplicaView]]:
    """Where it may be read and answered, with room for both."""
    for decode in fleet:
        if not decode.decodes or not (decode.goes_on(turn.tokens) if decode.name == home else decode.fits(turn.tokens)):
            continue
        yield decode, decode
        if not decode.hands_over:
            continue
        for read in fleet:
            if read is decode or not read.hands_over:
                continue
            if read.goes_on(turn.prompt) if read.name == home else read.prefills and read.fits(turn.prompt):
                yield read, decode
