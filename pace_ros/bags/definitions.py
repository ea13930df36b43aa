"""Message definitions: from the installed packages, the package's own, or rosbags' collection, in this order."""
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat, Nodetype
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

SEPARATOR = '=' * 80 + '\n'


class UnknownType(ValueError):
    """No definition of a message type can be found; the message names it."""


@dataclass(frozen=True)
class Definition:
    """One message type: its text with all it is made of, comments included, and its REP 2011 hash."""

    text: str
    digest: str


def own_folder() -> Path:
    """Where the source tree keeps the project's own message files."""
    return Path(__file__).resolve().parents[2] / 'pace_msgs' / 'msg'


def message_file(kind: str) -> Path | None:
    """The .msg file of a type like ``std_msgs/msg/Header``, if one is installed."""
    package, _, name = kind.partition('/msg/')
    prefixes = [Path(each) for each in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if each]
    places = [prefix / 'share' / package / 'msg' for prefix in prefixes]
    if package == 'pace_msgs':
        places.append(own_folder())
    return next((file for place in places if (file := place / f'{name}.msg').is_file()), None)


@lru_cache
def _common() -> Typestore:
    return get_typestore(Stores.ROS2_KILTED)


def _parts(description: Any) -> set[str]:
    """Names of the messages in one field's type."""
    node, content = description
    if node == Nodetype.NAME:
        return {content}
    return _parts(content[0]) if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else set()


def _fields(kind: str) -> Any:
    file = message_file(kind)
    if file is not None:
        return get_types_from_msg(file.read_text(encoding='utf-8'), kind)[kind]
    try:
        return _common().fielddefs[kind]
    except KeyError:
        raise UnknownType(f'{kind}: no definition of this message type is installed.') from None


@lru_cache(maxsize=512)
def installed_store(kind: str) -> Typestore:
    """A typestore that knows one type, as installed, and all it is made of. Raises UnknownType."""
    known: dict[str, Any] = {}
    open_ = [kind]
    while open_:
        name = open_.pop()
        if name not in known:
            known[name] = _fields(name)
            open_ += [part for _, description in known[name][1] for part in _parts(description)]
    store = get_typestore(Stores.EMPTY)
    store.register(known)
    return store


@lru_cache(maxsize=512)
def definition(kind: str) -> Definition:
    """The definition of an installed type as ROS 2 writes it into bags. Raises UnknownType."""
    store = installed_store(kind)
    generated, _ = store.generate_msgdef(kind, ros_version=2)
    first, *others = generated.split(SEPARATOR)
    texts = [_verbatim(kind) or first]
    for other in others:
        title, _, body = other.partition('\n')
        package, _, name = title.removeprefix('MSG: ').partition('/')
        texts.append(f'{title}\n{_verbatim(f"{package}/msg/{name}") or body}')
    return Definition(SEPARATOR.join(texts), store.hash_rihs01(kind))


def _verbatim(kind: str) -> str:
    file = message_file(kind)
    return file.read_text(encoding='utf-8').rstrip('\n') + '\n' if file else ''


@lru_cache(maxsize=512)
def stored(kind: str, written: MessageDefinition) -> Typestore:
    """A typestore for one type as a bag defines it; as installed where the bag says nothing. Raises UnknownType."""
    if written.format == MessageDefinitionFormat.NONE or not written.data.strip():
        return installed_store(kind)
    parse = get_types_from_msg if written.format == MessageDefinitionFormat.MSG else None
    store = get_typestore(Stores.EMPTY)
    try:
        store.register(parse(written.data, kind) if parse else get_types_from_idl(written.data))
    except TypesysError as error:
        raise UnknownType(f'{kind}: its definition in the bag cannot be read: {error}') from error
    return store
