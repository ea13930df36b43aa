"""Questions labelled volatile or stable, from data files and from the knowledge base, with their vectors."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pace_ros.embedding import DegenerateText, Embedder, Vector
from pace_ros.language import language
from pace_ros.retrieval.files import read_knowledge
from pace_ros.study.refusal import Refusal


class DataError(Refusal):
    """Labelled questions that cannot be used; the message names file and line."""


@dataclass(frozen=True)
class Labelled:
    """A question with its label; those of one ``group`` ask the same and stay in one fold."""

    question: str
    language: str
    volatile: bool
    group: str
    split: str = ''


def read_labelled(path: Path) -> Iterator[Labelled]:
    """The questions of a data file. Raises DataError naming the line, or OSError."""
    for number, line in enumerate(path.read_text(encoding='utf-8-sig').splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield from _labelled(json.loads(line), f'{path.name}:{number}')
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f'{path}, line {number}: no labelled question: {error}.') from error


def knowledge_questions(paths: Sequence[Path]) -> Iterator[Labelled]:
    """The questions of knowledge files, volatile as their entries are. Raises KnowledgeError."""
    for entry in read_knowledge(paths):
        for locale, questions in entry.questions.items():
            for question in questions:
                yield Labelled(question, locale, entry.volatile, entry.entry_id)


def encode(questions: Iterable[Labelled], embedder: Embedder) -> tuple[list[Labelled], Vector]:
    """The questions that have a vector, with them: shape (n, d)."""
    kept, vectors = [], []
    for each in questions:
        try:
            vectors.append(embedder.embed(each.question))
        except DegenerateText:
            continue
        kept.append(each)
    return kept, np.stack(vectors) if vectors else np.zeros((0, embedder.dimension), np.float32)


def _labelled(row: dict[str, object], group: str) -> list[Labelled]:
    asked = {key.removeprefix('question_'): row[key] for key in row if key.startswith('question_')}
    asked = asked or {str(row['locale']): row['question']}
    volatile = row['volatile']
    if not isinstance(volatile, bool):
        raise TypeError(f"'volatile' must be true or false, not {volatile!r}")
    for question in asked.values():
        if not isinstance(question, str):
            raise TypeError(f'a question must be text, not {question!r}')
    split = str(row.get('split', ''))
    return [Labelled(str(text), language(key), volatile, group, split) for key, text in asked.items()]
