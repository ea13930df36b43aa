"""Which topics belong to a session of one robot."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

INPUTS = ('utterance', 'user_speaking', 'speaker_position')
OUTPUTS = ('answer', 'filler', 'onset', 'turn', 'speech_state', 'controller_state', 'gaze_target', 'gesture')
BODY = ('joint_states', 'audio_level', 'ground_truth', 'l2_traffic')
COMMON = ('/diagnostics', '/parameter_events', '/rosout', '/clock')
SESSION = (*INPUTS, *OUTPUTS, *BODY, *COMMON)
UTTERANCE, TURN, FRAME = 'pace_msgs/msg/Utterance', 'pace_msgs/msg/Turn', 'pace_msgs/msg/ResponseFrame'
SPEECH = 'pace_msgs/msg/SpeechState'


def resolved(name: str, namespace: str) -> str:
    """The full name of a topic in a robot's namespace; one that begins with a slash is full already."""
    return name if name.startswith('/') else '/' + '/'.join(filter(None, (namespace.strip('/'), name)))


@dataclass(frozen=True)
class Choice:
    """What to record: a session's topics in ``namespace``, or ``topics`` alone, and ``also`` these; or ``everything``.

    The robot's voice (``speech_audio``) is no part of a session: at 32 kB/s and more it is recorded on request.
    """

    namespace: str = ''
    topics: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    everything: bool = False

    def has(self, topic: str) -> bool:
        """Whether a topic is to be recorded."""
        if self.everything:
            return not any(part.startswith('_') for part in topic.split('/'))  # hidden, as those of actions are
        return topic in self._names(self.topics or SESSION) or topic in self._names(self.also)

    def is_input(self, topic: str) -> bool:
        """Whether whoever publishes it may come only for a moment, so that it is subscribed to before that."""
        return self.has(topic) and (topic in self._names(INPUTS) or topic in self._names((*self.topics, *self.also)))

    def tells(self, topic: str) -> bool:
        """Whether hearing this topic means that a session is heard; every node has the common ones."""
        return self.has(topic) and topic not in COMMON

    def _names(self, names: Iterable[str]) -> set[str]:
        return {resolved(name, self.namespace) for name in names}
