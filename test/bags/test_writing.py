"""Bags of ours in the hands of others."""
from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from bag_support import BEGIN, SECOND, said, turn, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Reader

from pace_ros.bags import BagError, BagWriter, read_messages
from pace_ros.bags.definitions import UnknownType, installed_store, own_folder
from pace_ros.bags.session import TURN
from pace_ros.bags.writing import Storage

KINDS = [f'pace_msgs/msg/{path.stem}' for path in sorted(own_folder().glob('*.msg'))]
FOREVER = QosTime(9223372036, 854775807)
LATCHED = Qos(QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, FOREVER, FOREVER,
              QosLiveliness.AUTOMATIC, FOREVER, avoid_ros_namespace_conventions=False)
WHOLE = {'uint8': (0, 2**8 - 1), 'uint16': (0, 2**16 - 1), 'uint32': (0, 2**32 - 1), 'int32': (-2**31, 2**31 - 1),
         'int16': (-2**15, 2**15 - 1)}


def values(store: Any, node: int, content: Any) -> st.SearchStrategy[Any]:
    """Any value of a field, by its declaration alone."""
    import numpy as np

    if node == 2:
        return messages(store, content)
    if node == 1:
        if content[0] == 'string':
            return st.text(st.characters(exclude_categories=['Cs'], exclude_characters='\0'), max_size=8)
        if content[0] == 'bool':
            return st.booleans()
        if content[0].startswith('float'):
            return st.floats(width=int(content[0][5:]), allow_nan=False)
        return st.integers(*WHOLE[content[0]])
    inner = st.lists(values(store, *content[0]), max_size=4)
    if content[0][0] == 1 and content[0][1][0] != 'string':
        return inner.map(lambda each: np.array(each, dtype=content[0][1][0]))
    return inner


def messages(store: Any, kind: str) -> st.SearchStrategy[Any]:
    return st.builds(store.types[kind], **{
        name: values(store, node, content) for name, (node, content) in store.fielddefs[kind][1]})


def same(one: Any, other: Any) -> bool:
    """Equal field by field, whoever decoded it."""
    if hasattr(one, 'tolist'):
        one = one.tolist()
    if hasattr(other, 'tolist'):
        other = other.tolist()
    if isinstance(one, (list, tuple, bytes)):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    names = [name for name in getattr(one, '__dataclass_fields__', ()) if name.islower() and not name.startswith('__')]
    return all(same(getattr(one, name), getattr(other, name)) for name in names) if names else bool(one == other)


@pytest.mark.parametrize('kind', KINDS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture,
                                                                HealthCheck.too_slow])
@given(data=st.data())
def test_every_message_of_ours_comes_back_and_an_independent_reader_agrees(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = installed_store(kind)
    sent = data.draw(st.lists(messages(store, kind), min_size=1, max_size=3))
    path = tmp_path_factory.mktemp('bags') / 'bag'
    written(path, *((float(number), ('/topic', kind, bytes(store.serialize_cdr(message, kind))))
                    for number, message in enumerate(sent)))
    ours = [each.message for each in read_messages(path)]
    with (path / 'bag.mcap').open('rb') as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        theirs = [decoded for _, _, _, decoded in reader.iter_decoded_messages()]
    assert len(ours) == len(theirs) == len(sent)
    for message, mine, other in zip(sent, ours, theirs, strict=True):
        assert same(message, mine)
        assert same(message, other)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_metadata_types_and_offered_qos_are_kept(tmp_path: Path, storage: Storage) -> None:
    with BagWriter(tmp_path / 'bag', storage=storage) as writer:
        writer.add_topic('/controller_state', 'pace_msgs/msg/ControllerState', qos=[LATCHED])
        writer.write('/turn', TURN, BEGIN, turn('u1')[2])
        writer.write('/turn', TURN, BEGIN + 2 * SECOND, turn('u2')[2])
    written_ = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert written_['version'] == 9
    assert written_['storage_identifier'] == storage
    assert written_['message_count'] == 2
    assert written_['duration']['nanoseconds'] == 2 * SECOND
    assert written_['starting_time']['nanoseconds_since_epoch'] == BEGIN
    with Reader(tmp_path / 'bag') as reader:
        state = next(each for each in reader.connections if each.topic == '/controller_state')
        assert state.ext.offered_qos_profiles == [LATCHED]
        assert state.digest.startswith('RIHS01_')


def test_a_bag_is_never_written_over(tmp_path: Path) -> None:
    written(tmp_path / 'bag', (0.0, said('hello')))
    with pytest.raises(BagError, match='exists already'):
        BagWriter(tmp_path / 'bag')


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagError, match='cannot be created'):
        BagWriter(tmp_path / 'file' / 'bag')


def test_a_type_without_definition(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag') as writer, pytest.raises(UnknownType, match='nowhere_msgs'):
        writer.add_topic('/x', 'nowhere_msgs/msg/Nothing')


def test_an_empty_bag_is_a_bag(tmp_path: Path) -> None:
    written(tmp_path / 'bag')
    assert list(read_messages(tmp_path / 'bag')) == []


FULL = """
import resource, sys
from pathlib import Path
from bag_support import BEGIN, turn
from pace_ros.bags import BagError, BagWriter
from pace_ros.bags.session import TURN
writer = BagWriter(Path(sys.argv[1]), storage=sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    for number in range(1000):
        writer.write('/turn', TURN, BEGIN + number, turn(f'u{number}')[2])
        writer.flush()
except BagError as error:
    print(error)
    writer.abandon()
    sys.exit(1)
"""


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_full_disk_is_said_and_what_was_written_is_kept(tmp_path: Path, storage: str) -> None:
    assert hasattr(resource, 'RLIMIT_FSIZE')
    done = subprocess.run([sys.executable, '-c', FULL, tmp_path / 'bag', storage], capture_output=True, text=True,
                          timeout=60, env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)}, check=False)
    assert done.returncode == 1, done.stderr
    assert 'cannot be written' in done.stdout
    assert 'Traceback' not in done.stderr
    kept = [each.message.utterance_id for each in read_messages(tmp_path / 'bag')]
    assert len(kept) > 20
    assert kept == [f'u{number}' for number in range(len(kept))]


@pytest.mark.parametrize('end', [BagWriter.flush, BagWriter.close])
def test_what_is_flushed_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[BagWriter], None]
) -> None:
    synced: dict[int, int] = {}

    def fsync(descriptor: int) -> None:
        state = os.fstat(descriptor)
        synced[state.st_ino] = state.st_size

    writer = BagWriter(tmp_path / 'bag')
    writer.write('/turn', TURN, BEGIN, turn('u1')[2])
    monkeypatch.setattr(os, 'fsync', fsync)
    end(writer)
    file = (tmp_path / 'bag' / 'bag.mcap').stat()
    assert synced[file.st_ino] == file.st_size > len(turn('u1')[2])
    writer.close()
