"""XQuAD with NoiseQA: the same questions in English and Chinese, the English ones also as heard by a recogniser (kind
asr), mistyped (keyboard) and translated back from Chinese (back-translated). Wordings of the Chinese ones are derived.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.compose import Item, compose, passage
from pace_ros.study.datasets.files import find, need
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import json_lines
from pace_ros.study.datasets.squad import Extract, read_squad

NAME = 'xquad'
RAW = {'en': ('xquad.en.json',), 'zh': ('xquad.zh.json',)}
NOISE = {
    'asr': ('xquad-asr-natural.json', 'Natural/xquad-asr-natural.json'),
    'keyboard': ('xquad-keyboard-natural.json', 'Natural/xquad-keyboard-natural.json'),
    'back-translated': ('xquad-context-en-question-zh.json', 'Translations/xquad-context-en-question-zh.json'),
}
QUESTIONS, PASSAGES = 'xquad_noise_en_zh.jsonl', 'xquad_passages_en_zh.jsonl'
_LOCALES = {'en': 'en-US', 'zh': 'zh-CN'}


def load(folder: Path) -> DataSet:
    """From the published JSON of one or both languages, with what noise files are there, or from the joined JSONL.

    Raises DataSetError.
    """
    if not any(find(folder, *patterns) for patterns in RAW.values()):
        return _from_lines(folder)
    read = {tongue: list(read_squad(path, 'x')) for tongue, names in RAW.items() for path in find(folder, *names)}
    noise = {
        kind: {each.question_id: each.question for each in read_squad(path)}
        for kind, names in NOISE.items() for path in find(folder, *names)
    }
    items = [_item(tongue, each, noise) for tongue, extracts in read.items() for each in extracts if each.answers]
    return compose(NAME, items, _passages(read))


def _item(tongue: str, each: Extract, noise: Mapping[str, Mapping[str, str]]) -> Item:
    others = tuple((kind, texts[each.question_id]) for kind, texts in noise.items() if each.question_id in texts)
    return Item(_question(tongue, each.question_id, each.question, each.answers, each.passage_id),
                others if tongue == 'en' else ())


def _passages(read: Mapping[str, Sequence[Extract]]) -> list[KnowledgeEntry]:
    texts: dict[str, dict[str, str]] = {}
    for tongue, extracts in read.items():
        for each in extracts:
            texts.setdefault(each.passage_id, {})[tongue] = each.passage
    return [passage(key, both) for key, both in texts.items()]


def _from_lines(folder: Path) -> DataSet:
    items = []
    for path in need(folder, NAME, (QUESTIONS, 'xquad.en.json')):
        for row in json_lines(path):
            given = [(kind, kind.replace('-', '_') + '_en') for kind in NOISE]
            others = tuple((kind, row.text(field)) for kind, field in given if row.fields.get(field))
            for tongue in _LOCALES:
                text, answer = row.text(f'question_{tongue}'), row.text(f'answer_{tongue}')
                question = _question(tongue, row.text('id'), text, (answer,), row.text('passage_id'))
                items.append(Item(question, others if tongue == 'en' else ()))
    passages = [
        passage(row.text('passage_id'), {tongue: row.text(f'text_{tongue}') for tongue in _LOCALES})
        for path in need(folder, NAME, (PASSAGES,)) for row in json_lines(path)
    ]
    return compose(NAME, items, passages)


def _question(tongue: str, meaning: str, text: str, answers: tuple[str, ...], source: str) -> Question:
    return Question(f'{meaning}-{tongue}', text, _LOCALES[tongue], meaning, answers[0], accepted=answers,
                    sources=(source,))
