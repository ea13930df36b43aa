"""Ground truth: when a command first shows in the noise-free motion, or that it does not."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from pace_ros.simulation.joint import Change
from pace_ros.simulation.plan import Plan, first_departure, resting
from pace_ros.simulation.settings import Perceptible
from pace_ros.turn import Content, Modality


@dataclass(frozen=True)
class Command:
    """What the robot was told; ``stamp`` (s) is the message's, ``name`` says what it was."""

    modality: Modality
    name: str
    stamp: float
    turn_id: str = ''
    content: Content = Content.UNKNOWN


class NotUnderstood(ValueError):
    """A command the robot cannot carry out; the message is a sentence that says why."""


@dataclass(frozen=True)
class Shown:
    """The instant (s) from which the command can be perceived; NaN if it never can, and ``detail`` says why."""

    command: Command
    instant: float
    detail: str


@dataclass
class _Sign:
    """What one joint shows of a command: perceptible from ``instant`` on, in this direction."""

    instant: float = math.inf
    direction: float = 0.0
    reference: Plan | None = None


@dataclass
class _Watch:
    command: Command
    moving: dict[str, Plan]
    waiting: set[str]
    signs: dict[str, _Sign] = field(default_factory=dict)
    superseded: bool = False


class GroundTruth:
    """Watches commands until their first perceptible motion.

    A joint that is at rest when the command comes shows it as soon as it moves perceptibly from the instant the command
    takes effect; one that is in motion already, as soon as its velocity departs as much from that motion.
    """

    def __init__(self, perceptible: Perceptible) -> None:
        self._perceptible = perceptible
        self._open: dict[int, _Watch] = {}

    def watch(self, number: int, command: Command, at: float, plans: dict[str, Plan]) -> None:
        """Begin with a command that comes ``at`` this instant (s) and drives joints that are in these motions."""
        moving = {name: plan for name, plan in plans.items() if abs(plan.at(at)[1]) >= self._perceptible.speed}
        self._open[number] = _Watch(command, moving, set(plans))

    def changed(self, joint: str, change: Change) -> None:
        """A joint has been steered anew."""
        for number, watch in self._open.items():
            if number == change.command and joint in watch.waiting:
                watch.waiting.discard(joint)
                watch.signs[joint] = self._sign(change, watch.moving.get(joint))
            elif joint in watch.signs and watch.signs[joint].instant > change.at:
                self._supersede(watch, joint, change)

    def dropped(self, joint: str, numbers: Iterable[int]) -> None:
        """These commands will not reach the joint."""
        for number in numbers:
            if number in self._open and joint in self._open[number].waiting:
                self._open[number].waiting.discard(joint)
                self._open[number].superseded = True

    def settle(self, now: float) -> list[Shown]:
        """What is known by now (s), in the order in which it was commanded."""
        shown = []
        for number, watch in list(self._open.items()):
            joint, sign = min(watch.signs.items(), key=lambda item: item[1].instant, default=('', _Sign()))
            if sign.instant <= now:
                already = ', already moving' if joint in watch.moving else ''
                shown.append(Shown(watch.command, sign.instant, f'{watch.command.name}: {joint}{already}'))
            elif sign.instant == math.inf and not watch.waiting:
                why = 'superseded' if watch.superseded else 'no perceptible motion'
                shown.append(Shown(watch.command, math.nan, f'{watch.command.name}: {why}'))
            else:
                continue
            del self._open[number]
        return shown

    def _sign(self, change: Change, motion: Plan | None) -> _Sign:
        position = change.after.at(change.at)[0] if motion is None else motion.target
        way = change.after.target - position
        if abs(way) < max(self._perceptible.angle, 1e-9):
            return _Sign()
        reference = motion or resting(change.at, position)
        instant = first_departure(change.after, reference, change.at, self._perceptible.speed)
        return _Sign(instant, math.copysign(1.0, way), reference)

    def _supersede(self, watch: _Watch, joint: str, change: Change) -> None:
        """Another command came before this one could show: what goes the same way still shows it."""
        sign = watch.signs[joint]
        if sign.reference is None:
            return
        way = change.after.target - change.after.at(change.at)[0]
        sign.instant = math.inf
        if way * sign.direction > 0:
            sign.instant = first_departure(change.after, sign.reference, change.at, self._perceptible.speed)
        watch.superseded = sign.instant == math.inf
