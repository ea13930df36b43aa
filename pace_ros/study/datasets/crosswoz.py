"""CrossWOZ: Chinese questions about restaurants, hotels and sights of Beijing, answered from a database.

Taken are the questions that name their venue; a meaning is one property of one venue, and its wordings are those of
the dialogues. "What is this restaurant's address?" has as many right answers as there are venues: words alone, which
are all that a judge has here, do not tell them apart.
"""
from __future__ import annotations

from pathlib import Path

from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.compose import Item, compose, passage
from pace_ros.study.datasets.files import need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import Row, json_lines

NAME = 'crosswoz'
QUESTIONS, VENUES = 'crosswoz_questions_zh.jsonl', 'crosswoz_kb_zh.jsonl'
VOLATILE = frozenset({'价格', '门票', '人均消费', '营业时间', '评分'})
"""Properties that change with time: price, ticket, cost a head, opening hours, rating."""
UNITS = {'价格': '元', '门票': '元', '人均消费': '元', '评分': '分'}


def load(folder: Path) -> DataSet:
    """From the questions and venues as JSONL. Raises DataSetError."""
    venues = [_venue(row) for path in need(folder, NAME, (VENUES,)) for row in json_lines(path)]
    known = {each.entry_id for each in venues}
    clusters: dict[str, list[Question]] = {}
    for path in need(folder, NAME, (QUESTIONS,)):
        for row in json_lines(path):
            if not row.flag('context_dependent') and row.fields.get('answer') not in (None, '', []):
                clusters.setdefault(row.text('cluster'), []).append(_question(row, known))
    items = [Item(group[0], tuple(('cluster', each.text) for each in group[1:])) for group in clusters.values()]
    return compose(NAME, items, venues)


def _question(row: Row, known: set[str]) -> Question:
    """A bare number is no accepted text, since it stands in many an answer: there the facts of the reference count."""
    slot, venue, value = row.text('slot'), f'venue-{row.text("entity")}', _written(row, 'answer')
    reference = f'{row.text("entity")}的{slot}：{value}{UNITS.get(slot, "")}'
    number = value.replace('.', '').isdecimal()
    return Question(
        row.text('id'), row.text('question'), 'zh-CN', row.text('cluster'), reference, volatile=slot in VOLATILE,
        topic=slot, accepted=() if number else (value,), sources=(venue,) if venue in known else (),
    )


def _venue(row: Row) -> KnowledgeEntry:
    parts = (f'{name}：{_written(row, name)}{UNITS.get(name, "")}' for name in row.fields if row.fields[name])
    return passage(f'venue-{row.text("名称")}', {'zh': '；'.join(parts)}, row.text('领域'))


def _written(row: Row, name: str) -> str:
    value = row.fields[name]
    if isinstance(value, list):
        return '、'.join(row.texts(name))
    return str(value) if isinstance(value, (int, float)) else row.text(name)
