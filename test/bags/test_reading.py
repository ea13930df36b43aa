"""Bags of others, bags of ours, bags cut short, and what is no bag."""
from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from bag_support import BEGIN, SECOND, made, said, turn, written

from pace_ros.bags import BagError, BagWriter, is_bag, read_messages
from pace_ros.bags.session import TURN
from pace_ros.bags.writing import Storage

PUBLIC = Path(__file__).resolve().parents[3] / 'shared/data/rosbags'
public = pytest.mark.skipif(not PUBLIC.is_dir(), reason='the public bags are not on this machine')
HELLOS = [f'Hello, world! {number}' for number in range(10)]


@public
@pytest.mark.parametrize(
    'name', ['talker_mcap', 'talker_mcap/talker.mcap', 'talker_sqlite3', 'talker_sqlite3/talker.db3'])
def test_a_real_recording_in_both_storages(name: str) -> None:
    messages = list(read_messages(PUBLIC / name))
    assert [each.message.data for each in messages if each.topic == '/topic'] == HELLOS
    assert [each.message.msg for each in messages if each.type == 'rcl_interfaces/msg/Log'] == [
        f"Publishing: '{hello}'" for hello in HELLOS]
    assert messages[0].received == pytest.approx(1585866235.1124, abs=1e-4)


@public
def test_a_split_bag_is_read_in_time_order() -> None:
    messages = list(read_messages(PUBLIC / 'wbag_mcap'))
    assert len(messages) == 6074
    times = [each.received for each in messages]
    assert times == sorted(times)
    assert Counter(each.topic for each in messages)['EEE'] == 804
    assert len(list(read_messages(PUBLIC / 'wbag_mcap', topics=['EEE', 'AAA']))) == 1608
    assert list(read_messages(PUBLIC / 'wbag_mcap', types=['std_msgs/msg/Int8'])) == []


@public
def test_a_missing_part_costs_only_that_part(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(PUBLIC / 'wbag_mcap', tmp_path / 'bag')
    (tmp_path / 'bag').chmod(0o755)
    (tmp_path / 'bag' / 'wbag_2.mcap').unlink()
    with caplog.at_level(logging.WARNING):
        assert 4000 < len(list(read_messages(tmp_path / 'bag'))) < 6074
    assert 'wbag_2.mcap is missing' in caplog.text


@public
@pytest.mark.parametrize('keep', [0.3, 0.6, 0.99])
def test_a_foreign_bag_cut_anywhere_gives_a_prefix(tmp_path: Path, keep: float) -> None:
    whole = (PUBLIC / 'wbag_mcap' / 'wbag_0.mcap').read_bytes()
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(whole[:int(len(whole) * keep)])
    everything = [each.message.data for each in read_messages(PUBLIC / 'wbag_mcap' / 'wbag_0.mcap')]
    try:
        saved = [each.message.data for each in read_messages(cut)]
    except BagError:
        saved = []  # before the end of its only chunk
    assert saved == everything[:len(saved)]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_what_was_flushed_survives_a_kill(tmp_path: Path, storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    writer = BagWriter(tmp_path / 'bag', storage=storage)
    writer.write('/turn', TURN, BEGIN, turn('u1')[2])
    writer.flush()
    writer.write('/turn', TURN, BEGIN + SECOND, turn('u2')[2])
    shutil.copytree(tmp_path / 'bag', tmp_path / 'killed')  # as the disk is at this moment
    with caplog.at_level(logging.WARNING):
        assert [each.message.utterance_id for each in read_messages(tmp_path / 'killed')] == ['u1']
    assert 'cut short' in caplog.text
    writer.close()
    assert [each.message.utterance_id for each in read_messages(tmp_path / 'bag')] == ['u1', 'u2']


def test_a_database_with_a_pending_log_beside_it(tmp_path: Path) -> None:
    written(tmp_path / 'bag', (0.0, turn('u1')), storage='sqlite3')
    file = tmp_path / 'bag' / 'bag.db3'
    connection = sqlite3.connect(file)
    connection.execute('PRAGMA journal_mode=WAL')
    connection.execute('INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)', (BEGIN + 1, turn('u2')[2]))
    connection.commit()
    shutil.copytree(tmp_path / 'bag', tmp_path / 'killed')
    connection.close()
    assert (tmp_path / 'killed' / 'bag.db3-wal').stat().st_size
    assert [each.message.utterance_id for each in read_messages(tmp_path / 'killed')] == ['u1', 'u2']


def test_a_bag_older_than_a_field_does_not_have_it(tmp_path: Path) -> None:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    from pace_ros.bags.definitions import Definition

    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg('string text\n', 'pace_msgs/msg/Utterance'))
    old = store.types['pace_msgs/msg/Utterance'](text='hello')
    with BagWriter(tmp_path / 'bag') as writer:
        kind = 'pace_msgs/msg/Utterance'
        writer.add_topic('/utterance', kind, definition_=Definition('string text\n', store.hash_rihs01(kind)))
        writer.write('/utterance', kind, BEGIN, bytes(store.serialize_cdr(old, kind)))
    [message] = read_messages(tmp_path / 'bag')
    assert message.message.text == 'hello'
    assert not hasattr(message.message, 'locale')


def test_a_message_that_is_none_is_left_out_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken = ('/turn', TURN, b'\x00\x01\x00\x00\x05')
    written(tmp_path / 'bag', (0.0, broken), (1.0, turn('u1')), (2.0, broken))
    with caplog.at_level(logging.WARNING):
        assert [each.message.utterance_id for each in read_messages(tmp_path / 'bag')] == ['u1']
    assert caplog.text.count('are left out') == 1


@pytest.mark.parametrize(('name', 'content', 'words'), [
    ('no.mcap', b'', 'is empty'),
    ('no.mcap', b'garbage' * 100, 'neither an MCAP file nor an SQLite database'),
    ('no.mcap', b'\x89MCAP0\r\n' + b'garbage' * 100, 'nothing that can be read'),
    ('no.db3', b'SQLite format 3\x00' + b'garbage' * 100, 'nothing that can be read'),
])
def test_what_is_no_bag_is_refused_in_a_sentence(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(BagError, match=words) as caught:
        list(read_messages(file))
    assert str(file) in str(caught.value)
    assert '\n' not in str(caught.value)


def test_no_bag_at_all(tmp_path: Path) -> None:
    with pytest.raises(BagError, match='does not exist'):
        list(read_messages(tmp_path / 'nothing'))
    with pytest.raises(BagError, match='no bag'):
        list(read_messages(tmp_path))


def test_metadata_that_cannot_be_read_does_not_matter(tmp_path: Path) -> None:
    written(tmp_path / 'bag', (0.0, said('hello')))
    (tmp_path / 'bag' / 'metadata.yaml').write_text('][')
    assert [each.message.text for each in read_messages(tmp_path / 'bag')] == ['hello']


def test_is_bag(tmp_path: Path) -> None:
    written(tmp_path / 'bag', (0.0, said('hello')))
    log = tmp_path / 'turns.jsonl'
    log.write_text('{}')
    assert is_bag(tmp_path / 'bag')
    assert is_bag(tmp_path / 'bag' / 'bag.mcap')
    assert not is_bag(tmp_path / 'nothing')
    assert not is_bag(log)
    assert not is_bag(tmp_path)


def test_float_fields_keep_nan(tmp_path: Path) -> None:
    data = made(TURN, ptfr=float('nan'), answer='云雀')
    written(tmp_path / 'bag', (0.0, ('/turn', TURN, data)))
    [message] = read_messages(tmp_path / 'bag')
    assert message.message.ptfr != message.message.ptfr
    assert message.message.answer == '云雀'


def test_a_bag_that_may_not_be_read_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / 'bag', (0.0, said('hello')))
    (tmp_path / 'cut').mkdir()

    def forbidden(_path: Path, *_arguments: object) -> object:
        raise PermissionError(13, 'Permission denied')

    with monkeypatch.context() as changed:
        changed.setattr(Path, 'open', forbidden)
        with pytest.raises(BagError, match=r'bag\.mcap cannot be read: Permission denied\.$'):
            list(read_messages(tmp_path / 'bag' / 'bag.mcap'))
    monkeypatch.setattr(Path, 'iterdir', forbidden)
    with pytest.raises(BagError, match=r'cut cannot be read: Permission denied\.$'):
        list(read_messages(tmp_path / 'cut'))


WITHOUT = """
import sys
for name in sys.argv[1].split(','):
    sys.modules[name] = None
from pathlib import Path
"""


def without(packages: str, code: str, *arguments: object) -> str:
    """What a process prints that lacks these packages."""
    done = subprocess.run([sys.executable, '-c', WITHOUT + code, packages, *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, check=True, env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)})
    return done.stdout


def test_only_a_bag_cut_short_needs_mcap(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'bag')
    writer.write('/turn', TURN, BEGIN, turn('u1')[2])
    writer.flush()
    shutil.copytree(tmp_path / 'bag', tmp_path / 'killed')
    writer.close()
    words = without('mcap', """
from pace_ros.bags import BagError, read_messages
print(len(list(read_messages(Path(sys.argv[2])))))
try:
    list(read_messages(Path(sys.argv[3])))
except BagError as error:
    print(error)
""", tmp_path / 'bag', tmp_path / 'killed')
    assert words.startswith('1\n')
    assert 'cut short' in words
    assert 'requirements/study.txt' in words


def test_names_of_topics_need_no_package_at_all() -> None:
    assert without('mcap,rosbags,numpy,yaml', """
from pace_ros.bags.session import resolved
print(resolved('turn', 'robot1'))
""") == '/robot1/turn\n'
