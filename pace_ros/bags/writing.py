"""Bags as `ros2 bag` writes them: MCAP or SQLite, with the definitions and the offered QoS of every topic."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from pace_ros.bags.bag_error import BagError
from pace_ros.bags.definitions import Definition, definition

Storage = Literal['mcap', 'sqlite3']
VERSION: Literal[8, 9] = 9


class BagWriter:
    """A new bag. A context manager; what was flushed survives the end of the process and of the machine."""

    def __init__(self, path: Path, *, storage: Storage = 'mcap') -> None:
        """Create the folder and the file in it. Raises BagError."""
        self.path = path
        self.written = 0
        self._connections: dict[tuple[str, str], Connection] = {}
        try:
            self._writer = Writer(path, version=VERSION, storage_plugin=StoragePlugin[storage.upper()])
            self._writer.open()
            _names_onto_disk(path, path.parent)
        except WriterError as error:
            raise BagError(f'{path} exists already: name a new folder.') from error
        except OSError as error:
            raise BagError(f'{path} cannot be created: {error.strerror or error}.') from error

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add_topic(
        self, topic: str, kind: str, *, qos: Sequence[Qos] = (), definition_: Definition | None = None
    ) -> None:
        """Begin a topic; one known already is left as it is. Raises UnknownType without any definition."""
        if (topic, kind) not in self._connections:
            known = definition_ or definition(kind)
            self._connections[topic, kind] = self._writer.add_connection(
                topic, kind, msgdef=known.text, rihs01=known.digest, offered_qos_profiles=list(qos)
            )

    def write(self, topic: str, kind: str, time: int, data: bytes) -> None:
        """Append one message: log time (ns since the epoch) and CDR bytes. Raises BagError where the disk refuses."""
        self.add_topic(topic, kind)
        try:
            self._writer.write(self._connections[topic, kind], time, data)
        except Exception as error:
            raise self._refused(error) from error
        self.written += 1

    def flush(self) -> None:
        """Put everything onto the disk: what comes later may be lost, this is not. Raises BagError."""
        storage = self._writer.storage
        try:
            if isinstance(storage, McapWriter) and storage.chunk.msgs:
                storage.close_chunk()
                storage.bio.flush()
                os.fsync(storage.bio.fileno())
            elif isinstance(storage, Sqlite3Writer):
                storage.conn.commit()  # onto the disk, as SQLite does unless told otherwise
        except Exception as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """Write index and metadata. Raises BagError; what was flushed stays readable then."""
        if self._writer.storage is None:
            return
        try:
            self._writer.close()
            for file in self.path.iterdir():
                _onto_disk(file)
            _names_onto_disk(self.path, self.path.parent)
        except Exception as error:
            self.abandon()
            raise self._refused(error) from error

    def abandon(self) -> None:
        """Leave the bag as it is, without index and metadata."""
        try:
            self._writer.abort()
        except Exception as error:  # closing tries to write once more
            if self._writer.storage is not None:
                raise self._refused(error) from error

    def _refused(self, error: Exception) -> BagError:
        words = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        return BagError(f'{self.path} cannot be written: {words}. What was written before is kept.')


def _onto_disk(path: Path) -> None:
    """Let a file survive the end of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _names_onto_disk(*folders: Path) -> None:
    """The same for the names in folders, where the file system and its permissions allow it."""
    for folder in folders:
        with contextlib.suppress(OSError):
            _onto_disk(folder)
