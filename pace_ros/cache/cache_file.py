"""Opening the cache's file: one process owns it, all of it is verified, what is damaged is set aside."""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from pace_ros.cache.store import FORMAT, Store
from pace_ros.cache.stored_row import DamagedEntry

log = logging.getLogger(__name__)
# What SQLite says where the place is at fault, not the file's content.
_PLACE = ('unable to open', 'locked', 'disk i/o', 'readonly', 'is full')


class CacheFileError(RuntimeError):
    """A cache file that cannot be used now; the message says why."""


class DamagedFile(ValueError):
    """A file whose content must not be used; ``label`` names it when it is set aside."""

    def __init__(self, message: str, label: str = 'damaged') -> None:
        super().__init__(message)
        self.label = label


class Ownership:
    """A lock on ``<file>.lock``, released by the system when the process ends, however it does."""

    def __init__(self, file: Path) -> None:
        """Take it. Raises CacheFileError if another has it."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(f'{file}.lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CacheFileError(f'{file} cannot be used: {error}') from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            why = 'is in use by another process' if isinstance(error, BlockingIOError) else f'cannot be locked: {error}'
            raise CacheFileError(f'{file} {why}') from error

    def release(self) -> None:
        """Let another have it."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def open_store(
    file: Path | None, *, dimension: int, fingerprint: str, now: float, load: Callable[[Store], None]
) -> Store:
    """The rows of a file that is owned already; ``load`` is given them and raises DamagedFile or DamagedEntry.

    A file that is damaged or of another encoder is set aside, an empty one begun and loaded. Raises CacheFileError.
    """
    if file is not None and file.is_dir():
        raise CacheFileError(f'{file} is a folder')
    try:
        return _opened(file, dimension, fingerprint, load)
    except (DamagedFile, DamagedEntry, sqlite3.DatabaseError) as error:
        if file is None or any(each in str(error).lower() for each in _PLACE):
            raise CacheFileError(f'{file} cannot be used: {error}') from error
        aside = set_aside(file, getattr(error, 'label', 'damaged'), now)
        why = ' '.join(str(error).partition(' with text ')[0].split())  # no line of a visitor's in a log
        log.warning('the cache starts empty: %s: %s; it is kept as %s', file, why, aside.name)
    try:
        return _opened(file, dimension, fingerprint, load)
    except (DamagedFile, DamagedEntry, sqlite3.DatabaseError) as error:
        raise CacheFileError(f'{file} cannot be used: {error}') from error


def set_aside(file: Path, label: str, now: float) -> Path:
    """Rename a file with its journal, so that SQLite still finds the two together. Raises CacheFileError."""
    stamp = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
    aside = file.with_name(f'{file.name}.{label}-{stamp}')
    again = 1
    while aside.exists():
        again += 1
        aside = file.with_name(f'{file.name}.{label}-{stamp}-{again}')
    try:
        for part in ('-wal', '-shm', ''):
            with contextlib.suppress(FileNotFoundError):
                file.with_name(file.name + part).rename(aside.with_name(aside.name + part))
    except OSError as error:
        raise CacheFileError(f'{file} is {label} and cannot be set aside: {error}') from error
    return aside


def _opened(file: Path | None, dimension: int, fingerprint: str, load: Callable[[Store], None]) -> Store:
    store = Store(file)
    try:
        if store.is_new:
            store.begin({'format': str(FORMAT), 'embedder': fingerprint, 'dimension': str(dimension)})
        else:
            _verify(store, dimension, fingerprint)
        load(store)
    except BaseException:
        store.close()
        raise
    return store


def _verify(store: Store, dimension: int, fingerprint: str) -> None:
    if wrong := store.check():
        raise DamagedFile(wrong)
    meta = store.meta()
    if meta.get('format') != str(FORMAT):
        raise DamagedFile(f'its format is {meta.get("format")}, not {FORMAT}', 'other-format')
    if (meta.get('embedder'), meta.get('dimension')) != (fingerprint, str(dimension)):
        raise DamagedFile(
            f'it was written with encoder {meta.get("embedder")!r} of {meta.get("dimension")} dimensions, '
            f'not {fingerprint!r} of {dimension}', 'other-encoder')
