"""One piece of the showroom's knowledge."""
from __future__ import annotations

import datetime
import functools
import hashlib
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

    @functools.cached_property
    def version(self) -> str:
        """A digest of all that the entry says: another one whenever it has changed."""
        return hashlib.sha256(repr(self).encode('utf-8', 'backslashreplace')).hexdigest()[:16]

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

    @property
    def expires(self) -> float | None:
        """The wall time (s) at which its last day ends here, None if it has none."""
        if self.valid_until is None or self.valid_until == datetime.date.max:
            return None
        midnight = datetime.datetime.combine(self.valid_until + datetime.timedelta(days=1), datetime.time())
        return midnight.timestamp()


@dataclass(frozen=True)
class Wording:
    """One of an entry's questions, with its language and its cosine to what was asked."""

    question: str
    locale: str
    score: float


@dataclass(frozen=True)
class RetrievalHit:
    """An entry with the cosine of its best matching question or passage, and its questions near by, nearest first."""

    entry: KnowledgeEntry
    score: float
    wordings: tuple[Wording, ...] = ()
