"""EverGreenQA: questions in English and Chinese, labelled by whether their answer changes with time.

Wordings are derived. Answers of volatile questions were right when they were collected.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pace_ros.study.datasets.compose import Item, compose
from pace_ros.study.datasets.files import find, need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import DataSetError, Row, csv_rows, json_lines

NAME = 'evergreen'
LINES = 'evergreen_volatility_zh_en.jsonl'
ALIASES = ('aliases/{}_aliases.csv', 'datasets/aliases/{}_aliases.csv')
_LANGUAGES = {'zh': ('zh-CN', 'Chinese'), 'en': ('en-US', 'English')}


def load(folder: Path) -> DataSet:
    """From the published CSV with their alias files, which have the answers, or from JSONL. Questions without an answer
    are left out. Raises DataSetError.
    """
    lines = find(folder, LINES)
    if lines:
        return compose(NAME, (item for path in lines for row in json_lines(path) for item in _from_line(row)))
    pairs = [
        (split, aliases[0], need(aliases[0].parents[1], NAME, (f'{split}.csv',))[0])
        for split in ('test', 'train') if (aliases := find(folder, *(each.format(split) for each in ALIASES)))
    ]
    if not pairs:
        raise DataSetError(f"data set '{NAME}': {folder} has no file {LINES} or {ALIASES[0].format('test')}.")
    return compose(NAME, (item for pair in pairs for item in _from_tables(*pair)))


def _from_line(row: Row) -> Iterator[Item]:
    volatile = row.flag('volatile')
    for tongue in _LANGUAGES:
        if answers := row.texts(f'answers_{tongue}'):
            yield _item(row.text('id'), tongue, row.text(f'question_{tongue}'), answers, volatile)


def _from_tables(split: str, aliases: Path, questions: Path) -> Iterator[Item]:
    answers = {row.fields['']: row for row in csv_rows(aliases) if '' in row.fields}
    for row in csv_rows(questions):
        evergreen = row.text('is_evergreen')
        if evergreen not in ('0', '1'):
            raise row.refused('is_evergreen', f'must be 0 or 1, not {evergreen!r}')
        number = row.fields.get('')
        for tongue, (_, column) in _LANGUAGES.items():
            given = answers[number].fields.get(column) if number in answers else None
            if given and (texts := tuple(dict.fromkeys(_unquoted(given)))):
                yield _item(f'eg-{split}-{number}', tongue, row.text(column), texts, evergreen == '0')


def _unquoted(cell: str) -> Iterator[str]:
    """The texts of a cell that has a Python list, some quoted twice, some joined by a Chinese semicolon."""
    try:
        value = ast.literal_eval(cell) if cell.startswith('[') else None
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, list):
        for each in value:
            yield from _unquoted(str(each))
    else:
        yield from (text.strip() for text in cell.split('；') if text.strip())


def _item(meaning: str, tongue: str, text: str, answers: tuple[str, ...], volatile: bool) -> Item:
    locale = _LANGUAGES[tongue][0]
    return Item(Question(f'{meaning}-{tongue}', text, locale, meaning, answers[0], volatile=volatile, accepted=answers))
