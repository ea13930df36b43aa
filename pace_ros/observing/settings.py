"""What the observer may be told: joints, thresholds, deadlines."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.settings import setting


@dataclass(frozen=True)
class GazeWatch:
    """Which motion shows where the robot looks."""

    joints: tuple[str, ...] = setting(('head_yaw', 'head_pitch'), 'Joints that move the gaze; shell patterns.',
                                      read_only=True)
    deadline: float = setting(1.5, 'A look is reported as not observed if no motion begins this long after its '
                              'command.', low=0.1, high=60.0, read_only=True)


@dataclass(frozen=True)
class GestureWatch:
    """Which motion shows a gesture."""

    joints: tuple[str, ...] = setting(('*',), 'Joints that make gestures, those of the gaze never among them; shell '
                                      'patterns. A gesture may name its own in the names_file.', read_only=True)
    deadline: float = setting(1.5, 'A gesture is reported as not observed if no motion begins this long after its '
                              'command.', low=0.1, high=60.0, read_only=True)
    names_file: str = setting('', 'Gestures with their joints and durations (YAML); empty: the packaged gestures.yaml.',
                              read_only=True)


@dataclass(frozen=True)
class Motion:
    """When a joint counts as moving, and how soon after a command it can."""

    min_speed: float = setting(0.05, 'Speed from which a motion is perceptible (rad/s).', low=0.001, high=10.0,
                               read_only=True)
    noise_factor: float = setting(5.0, "Motion must also be so many times faster than the joint's noise at rest.",
                                  low=1.0, high=100.0, read_only=True)
    least_latency: float = setting(0.01, 'No motion begins sooner after its command; one that does has another cause.',
                                   low=0.0, high=10.0, read_only=True)
    usual_latency: float = setting(0.25, 'A motion begins within this time of its command, if it can; when commands of '
                                   'two turns are so young, the motion is attributed to neither.', low=0.0, high=10.0,
                                   read_only=True)


@dataclass(frozen=True)
class Sound:
    """When speech counts as audible."""

    source: str = setting('level', 'level: topic audio_level (AudioLevel, from a player or a microphone); microphone: '
                          'topic microphone (AudioChunk).', choices=('level', 'microphone'), read_only=True)
    threshold: float = setting(-50.0, 'Level from which sound is audible (dB relative to full scale, rms).', low=-120.0,
                               high=0.0, read_only=True)
    noise_factor: float = setting(4.0, 'Sound must also be so many times louder than the noise floor.', low=1.0,
                                  high=1000.0, read_only=True)
    quiet: float = setting(0.15, 'Without markers, sound begins after at least so much quiet.', low=0.01, high=10.0,
                           read_only=True)
    early: float = setting(0.05, 'Without markers, sound may begin so much before it was expected to be audible.',
                           low=0.0, high=10.0, read_only=True)
    deadline: float = setting(3.0, 'Speech is reported as not observed if it is not heard this long after it should '
                              'be audible.', low=0.1, high=60.0, read_only=True)


@dataclass(frozen=True)
class ObserverSettings:
    """Everything the observer may be told."""

    gaze: GazeWatch = GazeWatch()
    gesture: GestureWatch = GestureWatch()
    motion: Motion = Motion()
    sound: Sound = Sound()
    stop_margin: float = setting(0.1, 'What begins so long after its turn was stopped is not attributed to that turn.',
                                 low=0.0, high=10.0, read_only=True)
