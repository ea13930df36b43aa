"""The robot's body as far as a turn needs it: voice, gaze, gestures."""
from pace_ros.embodiment.audio import Audio
from pace_ros.embodiment.level import Level, Marker
from pace_ros.embodiment.sink import Chunk, Sink, open_sink
from pace_ros.embodiment.speaker import Cue, LocalSpeaker, PreferredSpeaker, Sentence, Speaker
from pace_ros.embodiment.tts import Pyttsx3Synthesizer, SpeechError, Synthesizer
from pace_ros.embodiment.voice import SpeechTrack, Voice

__all__ = [
           'Audio',
           'Chunk',
           'Cue',
           'Level',
           'LocalSpeaker',
           'Marker',
           'PreferredSpeaker',
           'Pyttsx3Synthesizer',
           'Sentence',
           'Sink',
           'Speaker',
           'SpeechError',
           'SpeechTrack',
           'Synthesizer',
           'Voice',
           'open_sink',
]
