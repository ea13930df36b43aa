"""Which command a motion belongs to."""
from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from pace_ros.embodiment.gestures import GestureBook
from pace_ros.observing.command import Command, Observation, observed
from pace_ros.observing.joint_motion import MotionOnset
from pace_ros.observing.joints import Joints, matches
from pace_ros.observing.settings import ObserverSettings
from pace_ros.observing.stops import Stops
from pace_ros.observing.waiting import Waiting
from pace_ros.turn import Modality

# An onset is known so much later at most (s): its rise is waited for, and the beginning of a gentle one lies behind.
HOLD = 0.4
AFTERMATH = 0.3  # s after its duration in which a gesture's joints may still be its own


@dataclass(frozen=True)
class _Held:
    """Joints that a gesture has for itself for a while (s, ROS time)."""

    joints: tuple[str, ...]
    begin: float
    end: float


class MotionAttribution(Waiting):
    """Commands of gaze and gesture that have not shown yet, and motions that are not attributed yet.

    A command comes into question for a motion of its joints that begins after ``least_latency`` and before its
    deadline, and not after its turn was stopped. A robot obeys its latest command as soon as that has reached the
    joints, which takes at most ``usual_latency``: a younger command therefore outweighs those older than that. Of
    several young ones the first is meant if they are of one turn; if not, the motion is attributed to none of them.
    A joint that was in motion at a command shows it within ``usual_latency`` or not at all.
    """

    def __init__(self, settings: ObserverSettings, book: GestureBook, joints: Joints, stops: Stops) -> None:
        super().__init__()
        self._settings = settings
        self._book = book
        self._joints = joints
        self._stops = stops
        self._motions: list[MotionOnset] = []
        self._held: deque[_Held] = deque(maxlen=64)
        self._rests: deque[float] = deque(maxlen=16)
        self._shown: deque[Command] = deque(maxlen=64)  # commands that have shown
        self._gestures: deque[Command] = deque(maxlen=64)  # whether or not they have

    def commanded(self, command: Command) -> None:
        """A look or a gesture was commanded."""
        self._pending.append(command)
        self._pending.sort(key=lambda each: each.stamp)
        if command.is_for(Modality.GESTURE):
            self._gestures.append(command)
        own = self._own_joints(command)
        if own:
            self._held.append(_Held(own, command.stamp, self._over(command) + AFTERMATH))

    def body_rests(self, time: float) -> None:
        """Whatever gesture was under way goes back to rest."""
        self._rests.append(time)

    def moved(self, motion: MotionOnset) -> None:
        """A joint has begun to move."""
        self._motions.append(motion)

    def decide(self, until: float) -> list[Observation]:
        """Attribute what began until then (s, ROS time), in order, and give up what is past its deadline."""
        due = sorted((each for each in self._motions if each.time <= until), key=lambda each: each.time)
        self._motions = [each for each in self._motions if each.time > until]
        told: list[Observation] = []
        for motion in due:
            told += self._attribute(motion)
        expired = [each for each in self._pending if until >= self._end(each)]
        return told + self.give_up(expired)

    # -- one motion -------------------------------------------------------------------------------------------------

    def _attribute(self, motion: MotionOnset) -> list[Observation]:
        causes = self._causes(motion)
        if not causes:
            return []
        turns = {each.turn_id for each in causes}
        cause = causes[0]
        why = ''
        if len(turns) > 1:
            why = f'{motion.joint} moved within {self._settings.motion.usual_latency} s of commands of two turns'
        elif self._recent_rests(motion, cause):
            why = f'{motion.joint} moved when a gesture before it was broken off'
        elif self._under_way(motion, cause):
            why = f'{motion.joint} was moved by a gesture of another turn'
        elif self._gaze_moves(motion, cause):
            why = f'{motion.joint} was already moving, and the gaze moves it too'
        if why:
            return self.give_up(causes, f'ambiguous: {why}')
        self._pending.remove(cause)
        self._shown.append(cause)
        detail = f'{motion.joint} {motion.start.value}, {abs(motion.speed):.2f} rad/s when detected'
        return [observed(cause, motion.since(cause.stamp + self._settings.motion.least_latency), detail)]

    def _causes(self, motion: MotionOnset) -> list[Command]:
        least, usual = self._settings.motion.least_latency, self._settings.motion.usual_latency
        fitting = [
            each for each in self._pending
            if self._shows(each, motion) and each.stamp + least <= motion.time <= each.stamp + self._deadline(each)
            and not self._stops.excludes(each, motion.time)
        ]
        young = [each for each in fitting if motion.time - each.stamp <= usual]
        return young or [each for each in fitting[-1:] if not self._outweighed(each, motion)]

    def _outweighed(self, command: Command, motion: MotionOnset) -> bool:
        """Whether a motion that does not follow the command at once has a likelier cause."""
        least = self._settings.motion.least_latency
        later = any(command.stamp < each.stamp <= motion.time - least and self._shows(each, motion)
                    for each in self._shown)
        return later or bool(self._joints.moving_at(command.stamp, [motion.joint]))

    def _recent_rests(self, motion: MotionOnset, cause: Command) -> bool:
        """Whether the motion may as well be the way back from a gesture that was broken off before the command."""
        least, usual = self._settings.motion.least_latency, self._settings.motion.usual_latency
        return cause.is_for(Modality.GESTURE) and not self._own_joints(cause) and any(
            rest <= cause.stamp and least <= motion.time - rest <= usual for rest in self._rests
        )

    def _under_way(self, motion: MotionOnset, cause: Command) -> bool:
        """Whether the motion may as well be a further stroke, or the end, of another turn's gesture."""
        return cause.is_for(Modality.GESTURE) and any(
            each.turn_id != cause.turn_id and each.stamp < cause.stamp and motion.time <= self._over(each)
            and self._shows(each, motion)
            and (self._own_joints(each) or not any(each.stamp <= rest <= cause.stamp for rest in self._rests))
            for each in self._gestures
        )

    def _gaze_moves(self, motion: MotionOnset, cause: Command) -> bool:
        """Whether a gesture has a joint of the gaze for itself that was in motion when it was commanded."""
        return (
            cause.is_for(Modality.GESTURE) and matches(motion.joint, self._settings.gaze.joints)
            and bool(self._joints.moving_at(cause.stamp, [motion.joint]))
        )

    def _over(self, gesture: Command) -> float:
        """When a gesture is over (s, ROS time); at once if nobody knows it."""
        name = gesture.onset.detail
        return gesture.stamp + (self._book.of(name).duration if name in self._book else 0.0)

    def _shows(self, command: Command, motion: MotionOnset) -> bool:
        own = self._own_joints(command)
        if own:
            return matches(motion.joint, own)
        if command.is_for(Modality.GAZE):
            return matches(motion.joint, self._settings.gaze.joints) and not self._is_held(motion)
        return self._is_gesture_joint(motion.joint) and not self._is_held(motion)

    def _is_gesture_joint(self, joint: str) -> bool:
        gaze, gesture = self._settings.gaze.joints, self._settings.gesture.joints
        return matches(joint, gesture) and not matches(joint, gaze)

    def _is_held(self, motion: MotionOnset) -> bool:
        return any(each.begin <= motion.time <= each.end and matches(motion.joint, each.joints) for each in self._held)

    def _own_joints(self, command: Command) -> tuple[str, ...]:
        """The joints a gesture has for itself; () for a look, and for a gesture that shows in any of the others."""
        name = command.onset.detail
        if not command.is_for(Modality.GESTURE) or name not in self._book:
            return ()
        return self._book.of(name).joints

    def _forget(self) -> None:
        self._motions.clear()
        for past in (self._held, self._rests, self._shown, self._gestures):
            past.clear()

    # -- deadlines --------------------------------------------------------------------------------------------------

    def _deadline(self, command: Command) -> float:
        return (self._settings.gaze if command.is_for(Modality.GAZE) else self._settings.gesture).deadline

    def _end(self, command: Command) -> float:
        return min(command.stamp + self._deadline(command), self._stops.of(command)[0] + self._stops.margin)

    def _reason(self, command: Command) -> str:
        stopped, why = self._stops.of(command)
        patterns = self._own_joints(command)
        names = [
            each for each in self._joints.names()
            if (matches(each, patterns) if patterns else matches(each, self._settings.gaze.joints)
                if command.is_for(Modality.GAZE) else self._is_gesture_joint(each))
        ]
        if math.isinf(self._joints.latest):
            return 'no joint_states at all'
        if not names:
            return 'none of its joints is in joint_states'
        if self._joints.latest < command.stamp:
            return f'no joint_states for {command.stamp - self._joints.latest:.1f} s before it'
        if stopped + self._stops.margin <= command.stamp + self._deadline(command):
            return f'{why} {max(0.0, stopped - command.stamp):.2f} s after it, before any motion'
        moving = self._joints.moving_at(command.stamp, names)
        if moving:
            return f'already moving: {", ".join(moving)}'
        return f'no motion within {self._deadline(command):g} s'
