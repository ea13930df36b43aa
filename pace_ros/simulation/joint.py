"""One actuated joint: commands take effect after its delay, motion keeps its limits."""
from __future__ import annotations

import enum
import heapq
import itertools
from dataclasses import dataclass, field

from pace_ros.simulation.plan import Plan, reaching, resting


@dataclass(frozen=True)
class Limits:
    """Range (rad), highest speed (rad/s) and acceleration (rad/s^2), and the delay of the actuator (s)."""

    lower: float
    upper: float
    velocity: float
    acceleration: float
    delay: float


class Layer(enum.Enum):
    """What a joint's target is the sum of: where the robot holds itself, and the gesture on top of that."""

    POSTURE = 'posture'
    GESTURE = 'gesture'


@dataclass(frozen=True, order=True)
class Setpoint:
    """A value of one layer (rad) that takes effect when ``due`` (s), on behalf of ``command``."""

    due: float
    order: int
    layer: Layer = field(compare=False)
    value: float = field(compare=False)
    command: int = field(compare=False)


@dataclass(frozen=True)
class Change:
    """A setpoint of ``command`` took effect ``at`` this instant: the joint is in the motion ``after`` it."""

    at: float
    command: int
    after: Plan


class Joint:
    """Moves as quickly as its limits allow to the sum of its layers; ``plan`` is the motion it is in."""

    def __init__(self, name: str, limits: Limits, time: float, posture: float = 0.0) -> None:
        self.name = name
        self.limits = limits
        self.plan = resting(time, self._clipped(posture))
        self._layers = {Layer.POSTURE: posture, Layer.GESTURE: 0.0}
        self._queue: list[Setpoint] = []
        self._order = itertools.count()

    def command(self, at: float, layer: Layer, value: float, command: int, after: float = 0.0) -> None:
        """Give a setpoint ``at`` this instant (s) that takes effect the delay and ``after`` later."""
        setpoint = Setpoint(at + self.limits.delay + after, next(self._order), layer, value, command)
        heapq.heappush(self._queue, setpoint)

    def drop(self, layer: Layer) -> set[int]:
        """Forget the layer's setpoints that have not taken effect; returns whose they were."""
        dropped = {each.command for each in self._queue if each.layer is layer}
        self._queue = [each for each in self._queue if each.layer is not layer]
        heapq.heapify(self._queue)
        return dropped

    def advance(self, now: float) -> list[Change]:
        """Let everything due until ``now`` take effect, in order."""
        changes = []
        while self._queue and self._queue[0].due <= now:
            changes.append(self._take(heapq.heappop(self._queue)))
        return changes

    def at(self, time: float) -> tuple[float, float]:
        """True position (rad) and velocity (rad/s) at or after the last advance."""
        return self.plan.at(time)

    def gesturing(self) -> bool:
        """Whether a gesture moves or holds this joint, or is about to."""
        return self._layers[Layer.GESTURE] != 0 or any(each.layer is Layer.GESTURE for each in self._queue)

    def _take(self, setpoint: Setpoint) -> Change:
        limits, state = self.limits, self.plan.at(setpoint.due)
        self._layers[setpoint.layer] = setpoint.value
        target = self._clipped(sum(self._layers.values()))
        self.plan = reaching(setpoint.due, state, target, limits.velocity, limits.acceleration)
        return Change(setpoint.due, setpoint.command, self.plan)

    def _clipped(self, target: float) -> float:
        return min(self.limits.upper, max(self.limits.lower, target))
