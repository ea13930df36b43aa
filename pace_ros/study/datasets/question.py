"""What is asked in an evaluation, and what would be a right answer."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pace_ros.retrieval import KnowledgeEntry


@dataclass(frozen=True)
class Question:
    """One wording of a question.

    Questions of one ``meaning`` and language have one right ``answer``, the reference. Where ``accepted`` is not empty,
    an answer is right that contains any of these short texts (extractive data sets); else it must state the facts of
    the reference. ``kind`` is seed, or the kind of paraphrase. ``sources`` are the knowledge entries, by id, that state
    the answer. ``volatile``: the right answer changes with time.
    """

    question_id: str
    text: str
    locale: str
    meaning: str
    answer: str
    kind: str = 'seed'
    volatile: bool = False
    topic: str = ''
    accepted: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """An event after which the right answer of a meaning is another one: ``answers`` by language (zh, en)."""

    number: int
    meaning: str
    answers: Mapping[str, str]


@dataclass(frozen=True)
class DataSet:
    """Questions with what is known of them.

    ``seeds`` has one wording a meaning and language, ``paraphrases`` further ones. ``knowledge`` is what the robot
    knows: entries with questions may be returned directly, passages inform the language model. ``changes`` are in the
    order in which they happen. ``names_file``: product names with their spellings, None for the packaged showroom's.
    """

    name: str
    version: str
    seeds: tuple[Question, ...]
    paraphrases: tuple[Question, ...] = ()
    knowledge: tuple[KnowledgeEntry, ...] = ()
    changes: tuple[Change, ...] = ()
    names_file: Path | None = None
    wordings: Mapping[tuple[str, str], tuple[Question, ...]] = field(init=False, repr=False, compare=False)
    """All wordings by meaning and locale, the seed first."""

    def __post_init__(self) -> None:
        grouped: dict[tuple[str, str], list[Question]] = {}
        for each in (*self.seeds, *self.paraphrases):
            grouped.setdefault((each.meaning, each.locale), []).append(each)
        object.__setattr__(self, 'wordings', {key: tuple(group) for key, group in grouped.items()})

    def in_language(self, language: str) -> DataSet:
        """The part asked in one language (zh, en); the knowledge is the same."""
        mine = tuple(each for each in self.seeds if each.locale.startswith(language))
        others = tuple(each for each in self.paraphrases if each.locale.startswith(language))
        return DataSet(self.name, self.version, mine, others, self.knowledge, self.changes, self.names_file)
