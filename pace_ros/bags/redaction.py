"""Bags without a word of what was said, for robots whose `record.text` is off."""
from __future__ import annotations

from typing import Any

from pace_ros.bags.definitions import installed_store
from pace_ros.bags.session import FRAME, SPEECH, TURN, UTTERANCE

DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
SPOKEN = {
    UTTERANCE: ('text', 'alternatives'),
    FRAME: ('text',),
    TURN: ('answer', 'scope'),
    SPEECH: (),
    DIAGNOSTICS: (),
    'pace_msgs/msg/Onset': ('detail',),
}
WITHHELD = frozenset({
    'pace_msgs/msg/L2Traffic', 'pace_msgs/msg/AudioChunk', 'rcl_interfaces/msg/Log', 'std_msgs/msg/String',
    'hri_msgs/msg/LiveSpeech',
})


def without_text(kind: str, data: bytes) -> bytes | None:
    """A message without what was said, as the turn log leaves it out; None for one that is nothing else.

    Of diagnostics the levels, the names, the numbers and the beginnings of the messages are kept. Raises ValueError for
    bytes that are no such message.
    """
    if kind in WITHHELD:
        return None
    if kind not in SPOKEN:
        return data
    store = installed_store(kind)
    try:
        message: Any = store.deserialize_cdr(data, kind)
    except Exception as error:  # rosbags' reader has many words for bytes that it does not understand
        raise ValueError(f'not a {kind}: {error}') from error
    for name in SPOKEN[kind]:
        setattr(message, name, type(getattr(message, name))())
    # behind a colon come a server's words, which may echo the question
    if kind == TURN:
        message.reason = ':'.join(message.reason.split(':')[:2])
    elif kind == SPEECH:
        message.outcome = message.outcome.partition(':')[0]
    elif kind == DIAGNOSTICS:
        for status in message.status:
            status.message = status.message.partition(':')[0]
            for each in status.values:
                each.value = each.value if _plain(each.value) else ''
    return bytes(store.serialize_cdr(message, kind))


def _plain(value: str) -> bool:
    """Whether a value of diagnostics is a number, with or without a unit, or a truth."""
    number = value.removesuffix(' s').removesuffix(' ms').removesuffix(' %')
    try:
        float(number)
    except ValueError:
        return value in ('True', 'False')
    return True
