"""One cached answer and what a lookup says of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Source(NamedTuple):
    """A knowledge entry an answer was built on, in the version it had then."""

    entry_id: str
    version: str


@dataclass(frozen=True)
class CacheEntry:
    """An answer the language model gave.

    ``scope`` is the part of the key that must match exactly (see scope.py); ``sources`` are the knowledge entries in
    its prompt; ``written`` and ``expires`` are wall times (s), ``expires`` None if it never does; ``reason`` is why it
    was admitted, ``category`` the class of its volatility, empty for a stable answer.
    """

    question: str
    answer: str
    scope: str
    sources: tuple[Source, ...]
    written: float
    expires: float | None
    reason: str = ''
    category: str = ''


@dataclass(frozen=True)
class StoredEntry:
    """An entry under its id, with its use: ``hits`` and ``last_hit``, a wall time (s), None if there was none."""

    entry_id: int
    entry: CacheEntry
    hits: int
    last_hit: float | None


@dataclass(frozen=True)
class CacheMatch:
    """What L0 found: the entry to serve, or None; ``score`` is the best cosine met in this scope.

    ``exact`` says that the normalised question was the same; ``stale`` that an expired entry was met and evicted;
    ``refused`` why nearer candidates were no hits, each as "id: what differs".
    """

    entry: CacheEntry | None
    score: float
    exact: bool = False
    stale: bool = False
    entry_id: int | None = None
    refused: tuple[str, ...] = ()
