"""CMRC 2018: Chinese questions on Wikipedia passages, answered by spans of them. Wordings besides are derived."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pace_ros.study.datasets.compose import Item, compose, passage
from pace_ros.study.datasets.files import find, need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import json_file, json_lines
from pace_ros.study.datasets.squad import Extract, read_squad

NAME = 'cmrc2018'
RAW = ('cmrc2018_dev.json', 'cmrc2018*.json', 'squad-style-data/cmrc2018_dev.json', 'data/cmrc2018_dev.json')
QUESTIONS, PASSAGES = 'cmrc2018_*_questions_zh.jsonl', 'cmrc2018_*_passages_zh.jsonl'


def load(folder: Path) -> DataSet:
    """From the published JSON, SQuAD-style or its own, or from its questions and passages as JSONL.

    Raises DataSetError.
    """
    paths = find(folder, *RAW)
    if not paths:
        return _from_lines(folder)
    items, passages = [], {}
    for path in paths:
        for each in _own_style(path) if _is_own_style(path) else read_squad(path, path.stem + '-'):
            passages[each.passage_id] = each.passage
            if each.answers:
                items.append(Item(_question(each.question_id, each.question, each.answers, each.passage_id)))
    return compose(NAME, items, [passage(key, {'zh': text}) for key, text in passages.items()])


def _is_own_style(path: Path) -> bool:
    return any('context_id' in each.fields for each in json_file(path).rows('data')[:1])


def _own_style(path: Path) -> Iterator[Extract]:
    for context in json_file(path).rows('data'):
        for row in context.rows('qas'):
            yield Extract(row.text('query_id'), row.text('query_text'), row.texts('answers'),
                          context.text('context_id'), context.text('context_text'))


def _from_lines(folder: Path) -> DataSet:
    items = [
        Item(_question(row.text('id'), row.text('question'), answers, row.text('passage_id')))
        for path in need(folder, NAME, (QUESTIONS, *RAW)) for row in json_lines(path)
        if (answers := row.texts('answers'))
    ]
    passages = [
        passage(row.text('passage_id'), {'zh': row.text('text')})
        for path in need(folder, NAME, (PASSAGES,)) for row in json_lines(path)
    ]
    return compose(NAME, items, passages)


def _question(question_id: str, text: str, answers: tuple[str, ...], source: str) -> Question:
    return Question(question_id, text, 'zh-CN', question_id, answers[0], accepted=answers, sources=(source,))
