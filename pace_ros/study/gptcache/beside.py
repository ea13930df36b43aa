"""The library and our own cache behind one face, filled and asked alike."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from pace_ros.cache import CacheEntry, Guards, SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.embedding import Embedder, Vector
from pace_ros.study.gptcache.labelled_questions import Asked, LabelledSet
from pace_ros.study.gptcache.store import GptCacheStore

THRESHOLD = 0.95
HALF_LIFE = 86400.0  # s


class AnswerCache(Protocol):
    """Answers found again by their questions."""

    def put(self, asked: Asked, answer: str, vector: Vector | None = None) -> None:
        """Store an answer; ``vector`` is the question's where it is known."""
        ...

    def get(self, asked: Asked) -> str | None:
        """The answer of a near question, None if there is none."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class OurCache:
    """Our cache; with ``guards`` they and the scope decide, too, without them similarity and language alone.

    No answer ages: the library has no rule for that. ``file`` None keeps the entries in memory.
    """

    def __init__(
        self, embedder: Embedder, guards: Guards | None, *, capacity: int = 2000, file: Path | None = None
    ) -> None:
        self._embedder = embedder
        self._guards = guards
        self._clock = SystemClock()
        self._cache = SemanticCache(dimension=embedder.dimension, capacity=capacity, half_life=HALF_LIFE,
                                    clock=self._clock, file=file, fingerprint=embedder.fingerprint)

    def put(self, asked: Asked, answer: str, vector: Vector | None = None) -> None:
        """Store an answer, if its question means anything by itself."""
        scope = self._scope(asked)
        if scope is not None:
            vector = self._embedder.embed(asked.text) if vector is None else vector
            self._cache.admit(CacheEntry(asked.text, answer, scope, (), self._clock.wall(), None), vector)

    def get(self, asked: Asked) -> str | None:
        """As the node does: the same words first, else encode and search."""
        scope = self._scope(asked)
        if scope is None:
            return None
        match = self._cache.recall_exact(asked.text, scope)
        if match.entry is None:
            match = self._cache.recall(self._embedder.embed(asked.text), scope, THRESHOLD, self._differs(asked))
        return None if match.entry is None else match.entry.answer

    def close(self) -> None:
        """Let go of the file."""
        self._cache.close()

    def _scope(self, asked: Asked) -> str | None:
        return asked.locale if self._guards is None else asked.scope

    def _differs(self, asked: Asked) -> Callable[[CacheEntry], str]:
        guards = self._guards
        if guards is None:
            return lambda _entry: ''
        return lambda entry: guards.differs(guards.asked(asked.text, asked.locale), entry.question, asked.locale)


class LibraryCache:
    """GPTCache: similarity alone."""

    def __init__(self, embedder: Embedder, folder: Path, *, capacity: int = 2000, reports: bool = True) -> None:
        self._store = GptCacheStore(embedder, threshold=THRESHOLD, capacity=capacity, folder=folder, reports=reports)

    def put(self, asked: Asked, answer: str, vector: Vector | None = None) -> None:
        """Store an answer."""
        self._store.put(asked.text, answer, vector)

    def get(self, asked: Asked) -> str | None:
        """Encode and search."""
        return self._store.get(asked.text).answer

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()


class Counted(NamedTuple):
    """What came of asking a cache everything: ``answerable`` questions have a right answer in it; a hit is ``true``
    if its answer is one, else ``false``.
    """

    asked: int = 0
    answerable: int = 0
    true: int = 0
    false: int = 0

    def plus(self, other: Counted) -> Counted:
        """Both together."""
        return Counted(*(one + two for one, two in zip(self, other, strict=True)))


def counted(cache: AnswerCache, data: LabelledSet) -> Counted:
    """Fill a cache with one part of a set and ask it the other; nothing is added meanwhile."""
    for number, (asked, _) in enumerate(data.known):
        cache.put(asked, str(number))
    cached = frozenset[str]().union(*(labels for _, labels in data.known))
    answerable = true = false = 0
    for asked, labels in data.asked:
        answerable += not labels.isdisjoint(cached)
        answer = cache.get(asked)
        if answer is not None:
            right = not labels.isdisjoint(data.known[int(answer)][1])
            true, false = true + right, false + (not right)
    return Counted(len(data.asked), answerable, true, false)
