"""What knowledge changed lately, so that an answer built before a change is not admitted after it."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from pace_ros.cache.entry import CacheEntry
from pace_ros.language import normal_form, normal_forms

KEPT = 1_000  # changes; an answer begun before the oldest of them is refused


class Change(NamedTuple):
    """Entries and words touched at once; ``everything`` if all are."""

    epoch: int
    sources: frozenset[str]
    terms: tuple[str, ...]
    everything: bool


class Invalidations:
    """The last changes, each with its epoch: the number of changes up to and with it."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=KEPT)
        self.epoch = 0

    def note(self, sources: Iterable[str] = (), terms: Iterable[str] = (), *, everything: bool = False) -> Change:
        """Count a change; one that names nothing is none."""
        words = normal_forms(terms)
        change = Change(self.epoch + 1, frozenset(sources), words, everything)
        if everything or change.sources or words:
            self.epoch = change.epoch
            self._changes.append(change)
        return change

    def touch(self, entry: CacheEntry, since: int) -> bool:
        """Whether a change after epoch ``since`` touches the entry, or may have: only the last changes are known."""
        if self.epoch - since > len(self._changes):
            return True
        ids = {source.entry_id for source in entry.sources}
        return any(
            change.everything or not ids.isdisjoint(change.sources) or names(entry.question, entry.answer, change.terms)
            for change in self._changes if change.epoch > since
        )


def names(question: str, answer: str, terms: Iterable[str]) -> bool:
    """Whether question or answer has one of the terms, all in normal form, in it."""
    if not terms:
        return False
    text = normal_form(f'{question}\n{answer}')
    return any(term in text for term in terms)
