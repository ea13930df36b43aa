"""The robot's body behind the topics: other packages' interfaces where they are installed, our own voice otherwise."""
from __future__ import annotations

from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode

from pace_msgs import msg
from pace_ros.config import Config
from pace_ros.embodiment import LocalSpeaker, PreferredSpeaker, Pyttsx3Synthesizer, open_sink
from pace_ros.embodiment.gestures import GestureBook
from pace_ros.embodiment.speaker import DISTRUST
from pace_ros.places import or_packaged
from pace_ros.ros.adapters import ActionSpeaker, LookAt, PlayMotion, PointHead, Voices
from pace_ros.ros.publishers import Publishers
from pace_ros.settings import ConfigError


class Limbs:
    """Follows what the outlet publishes, and speaks. Made before the executor spins, or in its thread."""

    def __init__(
        self,
        node: LifecycleNode,
        config: Callable[[], Config],
        outlet: Publishers,
        *,
        on_utterance: Callable[[msg.Utterance], None],
        on_speaking: Callable[[bool], None],
    ) -> None:
        """Raises GestureError for a gesture file that cannot be used, ConfigError for a gesture it does not have."""
        now = config()
        names, wait = now.adapters, now.adapters.deadline
        book = read_gestures(now)
        self._tts = ActionSpeaker(node, names.tts, wait)
        sink = open_sink(now.speech.sink, now.speech.device, lambda: config().speech.latency, outlet.audio)
        local = LocalSpeaker(Pyttsx3Synthesizer(now.speech.rate), sink, outlet.level)
        audible = sink.name != 'null'  # a voice nobody hears stands in for none
        self.speaker = PreferredSpeaker(
            self._tts, self._tts.available, local, distrust=DISTRUST if audible else 0.0
        )
        self._gaze = (LookAt(node, names.look_at, wait), PointHead(node, names.point_head, wait))
        self._motion = PlayMotion(node, names.play_motion, wait, book, skip_planning=names.skip_planning)
        self._voices = Voices(node, names.voices, on_utterance, on_speaking)
        outlet.gaze_followers = [each.look for each in self._gaze]
        outlet.gesture_followers = [self._motion.play]

    def problems(self) -> dict[str, str]:
        """What is wrong with the other packages' servers, by what they do; empty: nothing."""
        all_of_them = {'gaze': ' '.join(each.problem for each in self._gaze).strip(), 'gesture': self._motion.problem}
        return {name: problem for name, problem in all_of_them.items() if problem}

    def relax(self) -> None:
        """Let go of gaze and motion, while the executor still spins."""
        for each in self._gaze:
            each.stop()
        self._motion.rest()

    def destroy(self) -> None:
        """Take every client and subscription down."""
        for part in (self._voices, self._motion, *self._gaze, self._tts):
            part.destroy()


def read_gestures(config: Config) -> GestureBook:
    """The gestures' motions. Raises GestureError, or ConfigError for a configured gesture that is not among them."""
    settings = config.gesture
    path = or_packaged(settings.names_file, 'gestures.yaml')
    book = GestureBook.read(path)
    wanted = {'gesture.nod': (settings.nod,), 'gesture.thinking': settings.thinking, 'gesture.beats': settings.beats}
    for parameter, names in wanted.items():
        for name in names:
            if name and name not in book:
                raise ConfigError(f"Parameter '{parameter}': {path} has no gesture '{name}'; it has "
                                  f'{", ".join(book.names())}.')
    return book
