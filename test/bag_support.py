"""Messages by hand for the tests of bags."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from pace_ros.bags.definitions import installed_store
from pace_ros.bags.session import FRAME, TURN, UTTERANCE
from pace_ros.bags.storage import Bag
from pace_ros.bags.writing import BagWriter, Storage

SECOND = 1_000_000_000
BEGIN = 1_800_000_000 * SECOND


def example(kind: str, store: Typestore | None = None) -> Any:
    """A message of a type, as installed or as ``store`` defines it, with every field at its zero."""
    store = store or installed_store(kind)
    values: dict[str, Any] = {}
    for name, (node, content) in store.fielddefs[kind][1]:
        if node == 1:
            values[name] = '' if content[0] == 'string' else content[0] == 'x'
            if content[0].startswith(('int', 'uint', 'float', 'byte', 'char')):
                values[name] = 0.0 if content[0].startswith('float') else 0
        elif node == 2:
            values[name] = nested(store, content)
        else:
            numbers = content[0][0] == 1 and content[0][1][0] != 'string'
            values[name] = np.array([], dtype=content[0][1][0]) if numbers else []
    return store.types[kind](**values)


def nested(store: Any, kind: str) -> Any:
    values = {}
    for name, (node, content) in store.fielddefs[kind][1]:
        values[name] = nested(store, content) if node == 2 else ('' if content[0] == 'string' else 0)
    return store.types[kind](**values)


def made(type_: str, /, **fields: Any) -> bytes:
    """CDR bytes of a message with these fields."""
    message = example(type_)
    for name, value in fields.items():
        setattr(message, name, value)
    return bytes(installed_store(type_).serialize_cdr(message, type_))


def said(text: str, conversation: str = 'anna', utterance_id: str = '', **fields: Any) -> tuple[str, str, bytes]:
    return '/utterance', UTTERANCE, made(
        UTTERANCE, text=text, conversation_id=conversation, utterance_id=utterance_id, **fields)


def turn(utterance_id: str, conversation: str = 'anna', **fields: Any) -> tuple[str, str, bytes]:
    fields = {'turn_id': f't-{utterance_id}', 'outcome': 1, 'path': 3, 'ptfr': 0.5, **fields}
    return '/turn', TURN, made(TURN, utterance_id=utterance_id, conversation_id=conversation, **fields)


def frame(utterance_id: str, text: str, seq: int = 0, kind: int = 2) -> tuple[str, str, bytes]:
    return '/answer', FRAME, made(FRAME, turn_id=f't-{utterance_id}', text=text, seq=seq, kind=kind, path=3)


def written(path: Path, *messages: tuple[float, tuple[str, str, bytes]], storage: Storage = 'mcap') -> Path:
    """A bag with messages at times in s after its begin."""
    with BagWriter(path, storage=storage) as writer:
        for time, (topic, kind, data) in messages:
            writer.write(topic, kind, BEGIN + round(time * SECOND), data)
    return path


def content(path: Path) -> bytes:
    """All message bytes of a bag, uncompressed."""
    with Bag(path) as bag:
        return b''.join(raw.data for raw in bag.messages())
