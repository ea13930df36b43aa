"""The SQuAD 1.1 format, in which CMRC 2018, XQuAD and NoiseQA are published."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pace_ros.study.datasets.rows import json_file


@dataclass(frozen=True)
class Extract:
    """A question about a passage, with the spans of it that answer."""

    question_id: str
    question: str
    answers: tuple[str, ...]
    passage_id: str
    passage: str


def read_squad(path: Path, prefix: str = '') -> Iterator[Extract]:
    """All questions of a file. Passages without an id get one with this prefix. Raises DataSetError."""
    number = 0
    for article in json_file(path).rows('data'):
        for paragraph in article.rows('paragraphs'):
            passage_id = paragraph.text('id') if 'id' in paragraph.fields else f'{prefix}{number}'
            number += 1
            context = paragraph.text('context')
            for row in paragraph.rows('qas'):
                answers = tuple(dict.fromkeys(each.text('text') for each in row.rows('answers')))
                yield Extract(row.text('id'), row.text('question'), answers, passage_id, context)
