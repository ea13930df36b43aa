"""What one voice says, from what a recogniser and a voice activity detector tell of it."""
from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

OLDEST_END = 10.0  # s: a voice that fell silent longer ago than this had fallen silent after something else


@dataclass(frozen=True)
class Heard:
    """One hypothesis or, unless ``partial``, what was said. ``speech_end`` is in s of ROS time, None where unknown."""

    text: str
    utterance_id: str
    partial: bool
    speech_end: float | None = None


class VoiceTrack:
    """Gives the hypotheses and the final text of one utterance the same identifier, and finds its end of speech.

    That end is the voice's last falling edge, if it belongs to this utterance: an edge before the voice rose anew
    without any hypothesis in between was noise.
    """

    def __init__(self, new_id: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._new_id = new_id
        self._utterance_id = ''
        self._fell: float | None = None
        self.is_speaking = False

    def speaking(self, now: float, *, active: bool) -> None:
        """Voice activity at a ROS time (s); repetitions change nothing."""
        if active == self.is_speaking:
            return
        self.is_speaking = active
        if not active:
            self._fell = now
        elif not self._utterance_id:
            self._fell = None

    def recognised(self, final: str, incremental: str, now: float) -> Heard | None:
        """A recogniser's message at a ROS time (s); None where it says nothing."""
        final, incremental = final.strip(), incremental.strip()
        if not (final or incremental):
            return None
        utterance_id = self._utterance_id = self._utterance_id or self._new_id()
        if not final:
            return Heard(incremental, utterance_id, partial=True)
        end = self._fell if self._fell is not None and 0.0 <= now - self._fell <= OLDEST_END else None
        self._utterance_id, self._fell = '', None
        return Heard(final, utterance_id, partial=False, speech_end=end)
