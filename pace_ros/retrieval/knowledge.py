"""L1: the showroom's knowledge in service, exchanged as a whole."""
from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pace_ros.clock import Clock
from pace_ros.embedding import DegenerateText, Embedder, Vector
from pace_ros.retrieval.entry import KnowledgeEntry, RetrievalHit
from pace_ros.retrieval.files import read_knowledge
from pace_ros.retrieval.index import KnowledgeIndex
from pace_ros.retrieval.parse import KnowledgeError


class KnowledgeStore(Protocol):
    """Where passages come from; a remote store can stand behind it."""

    def search(self, vector: Vector, k: int) -> list[RetrievalHit]:
        """The ``k`` entries nearest to a question vector of shape (d,), best first."""
        ...

    def serves(self, entry: KnowledgeEntry) -> bool:
        """Whether an entry found earlier may still be used: neither changed nor withdrawn nor out of date."""
        ...


@dataclass(frozen=True)
class KnowledgeChange:
    """What a reload changed, as entry ids."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    withdrawn: tuple[str, ...]

    def __str__(self) -> str:
        """One line for an operator."""
        parts = (('added', self.added), ('changed', self.changed), ('withdrawn', self.withdrawn))
        return '; '.join(f'{len(ids)} {name}{": " if ids else ""}{", ".join(ids[:20])}' for name, ids in parts)


class KnowledgeBase:
    """Entries from files, searched by question. ``reload`` leaves the old ones in service if a file is broken."""

    def __init__(self, paths: Sequence[Path], embedder: Embedder, clock: Clock) -> None:
        self._paths = list(paths)
        self._embedder = embedder
        self._clock = clock
        self._reloading = threading.Lock()
        self._index = self._read()

    def __len__(self) -> int:
        """Entries in service."""
        return len(self._index.entries)

    @property
    def entries(self) -> dict[str, KnowledgeEntry]:
        """The entries in service, by id."""
        return dict(self._index.entries)

    def search(self, vector: Vector, k: int) -> list[RetrievalHit]:
        """The ``k`` entries valid today that are nearest to a question vector of shape (d,), best first."""
        return self._index.search(vector, k, self._today())

    def serves(self, entry: KnowledgeEntry) -> bool:
        """Whether an entry found earlier may still be used: neither changed nor withdrawn nor out of date."""
        now = self._index.entries.get(entry.entry_id)
        return now is not None and (now is entry or now.version == entry.version) and now.is_valid(self._today())

    def versions(self) -> dict[str, str]:
        """The versions of the entries in service, by id."""
        return {key: entry.version for key, entry in self._index.entries.items()}

    def reload(self, on_change: Callable[[KnowledgeChange], None] = lambda _change: None) -> KnowledgeChange:
        """Read the files again and exchange all entries at once.

        ``on_change`` is called with what changed, before this returns. Raises KnowledgeError, with
        the old entries left in service.
        """
        with self._reloading:
            new = self._read()
            old = self._index.entries
            change = KnowledgeChange(
                added=tuple(sorted(new.entries.keys() - old.keys())),
                changed=tuple(sorted(key for key in new.entries.keys() & old.keys() if new.entries[key] != old[key])),
                withdrawn=tuple(sorted(old.keys() - new.entries.keys())),
            )
            self._index = new
            on_change(change)
            return change

    def _today(self) -> datetime.date:
        return datetime.date.fromtimestamp(self._clock.wall())

    def _read(self) -> KnowledgeIndex:
        try:
            return KnowledgeIndex(read_knowledge(self._paths), self._embedder)
        except DegenerateText as error:
            raise KnowledgeError(f'{", ".join(map(str, self._paths))}: {error}.') from error
