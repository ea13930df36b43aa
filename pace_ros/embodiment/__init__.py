"""The robot's body as far as a turn needs it: voice, and what it looks at."""
from pace_ros.embodiment.audio import Audio
from pace_ros.embodiment.sink import Sink, open_sink
from pace_ros.embodiment.tts import Pyttsx3Synthesizer, SpeechError, Synthesizer
from pace_ros.embodiment.voice import SpeechTrack, Voice

__all__ = ['Audio', 'Pyttsx3Synthesizer', 'Sink', 'SpeechError', 'SpeechTrack', 'Synthesizer', 'Voice', 'open_sink']
