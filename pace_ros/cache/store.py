"""The entries of L0 in SQLite: an entry, its vector and its use are one row under one checksum."""
from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.stored_row import (
    FIELDS,
    USE,
    Batch,
    DamagedEntry,
    Row,
    Use,
    batch_of,
    checksum,
    listed,
    provenance_of,
    row_of,
    row_or_damage,
    sources_of,
)
from pace_ros.embedding import Vector
from pace_ros.language import normal_form

FORMAT = 2
PAGE_SIZE = 8192  # three rows of 512 dimensions; in one of 4096 bytes there is one, and the rest is empty
BUSY = 0.2  # s to wait for another connection: a visitor waits as long
SCHEMA = (
    'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, normal TEXT NOT NULL, question TEXT NOT NULL,
        answer TEXT NOT NULL, sources TEXT NOT NULL, written REAL NOT NULL, expires REAL, reason TEXT NOT NULL,
        category TEXT NOT NULL, vector BLOB NOT NULL, crc INTEGER NOT NULL,
        weight REAL NOT NULL, hits INTEGER NOT NULL, last_hit REAL, UNIQUE (scope, normal))""",
    """CREATE TABLE source (
        source TEXT NOT NULL, version TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (source, version, entry)
    ) WITHOUT ROWID""",  # by what an entry was built on; follows from entry.sources
)


class Store:
    """A connection to the one file, or to memory; used by one thread at a time.

    WAL: the file is the snapshot, ``-wal`` beside it the journal. A commit is written, not synced; ``checkpoint`` does
    that. Methods raise sqlite3.Error where SQLite refuses, with nothing changed.
    """

    def __init__(self, file: Path | None, *, reading: bool = False) -> None:
        """Open or create it; ``reading`` leaves it as it is, beside any writer."""
        self.file = file
        self._db = connect(file, reading=reading)

    def close(self) -> None:
        """Bring the journal into the file and release both."""
        self._db.close()

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written."""
        return not self._db.execute('SELECT count(*) FROM sqlite_master').fetchone()[0]

    def begin(self, meta: dict[str, str]) -> None:
        """Make the tables."""
        with self.transaction():
            for statement in SCHEMA:
                self._db.execute(statement)
            self._db.executemany('INSERT INTO meta VALUES (?, ?)', meta.items())

    def meta(self) -> dict[str, str]:
        """What is noted of the whole file."""
        return dict(self._db.execute('SELECT key, value FROM meta'))

    def check(self) -> str:
        """What SQLite finds wrong with the file's structure, empty if nothing."""
        found = [str(each) for each, in self._db.execute('PRAGMA quick_check(3)')]
        return '' if found == ['ok'] else '; '.join(found)

    def count(self) -> int:
        """Rows held."""
        return int(self._db.execute('SELECT count(*) FROM entry').fetchone()[0])

    # -- writing ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing."""
        self._db.execute('BEGIN IMMEDIATE')
        try:
            yield
            self._db.execute('COMMIT')
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors
                self._db.execute('ROLLBACK')
            raise

    def insert(self, entry: CacheEntry, vector: Vector, weight: float, *, evicted: Iterable[int] = ()) -> int:
        """Write an entry in the place of ``evicted`` and of the same question; returns its id, never reused."""
        normal = normal_form(entry.question)
        blob = vector.astype('<f4').tobytes()
        with self.transaction():
            same = self.id_of(entry.scope, normal)
            self._delete([*evicted, *([] if same is None else [same])])
            last = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchone()
            entry_id = 1 + (last[0] if last else 0)
            fields = (
                entry_id, entry.scope, normal, entry.question, entry.answer, listed(entry.sources),
                float(entry.written) + 0.0, None if entry.expires is None else float(entry.expires) + 0.0,
                entry.reason, entry.category,
            )
            self._db.execute(
                f'INSERT INTO entry ({FIELDS}, {USE}) VALUES ({", ".join("?" * 15)})',  # noqa: S608  constants
                (*fields, blob, checksum(fields, blob), weight, 0, None),
            )
            self._db.executemany(
                'INSERT INTO source VALUES (?, ?, ?)', [(*source, entry_id) for source in set(entry.sources)]
            )
        return entry_id

    def delete(self, ids: Iterable[int]) -> None:
        """Remove entries, those that exist."""
        with self.transaction():
            self._delete(ids)

    def delete_damaged(self, entry_id: int) -> None:
        """Remove an entry that does not tell what it was built on."""
        with self.transaction():
            self._db.execute('DELETE FROM entry WHERE id = ?', (entry_id,))
            self._db.execute('DELETE FROM source WHERE entry NOT IN (SELECT id FROM entry)')

    def clear(self) -> None:
        """Remove every entry."""
        with self.transaction():
            self._db.execute('DELETE FROM source')
            self._db.execute('DELETE FROM entry')

    def keep_heaviest(self, count: int) -> None:
        """Remove all but the entries of the greatest weight."""
        gone = self._db.execute('SELECT id FROM entry ORDER BY weight DESC, id LIMIT -1 OFFSET ?', (count,))
        self.delete([entry_id for entry_id, in gone.fetchall()])

    def note_uses(self, uses: Iterable[Use]) -> None:
        """Keep how entries were used."""
        with self.transaction():
            self._db.executemany('UPDATE entry SET weight = ?, hits = ?, last_hit = ? WHERE id = ?', uses)

    def checkpoint(self, now: float) -> None:
        """Sync the journal into the file, on a connection of its own: callable beside all others, from any thread.

        The first write after that begins the journal anew, which is synced, too: it is made here, not by an admission.
        """
        if self.file is None:
            return
        with contextlib.closing(connect(self.file)) as db:
            db.execute('PRAGMA wal_checkpoint(PASSIVE)').fetchall()
            db.execute("INSERT OR REPLACE INTO meta VALUES ('saved', ?)", (repr(now),))

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, entry_id: int) -> Row | None:
        """One entry. Raises DamagedEntry."""
        return self._one('id = ?', (entry_id,))

    def find(self, scope: str, normal: str) -> Row | None:
        """The entry of a question in normal form. Raises DamagedEntry."""
        return self._one('scope = ? AND normal = ?', (scope, normal))

    def id_of(self, scope: str, normal: str) -> int | None:
        """The id of the entry of a question in normal form."""
        found = self._db.execute('SELECT id FROM entry WHERE scope = ? AND normal = ?', (scope, normal)).fetchone()
        return None if found is None else int(found[0])

    def vectors(self, ids: Sequence[int]) -> npt.NDArray[np.float32]:
        """The vectors of these entries, shape (n, d); all of them must exist."""
        blobs = [self._db.execute('SELECT vector FROM entry WHERE id = ?', (each,)).fetchone()[0] for each in ids]
        return np.frombuffer(b''.join(blobs), '<f4').reshape(len(ids), -1)

    def page(self, after: int, count: int) -> list[Row | DamagedEntry]:
        """The next entries by id."""
        found = self._db.execute(
            f'SELECT {FIELDS}, {USE} FROM entry WHERE id > ? ORDER BY id LIMIT ?', (after, count)  # noqa: S608
        )
        return [row_or_damage(values) for values in found.fetchall()]

    def built_on(self, sources: Iterable[str]) -> list[int]:
        """The entries built on one of these, in any version."""
        found = (self._db.execute('SELECT entry FROM source WHERE source = ?', (each,)) for each in set(sources))
        return sorted({entry_id for rows in found for entry_id, in rows})

    def built_on_version(self, sources: Iterable[Source]) -> list[int]:
        """The entries built on one of these, in just that version."""
        statement = 'SELECT entry FROM source WHERE source = ? AND version = ?'
        return sorted({entry_id for each in sources for entry_id, in self._db.execute(statement, each)})

    def sources(self) -> list[Source]:
        """Everything entries were built on."""
        return [Source(*each) for each in self._db.execute('SELECT DISTINCT source, version FROM source')]

    def batches(self, count: int) -> Iterator[Batch]:
        """Everything, by id. Raises DamagedEntry."""
        cursor = self._db.execute(f'SELECT {FIELDS}, {USE} FROM entry ORDER BY id')  # noqa: S608
        while values := cursor.fetchmany(count):
            yield batch_of(values)

    def sample(self, every: int) -> npt.NDArray[np.float32]:
        """The vectors of one entry out of ``every``, taken at random, shape (n, d)."""
        found = self._db.execute('SELECT vector FROM entry WHERE abs(random() % ?) = 0', (every,))
        return np.stack([np.frombuffer(blob, '<f4') for blob, in found])

    def provenance(self) -> int:
        """A sum over the table of sources, to be that over all batches."""
        return sum(provenance_of(*each) for each in self._db.execute('SELECT source, version, entry FROM source'))

    def _one(self, where: str, arguments: tuple[object, ...]) -> Row | None:
        values = self._db.execute(f'SELECT {FIELDS}, {USE} FROM entry WHERE {where}', arguments).fetchone()  # noqa: S608
        return None if values is None else row_of(values)

    def _delete(self, ids: Iterable[int]) -> None:
        for entry_id in ids:
            found = self._db.execute('SELECT sources FROM entry WHERE id = ?', (entry_id,)).fetchone()
            if found is None:
                continue
            with contextlib.suppress(ValueError, TypeError):  # a damaged row, see delete_damaged
                gone = [(*source, entry_id) for source in set(sources_of(found[0]))]
                self._db.executemany('DELETE FROM source WHERE source = ? AND version = ? AND entry = ?', gone)
            self._db.execute('DELETE FROM entry WHERE id = ?', (entry_id,))


def connect(file: Path | None, *, reading: bool = False) -> sqlite3.Connection:
    """A connection that any thread may use, with the settings of the file."""
    place = f'{file.resolve().as_uri()}?mode=ro' if file is not None and reading else str(file or ':memory:')
    db = sqlite3.connect(place, timeout=BUSY, isolation_level=None, check_same_thread=False, uri=reading)
    if reading:
        return db
    try:
        for setting in (f'page_size = {PAGE_SIZE}', 'journal_mode = WAL', 'synchronous = NORMAL',
                        'wal_autocheckpoint = 0'):
            db.execute(f'PRAGMA {setting}').fetchall()
    except BaseException:
        db.close()
        raise
    return db
