"""One piece of the showroom's knowledge."""
from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from pace_ros.language import language


@dataclass(frozen=True)
class KnowledgeEntry:
    """Questions and the answer to them, by language.

    An entry with questions is answered directly; one without (a Markdown passage) only informs the language model,
    and is found by its ``passage`` text. ``valid_until`` is the last day the entry may be used.
    """

    entry_id: str
    questions: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, str]
    topic: str = ''
    volatile: bool = False
    source: str = ''
    valid_until: datetime.date | None = None

    @property
    def is_passage(self) -> bool:
        """Whether the entry may inform an answer but is none itself."""
        return not self.questions

    def answer(self, locale: str) -> str | None:
        """The answer in the visitor's language, None if there is none."""
        return self.answers.get(language(locale))

    def text(self, locale: str) -> str:
        """What the language model reads: the answer in the visitor's language, else in any."""
        return self.answer(locale) or next(iter(self.answers.values()))

    def is_valid(self, today: datetime.date) -> bool:
        """Whether the entry may be used on this day."""
        return self.valid_until is None or today <= self.valid_until


@dataclass(frozen=True)
class RetrievalHit:
    """An entry with the cosine of its best matching question or passage."""

    entry: KnowledgeEntry
    score: float
