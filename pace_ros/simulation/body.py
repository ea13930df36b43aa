"""The simulated robot's head and arms: what gaze targets and gestures make of them."""
from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from pace_ros.simulation.joint import Joint, Layer, Limits
from pace_ros.simulation.motions import HEAD, HEAD_HEIGHT, MOTIONS, RANGES
from pace_ros.simulation.settings import SimRobot
from pace_ros.simulation.truth import Command, GroundTruth, NotUnderstood, Shown
from pace_ros.turn import Modality

BASE = 'base_link'
OWN = -1  # the number of what the robot does by itself
ARMS = tuple(name for name in RANGES if name not in HEAD)
Point = tuple[float, float, float]


class Body:
    """Eight joints. Instants are s on one clock that the caller owns and that only goes forward.

    The head holds a gaze, the arms hang. A gesture adds to that and ends the gesture before it on the same part, head
    or arms. Without a command for a while the head goes back to its rest pose.
    """

    def __init__(self, settings: SimRobot, time: float) -> None:
        self._settings = settings
        rest = {'head_yaw': settings.rest.yaw, 'head_pitch': settings.rest.pitch}
        self.joints = {name: Joint(name, self._limits(name), time, rest.get(name, 0.0)) for name in RANGES}
        self._rest: Mapping[str, float] = rest
        self._truth = GroundTruth(settings.perceptible)
        self._numbers = itertools.count()
        self._idle_at = math.inf

    def look(self, at: float, frame: str, point: Point, *, stamp: float, name: str = 'gaze target') -> None:
        """Turn the head to a point (m) in a frame. Raises NotUnderstood for a frame it does not know."""
        yaw, pitch = self._angles(frame, point)
        self.advance_to(at)
        number = self._begin(at, Command(Modality.GAZE, name, stamp), HEAD)
        self._drop(HEAD, Layer.POSTURE)
        for joint, angle in (('head_yaw', yaw), ('head_pitch', pitch)):
            self.joints[joint].command(at, Layer.POSTURE, angle, number)
        self.stay_awake(at)

    def gesture(self, at: float, name: str, *, stamp: float, turn_id: str = '', intensity: float = 1.0) -> None:
        """Make a gesture, its angles scaled by ``intensity`` (0..1). Raises NotUnderstood for an unknown name.

        ``rest`` ends what head and arms are doing, and moves the gaze no more than the others do.
        """
        self.advance_to(at)
        if name == 'rest':
            self._return(at, stamp, turn_id)
            return
        if name not in MOTIONS:
            raise NotUnderstood(f"There is no gesture '{name}'; there are {', '.join((*MOTIONS, 'rest'))}.")
        if not 0.0 <= intensity <= 1.0:  # NaN too
            raise NotUnderstood(f"Gesture '{name}' has intensity {intensity}; it must be from 0 to 1.")
        motion = MOTIONS[name]
        command = Command(Modality.GESTURE, f'gesture {name}', stamp, turn_id, motion.content)
        number = self._begin(at, command, motion.joints)
        self._end(at, HEAD if motion.joints[0] in HEAD else ARMS, keep=motion.joints)
        for frame in motion.keyframes:
            for joint, angle in frame.angles.items():
                self.joints[joint].command(at, Layer.GESTURE, angle * intensity, number, frame.after)
        for joint in motion.joints:
            self.joints[joint].command(at, Layer.GESTURE, 0.0, number, motion.duration)
        self.stay_awake(at + motion.duration)

    def stay_awake(self, at: float) -> None:
        """Something happens at this instant: the head does not go to rest before it has been quiet for a while."""
        when = at + self._settings.rest.idle_after
        self._idle_at = when if math.isinf(self._idle_at) else max(self._idle_at, when)

    def advance(self, now: float) -> list[Shown]:
        """Move on to this instant; returns the commands of which it is known by then when they showed."""
        self.advance_to(now)
        return self._truth.settle(now)

    def advance_to(self, now: float) -> None:
        """Let everything due until then take effect."""
        if self._idle_at <= now:
            for joint, angle in self._rest.items():
                self.joints[joint].command(self._idle_at, Layer.POSTURE, angle, OWN)
            self._idle_at = math.inf
        changes = [(joint.name, change) for joint in self.joints.values() for change in joint.advance(now)]
        for name, change in sorted(changes, key=lambda item: item[1].at):
            self._truth.changed(name, change)

    def _return(self, at: float, stamp: float, turn_id: str) -> None:
        moved = [name for name, joint in self.joints.items() if joint.gesturing()]
        # Whatever ends shows nothing new: it is no gesture's onset.
        number = self._begin(at, Command(Modality.UNKNOWN, 'gesture rest', stamp, turn_id), moved)
        self._drop(moved, Layer.GESTURE)
        for name in moved:
            self.joints[name].command(at, Layer.GESTURE, 0.0, number)
        self.stay_awake(at)

    def _begin(self, at: float, command: Command, names: tuple[str, ...] | list[str]) -> int:
        number = next(self._numbers)
        self._truth.watch(number, command, at, {name: self.joints[name].plan for name in names})
        return number

    def _end(self, at: float, names: tuple[str, ...], keep: tuple[str, ...]) -> None:
        """End the gesture on this part of the body; the joints to keep are driven on by the next one."""
        others = [name for name in names if name not in keep and self.joints[name].gesturing()]
        self._drop(names, Layer.GESTURE)
        for name in others:
            self.joints[name].command(at, Layer.GESTURE, 0.0, OWN)

    def _drop(self, names: tuple[str, ...] | list[str], layer: Layer) -> None:
        for name in names:
            self._truth.dropped(name, self.joints[name].drop(layer))

    def _angles(self, frame: str, point: Point) -> tuple[float, float]:
        visitor = self._settings.visitor
        origins = {BASE: (0.0, 0.0, 0.0), 'visitor': (visitor.x, visitor.y, visitor.z)}
        if frame not in origins:
            raise NotUnderstood(f"There is no frame '{frame}' to look at; there are {' and '.join(origins)}.")
        x, y, z = (origin + value for origin, value in zip(origins[frame], point, strict=True))
        if not math.isfinite(x + y + z):
            raise NotUnderstood(f'There is no looking at {point}.')
        return math.atan2(y, x), -math.atan2(z - HEAD_HEIGHT, math.hypot(x, y))

    def _limits(self, name: str) -> Limits:
        actuator = self._settings.head if name in HEAD else self._settings.arms
        return Limits(*RANGES[name], actuator.velocity, actuator.acceleration, actuator.delay)
