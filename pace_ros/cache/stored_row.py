"""A row of the cache's database: an entry, its vector and its use under one checksum."""
from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.embedding import Vector

FIELDS = 'id, scope, normal, question, answer, sources, written, expires, reason, category, vector, crc'
USE = 'weight, hits, last_hit'


class DamagedEntry(ValueError):
    """A row that is not what was written."""

    def __init__(self, entry_id: int) -> None:
        super().__init__(f'entry {entry_id} is damaged')
        self.entry_id = entry_id


class Row(NamedTuple):
    """One row, its checksum verified; ``hits`` and ``last_hit`` as of the last flush."""

    entry_id: int
    entry: CacheEntry
    vector: Vector
    weight: float
    hits: int
    last_hit: float | None


class Use(NamedTuple):
    """How an entry was used."""

    weight: float
    hits: int
    last_hit: float | None
    entry_id: int


class Batch(NamedTuple):
    """Rows at once, as few Python objects as may be: ``life`` is (written, expires), ``vectors`` has shape (n, d)."""

    ids: list[int]
    scopes: list[str]
    life: list[tuple[float, float | None]]
    uses: list[Use]
    vectors: npt.NDArray[np.float32]
    provenance: int


def listed(sources: Iterable[Source]) -> str:
    """Sources as they are stored."""
    return json.dumps([[each.entry_id, each.version] for each in sources], ensure_ascii=False)


def sources_of(listed: str) -> list[Source]:
    """Sources from how they are stored."""
    return [Source(*each) for each in json.loads(listed)]


def checksum(fields: Sequence[object], vector: bytes) -> int:
    """Over the id and everything that never changes; no text has a NUL in it."""
    return zlib.crc32(vector, zlib.crc32('\0'.join(map(str, fields)).encode('utf-8', 'surrogatepass')))


def provenance_of(source: str, version: str, entry_id: int) -> int:
    """A number that stands for one line of the table of sources."""
    return zlib.crc32(f'{entry_id}\0{source}\0{version}'.encode())


def _verify(values: Sequence[Any]) -> None:
    fields, vector, crc = values[:10], values[10], values[11]
    if not isinstance(vector, bytes) or checksum(fields, vector) != crc:
        raise DamagedEntry(values[0])


def row_of(values: Sequence[Any]) -> Row:
    """A row from its columns FIELDS and USE. Raises DamagedEntry."""
    _verify(values)
    entry_id, scope, _, question, answer, sources, written, expires, reason, category, vector, _, *use = values
    entry = CacheEntry(question, answer, scope, tuple(sources_of(sources)), written, expires, reason, category)
    return Row(entry_id, entry, np.frombuffer(vector, '<f4'), *use)


def row_or_damage(values: Sequence[Any]) -> Row | DamagedEntry:
    """A row, or the error that it is none."""
    try:
        return row_of(values)
    except DamagedEntry as damage:
        return damage


def batch_of(rows: list[Sequence[Any]]) -> Batch:
    """Rows from their columns FIELDS and USE. Raises DamagedEntry."""
    provenance, width = 0, len(rows[0][10])
    for row in rows:
        _verify(row)
        if len(row[10]) != width or not isinstance(row[12], float) or not isinstance(row[13], int):
            raise DamagedEntry(row[0])
        provenance += sum(provenance_of(*source, row[0]) for source in set(sources_of(row[5])))
    return Batch(
        [row[0] for row in rows], [row[1] for row in rows], [(row[6], row[7]) for row in rows],
        [Use(weight, hits, last_hit, row[0]) for row in rows for weight, hits, last_hit in [row[12:15]]],
        np.frombuffer(b''.join(row[10] for row in rows), '<f4').reshape(len(rows), -1), provenance,
    )
