"""One cached answer and what a lookup says of it."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CacheEntry:
    """An answer the language model gave.

    ``scope`` is the part of the key that must match exactly (see scope.py); ``sources`` are the ids of the knowledge
    entries in its prompt; ``written`` and ``expires`` are wall times (s), ``expires`` None if it never does.
    """

    question: str
    answer: str
    scope: str
    sources: tuple[str, ...]
    written: float
    expires: float | None


@dataclass(frozen=True)
class CacheMatch:
    """What L0 found: the entry to serve, or None; ``score`` is the best cosine met in this scope.

    ``exact`` says that the normalised question was the same; ``stale`` that an expired entry was met and evicted.
    """

    entry: CacheEntry | None
    score: float
    exact: bool = False
    stale: bool = False
