"""Messages out of bags, decoded, without ROS."""
from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError
from rosbags.typesys.store import Typestore

from pace_ros.bags.definitions import UnknownType, installed_store, stored
from pace_ros.bags.storage import MCAP_MAGIC, SQLITE_MAGIC, STORAGES, Bag, BagError, Channel, Raw

__all__ = ['BagError', 'Decoder', 'Stamped', 'decode', 'is_bag', 'read_messages']

log = logging.getLogger(__name__)
Used = TypeVar('Used')


@dataclass(frozen=True)
class Stamped:
    """One recorded message.

    ``received`` is when the recorder heard it (s since the epoch), ``message`` an object with the fields of the ROS
    message as the bag defines it: a bag older than a field does not have it.
    """

    topic: str
    type: str
    received: float
    message: Any


def is_bag(path: Path) -> bool:
    """Whether this is a bag folder or a single storage file of one."""
    if path.is_dir():
        return (path / 'metadata.yaml').is_file() or any(file.suffix in STORAGES for file in path.iterdir())
    if not path.is_file():
        return False
    if path.suffix in STORAGES:
        return True
    with path.open('rb') as file:
        return file.read(16).startswith((MCAP_MAGIC, SQLITE_MAGIC))


def decode(raw: Raw) -> Any:
    """The message in some CDR bytes, by the bag's definition or, where that does not fit, by the installed one.

    Raises ValueError for bytes that are no such message and for a type nobody knows.
    """
    kind = raw.channel.type
    try:
        return _decoded(raw, stored(kind, raw.channel.definition))
    except ValueError:
        try:
            return _decoded(raw, installed_store(kind))
        except UnknownType:
            pass  # what the bag's own definition led to says more
        raise


def _decoded(raw: Raw, store: Typestore) -> Any:
    try:
        return store.deserialize_cdr(raw.data, raw.channel.type)
    except (SerdeError, TypesysError, AssertionError, LookupError, TypeError, OverflowError) as error:
        raise ValueError(f'not a {raw.channel.type}: {error}') from error


class Decoder:
    """Decodes the messages of one bag; one that is damaged is left out, with one warning a topic."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._warned: set[str] = set()

    def __call__(self, raw: Raw, use: Callable[[Any], Used]) -> Used | None:
        """What ``use`` makes of a message, None where it is damaged: ``use`` may raise ValueError or AttributeError."""
        try:
            return use(decode(raw))
        except (ValueError, AttributeError) as error:
            if raw.channel.topic not in self._warned:
                self._warned.add(raw.channel.topic)
                log.warning('%s: messages on %s are left out: %s', self._path, raw.channel.topic, error)
            return None


def read_messages(
    path: Path, *, topics: Collection[str] | None = None, types: Collection[str] | None = None
) -> Iterator[Stamped]:
    """The messages of a bag in time order, of some topics or types (``pace_msgs/msg/Turn``) or of all.

    MCAP and SQLite, split files, compressed or not; a bag that was cut short is read as far as it goes, with a warning,
    and messages that cannot be decoded are left out with one warning a topic. Raises BagError.
    """
    def wanted(channel: Channel) -> bool:
        return (topics is None or channel.topic in topics) and (types is None or channel.type in types)

    with Bag(path) as bag:
        decoder = Decoder(path)
        for raw in bag.messages(wanted):
            stamped = decoder(raw, partial(Stamped, raw.channel.topic, raw.channel.type, raw.time / 1e9))
            if stamped is not None:
                yield stamped
