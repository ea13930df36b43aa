"""What the simulated robot makes of the names of gestures."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.turn import Content

RANGES = {  # rad; the URDF says the same
    'head_yaw': (-1.6, 1.6),
    'head_pitch': (-0.7, 0.7),
    'left_shoulder_pitch': (-2.0, 2.0),
    'left_shoulder_roll': (-0.3, 1.3),
    'left_elbow': (-0.1, 2.2),
    'right_shoulder_pitch': (-2.0, 2.0),
    'right_shoulder_roll': (-1.3, 0.3),
    'right_elbow': (-0.1, 2.2),
}
HEAD = ('head_yaw', 'head_pitch')
HEAD_HEIGHT = 1.2  # m, the head's axes above base_link


@dataclass(frozen=True)
class Keyframe:
    """Angles added to the posture (rad), ``after`` s from the gesture's beginning."""

    after: float
    angles: dict[str, float]


@dataclass(frozen=True)
class Motion:
    """A gesture; after ``duration`` s it is over and its joints go back to their posture."""

    content: Content
    keyframes: tuple[Keyframe, ...]
    duration: float

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints it moves."""
        return tuple(dict.fromkeys(name for frame in self.keyframes for name in frame.angles))


def _beat(side: str) -> Motion:
    out = {f'{side}_shoulder_pitch': -0.35, f'{side}_elbow': 0.6}
    dip = {f'{side}_shoulder_pitch': -0.2, f'{side}_elbow': 0.35}
    return Motion(Content.ANSWER, (Keyframe(0.0, out), Keyframe(0.45, dip)), 0.6)


MOTIONS = {
    'nod': Motion(Content.ACKNOWLEDGEMENT, (Keyframe(0.0, {'head_pitch': 0.22}),), 0.25),
    'think': Motion(  # a hand to the chin
        Content.FILLER,
        (Keyframe(0.0, {'right_shoulder_pitch': -0.8, 'right_shoulder_roll': 0.2, 'right_elbow': 2.0}),),
        4.0,
    ),
    'ponder': Motion(  # the other forearm raised
        Content.FILLER,
        (Keyframe(0.0, {'left_shoulder_pitch': -0.4, 'left_shoulder_roll': 0.3, 'left_elbow': 1.5}),),
        4.0,
    ),
    'beat_left': _beat('left'),
    'beat_right': _beat('right'),
}
