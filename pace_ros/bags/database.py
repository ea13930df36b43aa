"""SQLite files whose writer was killed."""
from __future__ import annotations

import logging
import shutil
import sqlite3
from pathlib import Path

log = logging.getLogger(__name__)


def finished_database(path: Path, folder: Path) -> Path:
    """A database whose writer was killed, copied to ``folder`` and brought to its last whole transaction.

    The path itself if nothing is pending beside it. Raises sqlite3.Error.
    """
    beside = [path.with_name(path.name + ending) for ending in ('-journal', '-wal')]
    pending = [each for each in beside if each.is_file() and each.stat().st_size]
    if not pending:
        return path
    log.warning('%s was cut short: read up to its last whole transaction', path)
    for each in (path, *pending):
        shutil.copy(each, folder / each.name)
    copy = folder / path.name
    connection = sqlite3.connect(copy)
    try:
        connection.execute('SELECT count(*) FROM sqlite_master').fetchone()
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
        connection.execute('PRAGMA journal_mode=DELETE')
    finally:
        connection.close()
    return copy
