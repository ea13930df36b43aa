"""DuReader 2.0: questions put to a Chinese search engine, answered by people from web pages. Wordings are derived.

The human answers are whole sentences: ``accepted`` has them as they are, which a free answer of a real language model
meets only by chance; an LLM judge suits those better.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.compose import MOST, Item, compose, passage
from pace_ros.study.datasets.files import need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import Row, json_lines

NAME = 'dureader'
FILES = ('dureader_*_zh.jsonl', 'search.*.json', 'zhidao.*.json', '*set/search.*.json', '*set/zhidao.*.json')
LONGEST = 400
"""Characters taken of a web page."""

Read = tuple[Question, list[KnowledgeEntry]]


def load(folder: Path) -> DataSet:
    """From the published files (one JSON object a line) or their reduced form; the first questions that have an answer
    are taken, since the whole set is large. Raises DataSetError.
    """
    rows = (row for path in need(folder, NAME, FILES) for row in json_lines(path))
    read = list(islice(_answered(rows), MOST))
    return compose(NAME, [Item(question) for question, _ in read], [each for _, pages in read for each in pages])


def _answered(rows: Iterator[Row]) -> Iterator[Read]:
    for row in rows:
        if answers := row.texts('answers'):
            raw = 'documents' in row.fields
            key = f'dureader-{row.fields.get("question_id")}' if raw else row.text('id')
            texts = list(_pages(row)) if raw else list(row.texts('passages'))
            pages = [passage(f'{key}-page-{number}', {'zh': text}) for number, text in enumerate(texts)]
            topic = row.text('question_type' if raw else 'type')
            yield Question(key, row.text('question'), 'zh-CN', key, answers[0], topic=topic, accepted=answers,
                           sources=tuple(page.entry_id for page in pages)), pages


def _pages(row: Row) -> Iterator[str]:
    """The paragraph that matters of each page that the human answers were taken from."""
    for document in row.rows('documents'):
        paragraphs = document.texts('paragraphs')
        if document.flag('is_selected', default=False) and paragraphs:
            related = document.fields.get('most_related_para', 0)
            if not isinstance(related, int):
                raise document.refused('most_related_para', f'must be a place among the paragraphs, not {related!r}')
            if 0 <= related < len(paragraphs):
                yield paragraphs[related][:LONGEST]
