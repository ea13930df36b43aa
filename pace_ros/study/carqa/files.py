"""CarQA's files: JSON lines, written the same way each time."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pace_ros.packaged import MissingPackage
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.carqa.generation import VERSION, CarQA
from pace_ros.study.datasets.question import Change, DataSet, Question
from pace_ros.study.refusal import Refusal

SEEDS, VARIANTS, PARAPHRASES = 'seeds.jsonl', 'variants.jsonl', 'paraphrases.jsonl'
KNOWLEDGE, CHANGES, VOLATILE, NAMES = 'knowledge.jsonl', 'changes.jsonl', 'volatile.jsonl', 'names.yaml'
ORIGIN, TEMPLATES = 'origin.json', 'templates'
_NAMES_HEAD = '# Product names of CarQA with their spellings, by kind. All are invented.\n'


class CarQAError(Refusal):
    """Files of CarQA that cannot be used; the message names what is at fault."""


def shipped() -> Path:
    """The folder of the files that come with the package: in the source tree, or installed under ``share/pace_ros``.

    Raises MissingPackage if neither is there.
    """
    for parent in Path(__file__).resolve().parents[3:]:
        for folder in (parent / 'data' / 'carqa', parent / 'share' / 'pace_ros' / 'data' / 'carqa'):
            if (folder / ORIGIN).is_file() or (folder / TEMPLATES).is_dir():
                return folder
    raise MissingPackage('The files of CarQA are not installed: build pace_ros with colcon.')


def contents(data: CarQA, seed: int, near: Sequence[str]) -> dict[str, str]:
    """Every file's text by its name."""
    origin = {'name': 'CarQA', 'version': VERSION, 'seed': seed, 'near': list(near)}
    return {
        SEEDS: _lines(map(_seed, data.seeds)),
        VARIANTS: _lines(map(_paraphrase, data.variants)),
        PARAPHRASES: _lines(map(_paraphrase, data.paraphrases)),
        VOLATILE: _lines({'meaning': each} for each in data.volatile),
        CHANGES: _lines({'number': c.number, 'meaning': c.meaning, 'answers': c.answers} for c in data.changes),
        KNOWLEDGE: _lines(map(_entry, data.knowledge)),
        NAMES: _NAMES_HEAD + yaml.safe_dump(data.names, allow_unicode=True, sort_keys=False, default_flow_style=None),
        ORIGIN: json.dumps(origin, ensure_ascii=False, indent=1) + '\n',
    }


def read(folder: Path) -> DataSet:
    """All of CarQA in a folder: CarQA-3k's seeds, its variants and CarQA-Para as paraphrases. Raises CarQAError."""
    seeds = {(line['meaning'], line['locale']): _read_seed(line) for line in _records(folder / SEEDS)}
    further = tuple(
        _read_paraphrase(line, seeds[line['meaning'], line['locale']])
        for name in (VARIANTS, PARAPHRASES) for line in _records(folder / name)
    )
    knowledge = tuple(map(_read_entry, _records(folder / KNOWLEDGE)))
    changes = tuple(Change(**line) for line in _records(folder / CHANGES))
    return DataSet('CarQA', VERSION, tuple(seeds.values()), further, knowledge, changes, folder / NAMES)


def read_volatile(folder: Path) -> DataSet:
    """CarQA-Volatile: the questions whose answers the events change, and all of the knowledge. Raises CarQAError."""
    data = read(folder)
    aging = {line['meaning'] for line in _records(folder / VOLATILE)}
    seeds, further = (tuple(q for q in some if q.meaning in aging) for some in (data.seeds, data.paraphrases))
    return DataSet('CarQA-Volatile', VERSION, seeds, further, data.knowledge, data.changes, data.names_file)


def origin(folder: Path) -> tuple[int, list[str]]:
    """The seed a folder's files were generated from, and the meanings left out. Raises CarQAError."""
    try:
        content = json.loads((folder / ORIGIN).read_text(encoding='utf-8'))
        return int(content['seed']), list(content['near'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CarQAError(f'{folder / ORIGIN} cannot be used: {error}.') from error


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return ''.join(json.dumps(each, ensure_ascii=False) + '\n' for each in records)


def _records(file: Path) -> Iterator[dict[str, Any]]:
    try:
        text = file.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise CarQAError(f'{file} cannot be read: {error}.') from error
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise CarQAError(f'{file}, line {number}: no valid JSON: {error}.') from error


def _seed(each: Question) -> dict[str, Any]:
    return {'id': each.question_id, 'meaning': each.meaning, 'locale': each.locale, 'text': each.text,
            'answer': each.answer, 'topic': each.topic, 'volatile': each.volatile, 'sources': each.sources}


def _read_seed(line: Mapping[str, Any]) -> Question:
    return Question(line['id'], line['text'], line['locale'], line['meaning'], line['answer'],
                    volatile=line['volatile'], topic=line['topic'], sources=tuple(line['sources']))


def _paraphrase(each: Question) -> dict[str, Any]:
    return {'id': each.question_id, 'meaning': each.meaning, 'locale': each.locale, 'kind': each.kind,
            'text': each.text}


def _read_paraphrase(line: Mapping[str, Any], seed: Question) -> Question:
    return Question(line['id'], line['text'], seed.locale, seed.meaning, seed.answer, line['kind'], seed.volatile,
                    seed.topic, sources=seed.sources)


def _entry(each: KnowledgeEntry) -> dict[str, Any]:
    questions = {key: list(value) for key, value in each.questions.items()}
    return {'id': each.entry_id, 'topic': each.topic, 'volatile': each.volatile, 'source': each.source,
            **({'questions': questions} if questions else {'passage': True}), 'answer': dict(each.answers)}


def _read_entry(line: Mapping[str, Any]) -> KnowledgeEntry:
    questions = {key: tuple(value) for key, value in line.get('questions', {}).items()}
    return KnowledgeEntry(line['id'], questions, line['answer'], line['topic'], line['volatile'], line['source'])
