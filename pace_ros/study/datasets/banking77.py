"""BANKING77: English customer questions, sorted by what the customer wants.

A meaning is an intent, and its answer the canned one "intent: ...". That is looser than the same answer: two questions
of one intent need not have the same right answer in a real bank, and a few labels are known to be wrong.
"""
from __future__ import annotations

from pathlib import Path

from pace_ros.study.datasets.compose import Item, compose
from pace_ros.study.datasets.files import need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import csv_rows, json_lines

NAME = 'banking77'
FILES = ('banking77_en.jsonl', 'banking_data/*.csv', 'test.csv', 'train.csv')


def load(folder: Path) -> DataSet:
    """From the published CSV (text, category) or JSONL (text, intent). Raises DataSetError."""
    texts: dict[str, list[str]] = {}
    for path in need(folder, NAME, FILES):
        rows, field = (csv_rows(path), 'category') if path.suffix == '.csv' else (json_lines(path), 'intent')
        for row in rows:
            texts.setdefault(row.text(field), []).append(row.text('text'))
    return compose(NAME, [_item(intent, wordings) for intent, wordings in texts.items()])


def _item(intent: str, wordings: list[str]) -> Item:
    answer = f'intent: {intent.replace("_", " ")}'
    seed = Question(f'banking-{intent}', wordings[0], 'en-US', intent, answer, topic=intent, accepted=(answer,))
    return Item(seed, tuple(('intent', text) for text in wordings[1:]))
