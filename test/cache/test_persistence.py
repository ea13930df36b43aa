from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache import CacheEntry, CacheFileError, CacheRow, persistence

FINGERPRINT = 'string-0123456789abcdef-3-'


def row(
    question: str = 'How far?', *, weight: float = 1.25, expires: float | None = None, scope: str = 'en'
) -> CacheRow:
    vector = np.array([0.6, 0.8, 0.0], dtype=np.float32)
    return CacheRow(CacheEntry(question, f'answer to {question}', scope, ('s1', 's2'), 100.5, expires), vector, weight)


ROWS = [
    row(),
    row('多远？', weight=-3.75, expires=1e9 + 0.25, scope='zh'),
    row('a "b"\n\u2028🚗', weight=20833.123456789),
]


def plain(rows: list[CacheRow]) -> list[object]:
    return [(each.entry, each.vector.tolist(), each.weight) for each in rows]


def archive(**arrays: object) -> bytes:
    """An npz file: bytes as they are stored, everything else as JSON."""
    buffer = io.BytesIO()
    np.savez(buffer, **{
        name: value if isinstance(value, np.ndarray) else np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
        for name, value in arrays.items()
    })
    return buffer.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'l0.npz'


@pytest.mark.parametrize('rows', [ROWS, ROWS[:1], []])
def test_what_is_saved_is_loaded(path: Path, rows: list[CacheRow]) -> None:
    persistence.save(path, rows, FINGERPRINT)
    loaded = persistence.load(path, FINGERPRINT)
    assert plain(loaded) == plain(rows)
    assert all(each.vector.dtype == np.float32 for each in loaded)
    assert [each.name for each in path.parent.iterdir()] == ['l0.npz']


def test_an_absent_file_is_an_empty_cache(path: Path) -> None:
    assert persistence.load(path, FINGERPRINT) == []


def test_folders_are_made_on_saving(tmp_path: Path) -> None:
    path = tmp_path / 'a' / 'b' / 'l0.npz'
    persistence.save(path, ROWS, FINGERPRINT)
    assert len(persistence.load(path, FINGERPRINT)) == len(ROWS)


def test_vectors_of_another_encoder_are_refused_naming_both(path: Path) -> None:
    persistence.save(path, ROWS, 'token-other-384')
    with pytest.raises(CacheFileError) as refusal:
        persistence.load(path, FINGERPRINT)
    assert {str(path), 'token-other-384', FINGERPRINT} <= set(str(refusal.value).replace(',', '').split())


def test_another_format_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, 'FORMAT', 2)
    persistence.save(path, ROWS, FINGERPRINT)
    monkeypatch.undo()
    with pytest.raises(CacheFileError, match='format 2, not 1'):
        persistence.load(path, FINGERPRINT)


def test_a_file_cut_off_anywhere_is_refused(path: Path) -> None:
    persistence.save(path, ROWS, FINGERPRINT)
    whole = path.read_bytes()
    for length in range(0, len(whole), 5):
        path.write_bytes(whole[:length])
        with pytest.raises(CacheFileError, match='damaged'):
            persistence.load(path, FINGERPRINT)


def test_a_flipped_byte_anywhere_is_refused_or_harmless(path: Path) -> None:
    persistence.save(path, ROWS, FINGERPRINT)
    whole = path.read_bytes()
    unexpected: set[str] = set()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = persistence.load(path, FINGERPRINT)
        except CacheFileError:
            continue
        except Exception as error:  # collected, to say all kinds at once
            unexpected.add(f'{type(error).__name__}: {error}')
        else:
            assert plain(loaded) == plain(ROWS), position
    assert unexpected == set()


MANIFEST = {'format': 1, 'embedder': FINGERPRINT, 'entries': 1}
ENTRY = {'question': 'q', 'answer': 'a', 'scope': 'en', 'sources': [], 'written': 1.0, 'expires': None, 'weight': 1.0}
VECTORS = np.array([[1, 0, 0]], dtype=np.float32)


@pytest.mark.parametrize(
    'content',
    [
        pytest.param(b'not an archive at all', id='garbage'),
        pytest.param(b'', id='empty'),
        pytest.param(b'\x93NUMPY\x01\x00 truncated', id='broken npy'),
        pytest.param(archive(other=VECTORS), id='foreign npz'),
        pytest.param(archive(manifest=MANIFEST, entries=[ENTRY]), id='no vectors'),
        pytest.param(archive(manifest={'format': 1}, entries=[], vectors=VECTORS[:0]), id='no fingerprint'),
        pytest.param(archive(manifest=[1, 2], entries=[], vectors=VECTORS[:0]), id='manifest a list'),
        pytest.param(archive(manifest=1, entries=[], vectors=VECTORS[:0]), id='manifest a number'),
        pytest.param(archive(manifest=MANIFEST, entries=[ENTRY, ENTRY], vectors=VECTORS), id='one vector short'),
        pytest.param(archive(manifest=MANIFEST, entries=[], vectors=VECTORS[:0]), id='one entry short'),
        pytest.param(archive(manifest=MANIFEST, entries=[{**ENTRY, 'new': 1}], vectors=VECTORS), id='unknown field'),
        pytest.param(archive(manifest=MANIFEST, entries=[{'question': 'q'}], vectors=VECTORS), id='missing fields'),
        pytest.param(archive(manifest=MANIFEST, entries=['text'], vectors=VECTORS), id='entry a string'),
        pytest.param(archive(manifest=MANIFEST, entries=[[1]], vectors=VECTORS), id='entry a list'),
        pytest.param(archive(manifest=MANIFEST, entries=[{**ENTRY, 'weight': None}], vectors=VECTORS), id='no weight'),
        pytest.param(archive(manifest=np.frombuffer(b'{torn', np.uint8), entries=[], vectors=VECTORS), id='no JSON'),
        pytest.param(archive(manifest=MANIFEST, entries=[ENTRY], vectors=np.array([None])), id='pickled objects'),
    ],
)
def test_a_foreign_file_is_refused_by_name(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(CacheFileError, match=r'l0\.npz'):
        persistence.load(path, FINGERPRINT)


def test_a_single_array_instead_of_an_archive_is_refused(path: Path) -> None:
    with path.open('wb') as file:
        np.save(file, VECTORS)
    with pytest.raises(CacheFileError, match='damaged'):
        persistence.load(path, FINGERPRINT)


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(CacheFileError, match='damaged'):
        persistence.load(path, FINGERPRINT)


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize('zipped', [False, True])
def test_nothing_in_the_file_is_executed(path: Path, tmp_path: Path, *, zipped: bool) -> None:
    payload = pickle.dumps(Trap(tmp_path / 'executed'))
    if zipped:
        with zipfile.ZipFile(path, 'w') as file:
            for name in ('manifest.npy', 'entries.npy', 'vectors.npy', 'manifest'):
                file.writestr(name, payload)
    else:
        path.write_bytes(payload)
    with pytest.raises(CacheFileError):
        persistence.load(path, FINGERPRINT)
    assert not (tmp_path / 'executed').exists()


def refuse(*_args: object, **_kwargs: object) -> None:
    raise OSError(28, 'No space left on device')


@pytest.mark.parametrize(
    'failing', [(os, 'fsync'), (Path, 'replace'), (np, 'savez')], ids=['fsync', 'replace', 'write']
)
def test_a_save_that_fails_leaves_the_old_file_and_no_other(
    path: Path, monkeypatch: pytest.MonkeyPatch, failing: tuple[object, str]
) -> None:
    persistence.save(path, ROWS[:1], FINGERPRINT)
    with monkeypatch.context() as patch:
        patch.setattr(*failing, refuse)
        with pytest.raises(OSError, match='No space left'):
            persistence.save(path, ROWS, FINGERPRINT)
    assert plain(persistence.load(path, FINGERPRINT)) == plain(ROWS[:1])
    assert [each.name for each in path.parent.iterdir()] == ['l0.npz']


def test_a_disk_that_fills_up_half_way_leaves_the_old_file_and_no_other(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    persistence.save(path, ROWS[:1], FINGERPRINT)

    def half(file: io.BufferedWriter, **_arrays: object) -> None:
        file.write(b'PK\x03\x04 half an archive')
        file.flush()
        refuse()

    monkeypatch.setattr(np, 'savez', half)
    with pytest.raises(OSError, match='No space left'):
        persistence.save(path, ROWS, FINGERPRINT)
    assert plain(persistence.load(path, FINGERPRINT)) == plain(ROWS[:1])
    assert [each.name for each in path.parent.iterdir()] == ['l0.npz']


def test_the_old_file_is_whole_until_the_new_one_takes_its_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at in the instant before the exchange, as a crash there would leave it."""
    persistence.save(path, ROWS[:1], FINGERPRINT)
    seen: list[object] = []
    replace = Path.replace

    def look_first(self: Path, target: Path) -> Path:
        seen.extend([plain(persistence.load(target, FINGERPRINT)), plain(persistence.load(self, FINGERPRINT))])
        return replace(self, target)

    monkeypatch.setattr(Path, 'replace', look_first)
    persistence.save(path, ROWS, FINGERPRINT)
    assert seen == [plain(ROWS[:1]), plain(ROWS)]
    assert plain(persistence.load(path, FINGERPRINT)) == plain(ROWS)


def test_a_character_that_cannot_be_written_does_not_cost_the_file(path: Path) -> None:
    """Half an emoji, as a model's stream may carry it."""
    persistence.save(path, [row('half \ud83d'), *ROWS], FINGERPRINT)
    loaded = persistence.load(path, FINGERPRINT)
    assert plain(loaded[1:]) == plain(ROWS)
    assert loaded[0].entry.question.startswith('half ')
