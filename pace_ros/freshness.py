"""Knowledge changes: what was built on it leaves, what is under way is told, how often it happens is counted."""
from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from pace_ros.aging import KNOWLEDGE, STABLE
from pace_ros.cache import ChangeRates, Lexicon, Proposal, SemanticCache
from pace_ros.language import normal_form, normal_forms
from pace_ros.retrieval import KnowledgeBase, KnowledgeChange, KnowledgeEntry

log = logging.getLogger(__name__)
Listener = Callable[[Collection[str], Sequence[str]], None]


class Freshness:
    """Provenance of L0 and L1.

    Every way knowledge changes ends in the cache's ``invalidate``, which also refuses the answers under way that were
    built on it. ``on_change`` is told entry ids and terms afterwards. Callable from any thread.
    """

    def __init__(
        self, cache: SemanticCache, knowledge: KnowledgeBase, lexicon: Lexicon, rates: ChangeRates,
        on_change: Listener,
    ) -> None:
        self._cache = cache
        self._knowledge = knowledge
        self._lexicon = lexicon
        self._rates = rates
        self._on_change = on_change
        rates.watch(map(self._category, knowledge.entries.values()))
        if removed := cache.drop_outdated(knowledge.versions()):
            log.info('%d cached answers were built on knowledge that has changed since: they are dropped', removed)

    def reload(self) -> KnowledgeChange:
        """Read the knowledge files again; answers built on a changed or withdrawn entry are gone when this returns.

        Raises KnowledgeError, with everything left as it was.
        """
        change = self._knowledge.reload(self._drop)
        now = self._knowledge.entries
        self._rates.watch(map(self._category, now.values()))
        self._rates.note(self._category(now[key]) for key in change.changed if key in now)
        self._rates.save()
        return change

    def invalidate(self, entry_ids: Sequence[str], terms: Sequence[str]) -> int:
        """Knowledge changed elsewhere: drop the answers built on these entries or naming a term; returns how many."""
        removed = self._cache.invalidate(sources=entry_ids, terms=terms)
        self._sync(removed)
        self._on_change(entry_ids, terms)
        self._rates.note(self._category(entry) for entry in self._touched(entry_ids, terms))
        self._rates.save()
        return removed

    def proposals(self, target: float) -> Mapping[str, Proposal]:
        """By class of volatility, the life that keeps the share of stale answers at most ``target``."""
        return self._rates.proposals(target)

    def close(self) -> None:
        """Keep what was counted."""
        self._rates.save()

    def _drop(self, change: KnowledgeChange) -> None:
        ids = [*change.changed, *change.withdrawn]
        if removed := self._cache.invalidate(sources=ids):
            log.info('%d cached answers built on changed knowledge are dropped', removed)
        self._sync(removed)
        self._on_change(ids, [])

    def _sync(self, removed: int) -> None:
        """Nothing that was removed comes back, not even after a power cut."""
        try:
            if removed:
                self._cache.flush()
        except OSError as error:
            log.error('what was removed from the cache may come back after a power cut: %s', error)

    def _touched(self, entry_ids: Sequence[str], terms: Sequence[str]) -> list[KnowledgeEntry]:
        wanted, words = set(entry_ids), normal_forms(terms)
        return [
            entry for key, entry in self._knowledge.entries.items()
            if key in wanted or any(word in _words_of(entry) for word in words)
        ]

    def _category(self, entry: KnowledgeEntry) -> str:
        """The class of volatility of an entry, by its questions."""
        if not entry.volatile:
            return STABLE
        for locale, questions in entry.questions.items():
            for question in questions:
                if (verdict := self._lexicon.classify(question, locale)).category:
                    return verdict.category
        return KNOWLEDGE


def _words_of(entry: KnowledgeEntry) -> str:
    questions = (question for group in entry.questions.values() for question in group)
    return normal_form('\n'.join((*questions, *entry.answers.values())))
