"""Every joint of the robot, as they appear."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from pace_ros.clock import Forward
from pace_ros.observing.joint_motion import JointMotion, MotionOnset
from pace_ros.observing.settings import Motion


def matches(joint: str, patterns: Iterable[str]) -> bool:
    """Whether one of the shell patterns fits the joint's name."""
    return any(fnmatchcase(joint, pattern) for pattern in patterns)


class Joints:
    """A motion detector for each joint that has been heard of."""

    def __init__(self, settings: Motion) -> None:
        self._settings = settings
        self._motions: dict[str, JointMotion] = {}
        self._time = Forward()

    @property
    def latest(self) -> float:
        """The youngest stamp (s, ROS time), minus infinity before the first."""
        return self._time.now

    def forget(self) -> None:
        """The clock was set back: forget what moved when."""
        self._time = Forward()
        for motion in self._motions.values():
            motion.forget()

    def update(self, time: float, names: Sequence[str], positions: Sequence[float]) -> list[MotionOnset]:
        """Take the positions (rad) at ``time`` (s); names without a position are passed over."""
        self._time.goes_on(time)
        onsets = []
        for name, position in zip(names, positions, strict=False):
            if name not in self._motions:
                self._motions[name] = JointMotion(name, self._settings)
            onset = self._motions[name].update(time, position)
            if onset is not None:
                onsets.append(onset)
        return onsets

    def names(self) -> list[str]:
        """Every joint heard of."""
        return list(self._motions)

    def moving_at(self, time: float, names: Iterable[str]) -> list[str]:
        """Those of the joints that were in motion then."""
        return [name for name in names if name in self._motions and self._motions[name].moving_at(time)]
