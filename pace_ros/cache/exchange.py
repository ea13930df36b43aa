"""Cached answers as JSON lines: without vectors, so that another encoder may read them."""
from __future__ import annotations

import json
import math
from typing import Any

from pace_ros.cache.entry import CacheEntry, Source, StoredEntry

OWN = ('id', 'hits', 'last_hit')  # of the cache a line comes from: written, not read
TEXTS = ('question', 'answer', 'scope', 'reason', 'category')
FIELDS = (*OWN, *TEXTS, 'sources', 'written', 'expires')


class BadLine(ValueError):
    """A line that is no entry; the message names the field."""


def line_of(stored: StoredEntry) -> str:
    """One entry as one line of JSON."""
    entry = stored.entry
    return json.dumps({
        'id': stored.entry_id, 'question': entry.question, 'answer': entry.answer, 'scope': entry.scope,
        'sources': [list(source) for source in entry.sources], 'written': entry.written, 'expires': entry.expires,
        'reason': entry.reason, 'category': entry.category, 'hits': stored.hits, 'last_hit': stored.last_hit,
    }, ensure_ascii=False, allow_nan=False)


def entry_of(line: str, now: float) -> CacheEntry:
    """Read an entry; ``question``, ``answer`` and ``scope`` must be there, ``written`` is now if it is not.

    Raises BadLine, also for one that has expired.
    """
    fields = _fields(line)
    texts = {name: fields.get(name, '') for name in TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise BadLine(f'{name} must be a text, not {text!r}')
        if name in TEXTS[:3] and not text.strip():
            raise BadLine(f'{name} is missing' if name not in fields else f'{name} is blank')
    written, expires = _time(fields, 'written'), _time(fields, 'expires')
    if expires is not None and expires <= now:
        raise BadLine('expires is past')
    return CacheEntry(
        sources=_sources(fields.get('sources', [])), written=now if written is None else written, expires=expires,
        **texts,
    )


def _fields(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise BadLine(f'it is no JSON: {error}') from error
    if not isinstance(fields, dict):
        raise BadLine('it is no JSON object')
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise BadLine(f'{unknown[0]} is no field of an entry')
    return fields


def _time(fields: dict[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadLine(f'{name} must be a time in seconds, not {value!r}')
    return float(value)


def _sources(value: object) -> tuple[Source, ...]:
    if not isinstance(value, list) or not all(
        isinstance(each, list) and len(each) == 2 and all(isinstance(text, str) for text in each) for each in value
    ):
        raise BadLine(f'sources must be a list of [id, version], not {value!r}')
    return tuple(Source(*each) for each in value)
