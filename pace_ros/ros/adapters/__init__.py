"""Interfaces of other packages, spoken where those are installed; without them nothing happens."""
from pace_ros.ros.adapters.gaze import LookAt, PointHead
from pace_ros.ros.adapters.motion import PlayMotion
from pace_ros.ros.adapters.tts import ActionSpeaker
from pace_ros.ros.adapters.voices import Voices

__all__ = ['ActionSpeaker', 'LookAt', 'PlayMotion', 'PointHead', 'Voices']
