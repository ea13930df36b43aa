"""Time-optimal motion of one joint to a target under limits of speed and acceleration, in closed form."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """Constant acceleration from ``start`` (s) on: position (rad), velocity (rad/s), acceleration (rad/s^2)."""

    start: float
    position: float
    velocity: float
    acceleration: float


@dataclass(frozen=True)
class Plan:
    """A motion in segments of constant acceleration; the last one rests on ``target``."""

    segments: tuple[Segment, ...]

    @property
    def target(self) -> float:
        """Where it ends (rad)."""
        return self.segments[-1].position

    @property
    def end(self) -> float:
        """When it ends (s)."""
        return self.segments[-1].start

    def at(self, time: float) -> tuple[float, float]:
        """Position (rad) and velocity (rad/s); before its start, those of its start."""
        segment = next((each for each in reversed(self.segments) if each.start <= time), self.segments[0])
        span = max(0.0, time - segment.start)
        return (
            segment.position + segment.velocity * span + segment.acceleration * span**2 / 2,
            segment.velocity + segment.acceleration * span,
        )


def resting(time: float, position: float) -> Plan:
    """No motion at all."""
    return Plan((Segment(time, position, 0.0, 0.0),))


def stopping_point(position: float, velocity: float, acceleration: float) -> float:
    """Where a joint that brakes now comes to rest (rad)."""
    return position + velocity * abs(velocity) / (2 * acceleration)


def reaching(time: float, state: tuple[float, float], target: float, top: float, acceleration: float) -> Plan:
    """The quickest motion from ``state`` (position, velocity) at ``time`` to rest on ``target``.

    The speed stays below ``top`` (rad/s; the velocity of ``state`` must too).
    """
    position, velocity = state
    ahead = target - stopping_point(position, velocity, acceleration)
    direction = math.copysign(1.0, ahead)
    along = direction * velocity  # seen in the direction of the coming acceleration; may be negative
    distance = direction * (target - position)
    peak = min(top, math.sqrt(max(0.0, acceleration * distance + along**2 / 2)))
    cruise = max(0.0, distance - (2 * peak**2 - along**2) / (2 * acceleration))
    spans = (max(0.0, peak - along) / acceleration, cruise / top, peak / acceleration)
    segments = []
    for span, rate in zip(spans, (acceleration, 0.0, -acceleration), strict=True):
        if span <= 0:
            continue
        segments.append(Segment(time, position, velocity, direction * rate))
        time += span
        position += velocity * span + direction * rate * span**2 / 2
        velocity += direction * rate * span
    return Plan((*segments, Segment(time, target, 0.0, 0.0)))


def first_departure(plan: Plan, reference: Plan, since: float, speed: float) -> float:
    """First instant from ``since`` on at which the two velocities differ by ``speed``; infinite if they never do."""
    for begin, end in _spans(plan, reference, since):
        first = plan.at(begin)[1] - reference.at(begin)[1]
        slope = _acceleration(plan, begin) - _acceleration(reference, begin)
        if abs(first) >= speed:
            return begin
        if slope:
            crossing = begin + (math.copysign(speed, slope) - first) / slope
            if crossing <= end:
                return crossing
    return math.inf


def _spans(plan: Plan, reference: Plan, since: float) -> Iterator[tuple[float, float]]:
    starts = {each.start for each in (*plan.segments, *reference.segments) if each.start > since}
    edges = [since, *sorted(starts), math.inf]
    yield from itertools.pairwise(edges)


def _acceleration(plan: Plan, time: float) -> float:
    segment = next((each for each in reversed(plan.segments) if each.start <= time), None)
    return segment.acceleration if segment else 0.0
