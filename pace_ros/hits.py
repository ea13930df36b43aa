"""Which near candidate is a hit: one that asks for the same, about the same subject, and may still be used."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pace_ros.aging import STABLE, Aging
from pace_ros.cache import CacheEntry, Differs
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.facts import Facts
from pace_ros.levels import Levels
from pace_ros.query import Query
from pace_ros.retrieval import KnowledgeEntry, RetrievalHit


@dataclass(frozen=True)
class Direct:
    """The entry that answers by itself, or None; ``score`` is the cosine of its wording; ``refused`` why others are
    none, each as "entry: what differs".
    """

    hit: RetrievalHit | None = None
    score: float = 0.0
    refused: tuple[str, ...] = ()


class HitRules:
    """What similarity alone gets wrong (design section 2): the guards of L0 and L1."""

    def __init__(self, levels: Levels, config: Callable[[], Config], clock: Clock) -> None:
        self._levels = levels
        self._config = config
        self._clock = clock

    def aged(self, query: Query, aging: Aging) -> Differs:
        """What tells why a cached answer may not be given now, by the policy for its class, whatever held when it was
        admitted; empty if it may.
        """
        def why(entry: CacheEntry) -> str:
            category = entry.category or STABLE
            policy, ttl = aging.of(category, query.locale)
            too_old = policy == 'ttl' and self._clock.wall() >= entry.written + ttl
            return f'{category}: {policy}' if policy == 'deny' or too_old else ''

        return why

    def differs(self, query: Query, aging: Aging) -> Differs:
        """What tells why a cached answer is no hit: it has aged, or its question differs from this one in a guarded
        item. The subject of the conversation is part of the key, which is the same: it need not be compared.
        """
        aged, guards = self.aged(query, aging), self._levels.guards
        if not self._config().guards.facts:
            return aged

        def why(entry: CacheEntry) -> str:
            return aged(entry) or guards.differs(
                guards.asked(query.text, query.locale), entry.question, query.locale
            )

        return why

    def direct(self, query: Query, threshold: float) -> Direct:
        """The nearest entry that answers in the visitor's language and has a wording of at least this cosine that asks
        for the same; none where another such entry is nearer to it than ``l1.margin``.
        """
        if query.scope.key is None:
            return Direct()
        margin, refused = self._config().l1.margin, dict[str, str]()
        fit = self._fit(query, threshold, margin, refused)
        score, best = next(fit, (0.0, None))
        if best is None or score < threshold:
            return Direct(refused=_listed(refused))
        refused.pop(best.entry.entry_id, None)
        why = _listed(refused)
        rival = next((each for each in fit if each[1].entry is not best.entry), None) if margin else None
        if rival is not None and score - rival[0] < margin:
            return Direct(refused=(*why, f'{best.entry.entry_id}: {rival[1].entry.entry_id} is as near'))
        return Direct(best, score, why)

    def _fit(
        self, query: Query, threshold: float, margin: float, refused: dict[str, str]
    ) -> Iterator[tuple[float, RetrievalHit]]:
        """Wordings that ask for the same, nearest first, down to ``margin`` below the threshold, where rivals may be;
        why others above it do not goes to ``refused``, by entry.
        """
        near = sorted(_near(query.hits, threshold - margin), key=lambda each: -each[0])
        readings = self._readings(query) if near else ()
        for score, hit, question, locale in near:
            entry = hit.entry
            if entry.answer(query.locale) is None or not self._levels.knowledge.serves(entry):
                continue
            why = [self._levels.guards.differs(asked, question, locale) for asked in readings]
            if not why or '' in why:
                yield score, hit
            elif score >= threshold:
                refused.setdefault(entry.entry_id, why[0])

    def _readings(self, query: Query) -> Sequence[Facts]:
        """What the question may mean: about the subject in focus, or if it does not lean on that, as it stands."""
        settings, scope, guards = self._config().guards, query.scope, self._levels.guards
        if not settings.facts:
            return ()
        subjects = [scope.subject] if scope.leans or not scope.subject else [(), scope.subject]
        return [guards.asked(query.text, query.locale, subject) for subject in subjects]


def read_ahead(levels: Levels, entries: Iterable[KnowledgeEntry]) -> None:
    """Read every question the knowledge base knows: patterns are slow the first few hundred times."""
    for entry in entries:
        for locale, questions in entry.questions.items():
            for question in questions:
                levels.scopes.of(question, locale, ())
                levels.volatility.classify(question, locale)
                levels.guards.differs(levels.guards.asked(question, locale), question, locale)


def _near(hits: Sequence[RetrievalHit], threshold: float) -> Iterator[tuple[float, RetrievalHit, str, str]]:
    for hit in hits:
        for wording in hit.wordings:
            if wording.score >= threshold:
                yield wording.score, hit, wording.question, wording.locale


def _listed(refused: dict[str, str]) -> tuple[str, ...]:
    return tuple(f'{entry_id}: {why}' for entry_id, why in refused.items())

