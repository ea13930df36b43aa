"""The rate of conversations that a fleet can take at most when each stays where it is decoded."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.script import Script, TurnScript

BATCH = 8  # streams that share a step's base, as reckoned here
PREFILLERS, DECODERS = "the prefillers' time", "the decoders' time"
CACHES, SLOTS = "the decoders' KV caches", "the decoders' slots"


@dataclass(frozen=True)
class Nominal:
    """Conversations a second at which each is used up: prefillers by first prompts and their hand-over, before which no
    other one is read, decoders by everything else, KV caches and slots by conversations while they live. The least of
    them is the nominal capacity.
    """

    bounds: dict[str, float]

    @property
    def capacity(self) -> float:
        """Conversations a second."""
        return min(self.bounds.values())

    @property
    def binding(self) -> str:
        """What is used up first."""
        return min(self.bounds, key=lambda each: self.bounds[each])


def nominal(
    scripts: Sequence[Script], costs: Costs, *, prefillers: int, decoders: int, kv: int, slots: int
) -> Nominal:
    """Reckoned without any queue; ``kv`` tokens and ``slots`` a decoder."""
    first = fmean(_brought(each.turns[0].prompt, costs) for each in scripts)
    rest = fmean(_work(each, costs) for each in scripts)
    held = fmean(_held(each, costs) for each in scripts)
    lives = fmean(sum(_took(turn, costs) for turn in each.turns) for each in scripts)
    return Nominal({PREFILLERS: prefillers / max(first, 1e-12), DECODERS: decoders / max(rest, 1e-12),
                    CACHES: decoders * kv / max(held, 1e-12), SLOTS: decoders * slots / max(lives, 1e-12)})


def _brought(prompt: int, costs: Costs) -> float:
    """S until a prefiller can read the next prompt."""
    return costs.prefill(prompt) + costs.save(prompt) + costs.transfer(prompt) + costs.restore(prompt)


def _work(script: Script, costs: Costs) -> float:
    """S of a decoder: later prompts read behind what is held, and its part of the steps that answer."""
    reading = sum(costs.prefill(max(1, each.prompt - each.shared), each.shared) for each in script.turns[1:])
    return reading + sum(each.answer * costs.decode(BATCH, BATCH * each.prompt) / BATCH for each in script.turns)


def _held(script: Script, costs: Costs) -> float:
    """Tokens times s: after each turn they are held until the next one has been answered."""
    return sum(_took(each, costs) * (each.prompt + each.most) for each in script.turns)


def _took(turn: TurnScript, costs: Costs) -> float:
    """S of a turn with the think time before it."""
    reading = costs.prefill(max(1, turn.prompt - turn.shared), turn.shared)
    return turn.think + reading + turn.answer * costs.decode(BATCH, BATCH * turn.prompt)
