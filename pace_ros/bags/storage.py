"""The files of a bag and the raw messages in them, in time order, whatever the storage and however it ended."""
from __future__ import annotations

import heapq
import logging
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, cast

import yaml
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinition, Qos
from rosbags.rosbag2 import Reader

from pace_ros.bags.bag_error import BagError
from pace_ros.bags.database import finished_database

__all__ = ['Bag', 'BagError', 'Channel', 'Raw', 'Source', 'bag_files']

log = logging.getLogger(__name__)
MCAP_MAGIC, SQLITE_MAGIC = b'\x89MCAP0\r\n', b'SQLite format 3\x00'
STORAGES = {'.mcap': 'mcap', '.db3': 'sqlite3'}


@dataclass(frozen=True)
class Channel:
    """One topic of a bag; ``count`` messages of it are there."""

    topic: str
    type: str
    definition: MessageDefinition
    qos: tuple[Qos, ...]
    count: int = 0


@dataclass(frozen=True)
class Raw:
    """One message as it was recorded: log time in ns since the epoch, CDR bytes."""

    channel: Channel
    time: int
    data: bytes


class Source(Protocol):
    """Where messages come from: a storage file, or a folder of compressed ones."""

    @property
    def connections(self) -> list[Connection]:
        """The topics."""
        ...

    def messages(self, connections: Collection[Connection]) -> Iterator[tuple[Connection, int, bytes]]:
        """Messages in time order: topic, log time (ns), CDR."""
        ...


class Bag:
    """A bag open for reading: a folder with all its files, or a single storage file. A context manager.

    ``cut`` says that its recorder did not end it; ``storage`` is mcap or sqlite3.
    """

    def __init__(self, path: Path) -> None:
        """Open the bag. Raises BagError."""
        self.path = path
        self.cut = False
        self._stack = ExitStack()
        try:
            self._sources = self._open()
        except OSError as error:
            self._stack.close()
            raise BagError(f'{path} cannot be read: {error.strerror or error}.') from error
        except BaseException:
            self._stack.close()
            raise
        self._channels = [
            {id_: _channel(each) for each in source.connections for id_ in [_key(each)]} for source in self._sources
        ]

    def __enter__(self) -> Bag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def channels(self) -> list[Channel]:
        """The topics over all files, each once a type, by name."""
        found: dict[tuple[str, str], Channel] = {}
        for channel in (each for channels in self._channels for each in channels.values()):
            before = found.get((channel.topic, channel.type))
            found[channel.topic, channel.type] = replace(channel, count=channel.count + (before.count if before else 0))
        return [found[key] for key in sorted(found)]

    def messages(self, wanted: Callable[[Channel], bool] = lambda _channel: True) -> Iterator[Raw]:
        """The messages of the topics wanted, in time order; reading stops with a warning where a file is damaged."""
        streams = [
            self._stream(source, {key: channel for key, channel in channels.items() if wanted(channel)})
            for source, channels in zip(self._sources, self._channels, strict=True)
        ]
        return heapq.merge(*streams, key=lambda raw: raw.time)

    def _stream(self, source: Source, channels: dict[tuple[int, str], Channel]) -> Iterator[Raw]:
        connections = [each for each in source.connections if _key(each) in channels]
        if not connections:
            return
        try:
            for connection, time, data in source.messages(connections):
                yield Raw(channels[_key(connection)], time, bytes(data))
        except Exception as error:  # of the decompressor, the database, or struct: a damaged file has many faces
            self.cut = True
            log.warning('%s is damaged, what follows is not read: %s', self.path, error)

    def _open(self) -> list[Source]:
        if not self.path.exists():
            raise BagError(f'{self.path} does not exist.')
        files, metadata = bag_files(self.path)
        if not files:
            raise BagError(f'{self.path} is no bag: there is no .mcap or .db3 file in it.')
        self.storage = STORAGES.get(files[0].suffix) or metadata.get('storage_identifier', '')
        self.cut = self.path.is_dir() and not metadata
        if str(metadata.get('compression_mode') or 'none').lower() != 'none':
            return [self._whole(self.path)]
        return [self._file(file) for file in files]

    def _whole(self, path: Path) -> Source:
        reader = Reader(path)
        try:
            return cast(Source, self._stack.enter_context(reader))
        except Exception as error:
            raise BagError(f'{path} cannot be read: {error}') from error

    def _file(self, path: Path) -> Source:
        with path.open('rb') as file:
            begin = file.read(16)
        mcap, database = begin.startswith(MCAP_MAGIC), begin == SQLITE_MAGIC
        if not mcap and not database:
            what = 'neither an MCAP file nor an SQLite database' if begin else 'empty'
            raise BagError(f'{path} is {what}.')
        try:
            if database:
                folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
                return self._whole(finished_database(path, folder))
            return self._whole(path)
        except Exception as error:
            self.cut = True
            return self._salvaged(path, error) if mcap else self._refuse(path, error)

    def _salvaged(self, path: Path, reason: Exception) -> Source:
        try:
            from pace_ros.bags.salvage import CutMcap, NotRos2  # noqa: PLC0415  mcap is needed for nothing else
        except ImportError as error:
            raise BagError(f'{path} was cut short; to read it nevertheless, install the packages in '
                           f'requirements/study.txt: {error}') from error
        try:
            saved = CutMcap(path)
        except NotRos2 as error:
            raise BagError(str(error)) from None
        if not saved.connections:
            return self._refuse(path, reason)
        log.warning('%s was cut short: read as far as it goes', path)
        return saved

    def _refuse(self, path: Path, reason: Exception) -> Source:
        raise BagError(f'{path} holds nothing that can be read: {reason}') from reason


def bag_files(path: Path) -> tuple[list[Path], dict[str, Any]]:
    """The storage files of a bag in order, and its metadata (empty where it has none). Raises BagError."""
    if path.is_file():
        return [path], {}
    metadata = _metadata(path)
    named = [path / Path(each).name for each in metadata.get('relative_file_paths') or []]
    for missing in [file for file in named if not file.is_file()]:
        log.warning('%s is missing, what was in it is not read', missing)
    present = [file for file in named if file.is_file()]
    return present or sorted(file for file in path.iterdir() if file.suffix in STORAGES), metadata


def _metadata(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load((path / 'metadata.yaml').read_text(encoding='utf-8'))
        return dict(content['rosbag2_bagfile_information'])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError):
        log.warning('%s cannot be read, the files beside it are', path / 'metadata.yaml')
        return {}


def _key(connection: Connection) -> tuple[int, str]:
    return connection.id, connection.topic


def _channel(connection: Connection) -> Channel:
    extra = cast(ConnectionExtRosbag2, connection.ext)
    return Channel(
        connection.topic, connection.msgtype, connection.msgdef, tuple(extra.offered_qos_profiles), connection.msgcount
    )
