from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache.cache_file import CacheFileError
from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import VirtualClock

START = 1_800_000_000.0
STAMP = '20270115T080000Z'  # START in UTC


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'l0.sqlite'


def opened(file: Path, *, fingerprint: str = 'e', dimension: int = 3, flat_limit: int = 1000) -> SemanticCache:
    return SemanticCache(
        dimension=dimension, capacity=500, half_life=10.0, clock=VirtualClock(wall=START), file=file,
        fingerprint=fingerprint, flat_limit=flat_limit,
    )


def filled(file: Path, count: int = 60) -> None:
    cache = opened(file)
    for number in range(count):
        entry = CacheEntry(f'q{number}', f'answer {number} ' * 20, 'en', (Source(f's{number % 3}', '1'),), START, None)
        assert cache.admit(entry, np.array([0.6, 0.8, 0.0], np.float32))
    cache.close()


def names(file: Path) -> set[str]:
    return {path.name for path in file.parent.iterdir()}


def starts_empty(file: Path, caplog: pytest.LogCaptureFixture, aside: str, **settings: object) -> str:
    """Open a file that must be set aside; returns what the log says."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        cache = opened(file, **settings)  # type: ignore[arg-type]
    assert len(cache) == 0
    axis = np.eye(cache._held._dimension, dtype=np.float32)[0]
    assert cache.admit(CacheEntry('new', 'a', 'en', (), START, None), axis)
    cache.close()
    assert aside in names(file)
    (record,) = caplog.records
    assert 'the cache starts empty' in record.message
    assert aside in record.message
    again = opened(file, **settings)  # type: ignore[arg-type]
    assert len(again) == 1
    again.close()
    return record.message


def test_a_closed_file_is_alone_with_its_lock(file: Path) -> None:
    filled(file)
    assert names(file) == {'l0.sqlite', 'l0.sqlite.lock'}


@pytest.mark.parametrize(
    'content', [b'not a database', b'x' * 100_000, b'SQLite format 3\0' + b'\xff' * 9000, b'PK\3\4']
)
def test_what_is_no_database_is_set_aside(file: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    file.write_bytes(content)
    starts_empty(file, caplog, f'l0.sqlite.damaged-{STAMP}')
    assert (file.parent / f'l0.sqlite.damaged-{STAMP}').read_bytes() == content


def test_an_empty_file_is_what_a_crash_at_the_very_first_leaves(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.touch()
    opened(file).close()
    assert caplog.records == []
    assert names(file) == {'l0.sqlite', 'l0.sqlite.lock'}


def test_a_second_damaged_file_does_not_overwrite_the_first(file: Path) -> None:
    for content in (b'first no database', b'second no database'):
        file.write_bytes(content)
        opened(file).close()
    assert (file.parent / f'l0.sqlite.damaged-{STAMP}').read_bytes() == b'first no database'
    assert (file.parent / f'l0.sqlite.damaged-{STAMP}-2').read_bytes() == b'second no database'


def test_another_program_s_database_is_set_aside(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with sqlite3.connect(file) as db:
        db.execute('CREATE TABLE poems (text)')
    db.close()
    assert 'meta' in starts_empty(file, caplog, f'l0.sqlite.damaged-{STAMP}')


def test_vectors_of_another_encoder_are_set_aside_naming_both(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(file)
    message = starts_empty(file, caplog, f'l0.sqlite.other-encoder-{STAMP}', fingerprint='other')
    assert "'e'" in message
    assert "'other'" in message


def test_vectors_of_another_length_are_set_aside(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(file)
    assert "not 'e' of 4" in starts_empty(file, caplog, f'l0.sqlite.other-encoder-{STAMP}', dimension=4)


def test_another_format_is_set_aside(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(file)
    change(file, "UPDATE meta SET value = '99' WHERE key = 'format'")
    assert 'format is 99, not 2' in starts_empty(file, caplog, f'l0.sqlite.other-format-{STAMP}')


def change(file: Path, statement: str) -> None:
    db = sqlite3.connect(file)
    with db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize('statement', [
    "UPDATE entry SET answer = 'other' WHERE id = 7",
    'UPDATE entry SET vector = (SELECT vector FROM entry WHERE id = 1) || vector WHERE id = 7',
    'UPDATE entry SET crc = crc + 1 WHERE id = 60',
    "UPDATE source SET source = 'z' WHERE entry = 7",
    'DELETE FROM source WHERE entry = 7',
    "UPDATE entry SET weight = 'heavy' WHERE id = 7",
    'DROP TABLE source',
    'ALTER TABLE entry DROP COLUMN reason',
])
def test_one_row_that_is_wrong_sets_the_whole_file_aside(
    file: Path, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    filled(file)
    change(file, statement)
    assert 'l0.sqlite.damaged' in starts_empty(file, caplog, f'l0.sqlite.damaged-{STAMP}')


def test_a_flipped_byte_anywhere_is_set_aside_or_harmless(file: Path) -> None:
    filled(file)
    whole, before = file.read_bytes(), content(file)
    dice = np.random.default_rng(3)
    aside = 0
    for place in [*range(0, 100, 7), *dice.integers(100, len(whole), 150)]:
        damaged = bytearray(whole)
        damaged[place] ^= int(dice.integers(1, 256))
        file.write_bytes(damaged)
        found = content(file)
        assert found in ({}, before), place
        aside += found == {}
    assert aside > 20


def content(file: Path) -> dict[str, object]:
    cache = opened(file)
    found = {
        each.entry.question: (each, cache._held.store.read(each.entry_id).vector.tolist())  # type: ignore[union-attr]
        for each in cache.entries()
    }
    exact = {question for question in found if cache._held.same(question, 'en') is not None}
    assert exact == found.keys()
    cache.close()
    return dict(found)


@pytest.mark.parametrize('share', [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_off_is_set_aside(file: Path, share: float) -> None:
    filled(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    cache = opened(file)
    assert len(cache) == 0
    cache.close()


def test_a_folder_in_its_place_is_refused(file: Path) -> None:
    file.mkdir()
    with pytest.raises(CacheFileError, match='folder'):
        opened(file)
    assert file.is_dir()


def test_a_place_that_cannot_be_written_is_refused_by_name(file: Path) -> None:
    (file.parent / 'plain').write_text('no folder')
    with pytest.raises(CacheFileError, match=r'plain.l0\.sqlite'):
        opened(file.parent / 'plain' / 'l0.sqlite')


def test_a_refused_file_is_not_locked(file: Path) -> None:
    file.mkdir()
    with pytest.raises(CacheFileError):
        opened(file)
    file.rmdir()
    opened(file).close()
