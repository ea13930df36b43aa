"""A stand-in for a humanoid robot: head, arms and loudspeaker with known timing."""
from pace_ros.simulation.body import Body
from pace_ros.simulation.encoders import Encoders
from pace_ros.simulation.loudspeaker import Loudspeaker
from pace_ros.simulation.settings import SimRobot
from pace_ros.simulation.truth import Command, NotUnderstood, Shown

__all__ = [
    'Body', 'Command', 'Encoders', 'Loudspeaker', 'NotUnderstood', 'Shown', 'SimRobot',
]
