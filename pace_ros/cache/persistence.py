"""L0 on disk: one file, written beside and moved into place, so that it is always whole."""
from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np

from pace_ros.cache.entry import CacheEntry
from pace_ros.cache.semantic_cache import CacheRow
from pace_ros.files import replacing

FORMAT = 1


class CacheFileError(RuntimeError):
    """A cache file that must not be used; the message says why."""


def save(path: Path, rows: list[CacheRow], fingerprint: str) -> None:
    """Write all rows with the embedder's fingerprint. Raises OSError, with the old file untouched."""
    manifest = {'format': FORMAT, 'embedder': fingerprint, 'entries': len(rows)}
    entries = [{**dataclasses.asdict(row.entry), 'weight': row.weight} for row in rows]
    with replacing(path) as file:
        np.savez(
            file,
            manifest=_as_bytes(manifest),
            entries=_as_bytes(entries),
            vectors=np.stack([row.vector for row in rows]) if rows else np.zeros((0, 0), np.float32),
        )


def load(path: Path, fingerprint: str) -> list[CacheRow]:
    """Read all rows; an absent file is an empty cache. Raises CacheFileError rather than load in part."""
    if not path.exists():
        return []
    try:
        return _read(path, fingerprint)
    except CacheFileError:
        raise
    except Exception as error:  # zipfile, numpy and json share no base for what a damaged file makes them raise
        raise CacheFileError(f'{path} is damaged: {error}') from error


def _read(path: Path, fingerprint: str) -> list[CacheRow]:
    with np.load(path, allow_pickle=False) as archive:
        manifest = json.loads(archive['manifest'].tobytes())
        if manifest.get('format') != FORMAT:
            raise CacheFileError(f'{path} has format {manifest.get("format")}, not {FORMAT}')
        if manifest['embedder'] != fingerprint:
            raise CacheFileError(f'{path} was written with embedder {manifest["embedder"]}, not {fingerprint}')
        entries = json.loads(archive['entries'].tobytes())
        vectors = archive['vectors']
    if not len(entries) == len(vectors) == manifest['entries']:
        raise CacheFileError(f'{path} has {len(entries)} entries and {len(vectors)} vectors')
    return [_row(entry, vector) for entry, vector in zip(entries, vectors, strict=True)]


def _as_bytes(value: object) -> np.typing.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _row(fields: dict[str, object], vector: np.typing.NDArray[np.float32]) -> CacheRow:
    weight = fields.pop('weight')
    entry = CacheEntry(**{**fields, 'sources': tuple(fields['sources'])})  # type: ignore[arg-type]  # from our own file
    return CacheRow(entry, np.ascontiguousarray(vector, dtype=np.float32), float(weight))  # type: ignore[arg-type]
