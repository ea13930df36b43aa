"""What can still be read of a recording that was cut short: no footer, no index, a torn last chunk."""
from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from pathlib import Path

from mcap.records import Channel, Chunk, Header, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinition, MessageDefinitionFormat
from rosbags.rosbag2.metadata import parse_qos

log = logging.getLogger(__name__)
_FORMATS = {'ros2msg': MessageDefinitionFormat.MSG, 'ros2idl': MessageDefinitionFormat.IDL}


class CutMcap:
    """An MCAP file read from its beginning until it tears; everything is kept in memory, in time order."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises NotRos2."""
        self._path = path
        self._schemas: dict[int, Schema] = {}
        self._connections: dict[int, Connection] = {}
        self._messages: list[tuple[int, int, bytes]] = []
        with path.open('rb') as file:
            try:
                for record in StreamReader(file, emit_chunks=True).records:
                    self._take(record)
            except NotRos2:
                raise
            except Exception as error:  # struct, lz4 and zstandard have errors of their own, none of them shared
                log.debug('%s tears: %r', path, error)
        self._messages.sort(key=lambda each: each[0])

    def _take(self, record: object) -> None:
        if isinstance(record, Header) and record.profile not in ('ros2', ''):
            raise NotRos2(f'{self._path} holds no ROS 2 messages: its profile is {record.profile!r}.')
        if isinstance(record, Chunk):
            for inner in breakup_chunk(record, validate_crc=True):
                self._take(inner)
        elif isinstance(record, Schema):
            self._schemas[record.id] = record
        elif isinstance(record, Channel):
            self._connections[record.id] = self._connection(record)
        elif isinstance(record, Message):
            self._messages.append((record.log_time, record.channel_id, record.data))

    def _connection(self, channel: Channel) -> Connection:
        schema = self._schemas.get(channel.schema_id)
        format_ = _FORMATS.get(schema.encoding if schema else '', MessageDefinitionFormat.NONE)
        return Connection(
            id=channel.id,
            topic=channel.topic,
            msgtype=schema.name if schema else '',
            msgdef=MessageDefinition(format_, schema.data.decode() if schema else ''),
            digest='',
            msgcount=0,
            ext=ConnectionExtRosbag2(
                channel.message_encoding, parse_qos(channel.metadata.get('offered_qos_profiles', ''))
            ),
            owner=self,
        )

    @property
    def connections(self) -> list[Connection]:
        """The topics, with the number of messages that could be saved."""
        counts: dict[int, int] = {}
        for _, channel, _data in self._messages:
            counts[channel] = counts.get(channel, 0) + 1
        return [each._replace(msgcount=counts.get(each.id, 0)) for each in self._connections.values()]

    def messages(self, connections: Collection[Connection]) -> Iterator[tuple[Connection, int, bytes]]:
        """Saved messages of some topics: topic, log time (ns), CDR."""
        wanted = {each.id: each for each in connections}
        for time, channel, data in self._messages:
            if channel in wanted:
                yield wanted[channel], time, data


class NotRos2(Exception):
    """The file is a sound MCAP file of something else."""
