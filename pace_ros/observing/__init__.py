"""Which onsets a bystander could perceive, and which command each belongs to."""
from pace_ros.observing.command import Command, Observation
from pace_ros.observing.joint_motion import JointMotion, MotionOnset, Start
from pace_ros.observing.observer import Observer
from pace_ros.observing.settings import ObserverSettings
from pace_ros.observing.sound import SoundOnset, SoundOnsets

__all__ = [
    'Command', 'JointMotion', 'MotionOnset', 'Observation', 'Observer', 'ObserverSettings', 'SoundOnset', 'SoundOnsets',
    'Start',
]
