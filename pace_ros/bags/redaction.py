"""Bags without a word of what was said, for robots whose `record.text` is off."""
from __future__ import annotations

from typing import Any

from pace_ros.bags.definitions import installed_store
from pace_ros.bags.session import FRAME, TURN, UTTERANCE

SPOKEN = {
    UTTERANCE: ('text', 'alternatives'),
    FRAME: ('text',),
    TURN: ('answer', 'scope'),
    'pace_msgs/msg/Onset': ('detail',),
}
WITHHELD = frozenset({
    'pace_msgs/msg/L2Traffic', 'pace_msgs/msg/AudioChunk', 'rcl_interfaces/msg/Log', 'std_msgs/msg/String',
    'hri_msgs/msg/LiveSpeech',
})


def without_text(kind: str, data: bytes) -> bytes | None:
    """A message without what was said, as the turn log leaves it out; None for one that is nothing else."""
    if kind in WITHHELD:
        return None
    if kind not in SPOKEN:
        return data
    store = installed_store(kind)
    message: Any = store.deserialize_cdr(data, kind)
    for name in SPOKEN[kind]:
        setattr(message, name, type(getattr(message, name))())
    if kind == TURN:  # further on, a server's words may echo the question
        message.reason = ':'.join(message.reason.split(':')[:2])
    return bytes(store.serialize_cdr(message, kind))


class TextPermission:
    """Whether words may be kept: as told (``keep``, ``omit``), or as the robot's node says (``auto``).

    A node that is there and has not said so yet keeps its words to itself; one that is not there after ``patience`` s
    forbids nothing. Times are monotonic (s).
    """

    def __init__(self, mode: str, *, now: float, patience: float = 3.0) -> None:
        self._said: bool | None = {'keep': True, 'omit': False}.get(mode)
        self._asks = mode == 'auto'
        self._present = False
        self._give_up = now + patience

    def look(self, *, present: bool) -> None:
        """Note whether the robot's node can be asked; one that comes anew is asked anew."""
        if self._asks and present and not self._present:
            self._said = None
        self._present = present

    def answered(self, *, keep: bool) -> None:
        """Note what the node says."""
        if self._asks:
            self._said = keep

    def settled(self, now: float) -> bool:
        """Whether it is known what holds."""
        return self._said is not None or (not self._present and now >= self._give_up)

    def keeps(self, now: float) -> bool:
        """Whether words may be kept now."""
        return self.settled(now) and self._said is not False
