"""Per-turn prediction: each turn is disaggregated or not by what it is predicted to cost."""
from __future__ import annotations

import random
from collections.abc import Sequence

from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn

TOKEN = 0.03  # s that a token of an answer takes, until learnt better
MOVE = 0.05  # s that handing a cache over is reckoned to take
RECENT = 0.3  # weight of the last answer in the mean that is the prediction


class Predicted(Policy):
    """Predicts a turn's answer length from the conversation's own mean, and weighs two ways: to read the prompt at home
    and delay whoever is answered there, or on a prefiller and move the cache. ``error`` of all predictions are wrong:
    a long answer is taken for a short one and the other way round.
    """

    name = 'predicted'

    def __init__(self, *, error: float = 0.0, seed: int = 0) -> None:
        self._error = error
        self._chance = random.Random(seed)  # noqa: S311  errors are injected, not secrets
        self._mean = 64.0
        self._means: dict[str, float] = {}

    def place(self, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> Placement | None:
        """The cheaper way; a conversation's cache stays where its last turn was answered, and is moved with it."""
        fitting = [each for each in fleet if each.decodes and (each.fits(turn.tokens) or each.name == home)]
        if not fitting:
            return None
        answer = self._predict(turn)
        decode = min(fitting, key=lambda each: self._alone(turn, each, answer))
        readers = [each for each in fleet if each.prefills and each.hands_over and each.fits(turn.prompt)]
        if not readers or not decode.hands_over or decode.held >= turn.prompt:
            return Placement(decode.name, decode.name)
        prefill = min(readers, key=lambda each: each.delay(turn.prompt - each.held))
        moved = prefill.delay(turn.prompt - prefill.held) + MOVE + answer * TOKEN
        return Placement(prefill.name if moved < self._alone(turn, decode, answer) else decode.name, decode.name)

    def learn(self, turn: Turn, answered: int) -> None:
        """What it predicts from."""
        before = self._means.get(turn.conversation, self._mean)
        self._means[turn.conversation] = before + RECENT * (answered - before)
        self._mean += RECENT / 10 * (answered - self._mean)

    def forget(self, conversation: str) -> None:
        """Its answers count no more."""
        self._means.pop(conversation, None)

    def _alone(self, turn: Turn, replica: ReplicaView, answer: float) -> float:
        """What it costs to read and answer here: its own time, and that of every stream it holds up meanwhile."""
        reading = replica.delay(max(0, turn.prompt - replica.held))
        return reading * (1 + replica.streams) + answer * TOKEN * (1 + replica.streams)

    def _predict(self, turn: Turn) -> float:
        expected = self._means.get(turn.conversation, self._mean)
        if self._chance.random() >= self._error:
            return expected
        return self._mean**2 / max(expected, 1.0) if abs(expected - self._mean) > 1.0 else 4.0 * expected
