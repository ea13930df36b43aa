"""What can be set about the simulated robot."""
from __future__ import annotations

from dataclasses import dataclass, field

from pace_ros.settings import setting


@dataclass(frozen=True)
class Head:
    """Actuators of head_yaw and head_pitch. A stop takes ``delay`` plus ``velocity`` over ``acceleration``."""

    delay: float = setting(0.03, 'Time from a command to the first torque.', low=0.0, high=2.0)
    velocity: float = setting(1.8, 'Highest speed (rad/s).', low=0.01, high=20.0)
    acceleration: float = setting(30.0, 'Highest acceleration (rad/s^2).', low=0.01, high=500.0)


@dataclass(frozen=True)
class Arms:
    """Actuators of both arms."""

    delay: float = setting(0.04, 'Time from a command to the first torque.', low=0.0, high=2.0)
    velocity: float = setting(1.5, 'Highest speed (rad/s).', low=0.01, high=20.0)
    acceleration: float = setting(30.0, 'Highest acceleration (rad/s^2).', low=0.01, high=500.0)


@dataclass(frozen=True)
class Visitor:
    """Origin of the frame `visitor` in base_link; its axes are parallel to those of base_link."""

    x: float = setting(1.5, 'Ahead of the robot (m).', low=-20.0, high=20.0)
    y: float = setting(-0.4, 'To its left (m).', low=-20.0, high=20.0)
    z: float = setting(1.2, 'Above its base (m); the head is at 1.2.', low=-5.0, high=5.0)


@dataclass(frozen=True)
class Rest:
    """Where the head goes when nothing happens: off the visitor, so that the next look is a motion."""

    idle_after: float = setting(4.0, 'Time without a command or a sound before the head goes there.', low=0.1,
                                high=3600.0)
    yaw: float = setting(0.35, 'To the left (rad).', low=-1.5, high=1.5)
    pitch: float = setting(0.0, 'Down (rad). Level with the visitor, a look on receipt turns head_yaw alone, and '
                           'head_pitch tells the nod.', low=-0.6, high=0.6)


@dataclass(frozen=True)
class Sensors:
    """What joint_states shows of the true motion."""

    rate: float = setting(100.0, 'Samples a second.', low=1.0, high=1000.0)
    position_noise: float = setting(0.0005, 'Standard deviation (rad).', low=0.0, high=1.0)
    velocity_noise: float = setting(0.005, 'Standard deviation (rad/s).', low=0.0, high=1.0)
    seed: int = setting(1, 'Of the noise.', low=0, high=2**31 - 1)


@dataclass(frozen=True)
class Perceptible:
    """What counts as shown in the ground truth."""

    speed: float = setting(0.05, 'Speed at which a joint is seen to move (rad/s), about 3 degrees a second.',
                           low=0.0001, high=10.0)
    angle: float = setting(0.01, 'Motion smaller than this is not seen (rad), about half a degree.', low=0.0, high=1.0)
    amplitude: float = setting(0.005, 'Amplitude at which a sample is heard, as a share of full scale (-46 dB).',
                               low=0.00001, high=1.0)


@dataclass(frozen=True)
class Sound:
    """The silent loudspeaker."""

    latency: float = setting(0.01, 'Time from a sample handed over to it being heard.', low=0.0, high=2.0)
    period: float = setting(0.05, 'Time between two audio_level messages.', low=0.005, high=1.0)


@dataclass(frozen=True)
class SimRobot:
    """The simulated robot as a whole."""

    head: Head = field(default_factory=Head)
    arms: Arms = field(default_factory=Arms)
    visitor: Visitor = field(default_factory=Visitor)
    rest: Rest = field(default_factory=Rest)
    sensors: Sensors = field(default_factory=Sensors)
    perceptible: Perceptible = field(default_factory=Perceptible)
    sound: Sound = field(default_factory=Sound)
