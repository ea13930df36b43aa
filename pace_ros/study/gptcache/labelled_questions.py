"""Questions whose right answers are labelled, in two parts: one to fill a cache with, one to ask it."""
from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pace_ros import packaged
from pace_ros.cache import ScopeReader
from pace_ros.facts import ProductNames
from pace_ros.facts.numerals import plain
from pace_ros.llm import Exchange
from pace_ros.study.carqa import CarQAError
from pace_ros.study.carqa import load as load_carqa
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.refusal import Refusal

Row = Mapping[str, Any]
LEXICON = packaged.config_dir() / 'lexicon'
NOISE = ('asr_en', 'keyboard_en', 'back_translated_en')
SAME_VENUE = ('same_slot_wording', 'other_slot')  # kinds of pairs labelled as asked of one venue


class Unavailable(Refusal):
    """A set that cannot be had here; the message names it and says why."""


@dataclass(frozen=True)
class Asked:
    """A question. ``scope`` is what our cache would have as its key, None if it would not look it up."""

    text: str
    locale: str
    scope: str | None


Labelled = tuple[Asked, frozenset[str]]
"""A question with its labels: two questions that share one have a common right answer."""


@dataclass(frozen=True)
class LabelledSet:
    """``known`` fills a cache, ``asked`` is asked of it; ``names`` are those its questions speak of."""

    name: str
    known: tuple[Labelled, ...]
    asked: tuple[Labelled, ...]
    names: ProductNames


def labelled_sets(folder: Path) -> Iterator[Callable[[], LabelledSet]]:
    """The sets, each read when it is called; ``folder`` holds the public ones. A call raises Unavailable."""
    for read in (crosswoz, timeqa, xquad, banking):
        yield functools.partial(read, folder)
    for locale in ('zh', 'en'):
        yield functools.partial(showroom, locale)
    for locale in ('zh', 'en'):
        yield functools.partial(carqa, locale)


def crosswoz(folder: Path) -> LabelledSet:
    """Pairs of questions about venues: one known, one asked. Those that lean on the dialogue follow on the naming of
    their venue, by which our scope tells them apart. Label: venue and slot.
    """
    venues = {row['名称']: ('venue', plain(row['名称'])) for row in _rows(folder, 'crosswoz_kb_zh')}
    names = ProductNames(venues)
    reader = ScopeReader.read(LEXICON, names, ('venue',))

    def labelled(row: Row, entity: str) -> Labelled:
        history = (Exchange(f'我想去{entity}。', '好的。'),) if row['context_dependent'] else ()
        scope = reader.of(row['question'], 'zh', history)
        return Asked(row['question'], 'zh', scope.key), frozenset({f'{entity}/{row["slot"]}'})

    questions = {row['id']: row for row in _rows(folder, 'crosswoz_questions_zh') if row['entity']}
    known, asked = list[Labelled](), list[Labelled]()
    for pair in _rows(folder, 'crosswoz_pairs_zh'):
        one, other = questions.get(pair['a_id']), questions.get(pair['b_id'])
        if one is not None and other is not None:
            same = pair['kind'] in SAME_VENUE
            known.append(labelled(one, one['entity']))
            asked.append(labelled(other, one['entity'] if same else other['entity']))
    return LabelledSet('CrossWOZ pairs (zh)', tuple(dict.fromkeys(known)), tuple(asked), names)


def timeqa(folder: Path) -> LabelledSet:
    """The same question about other periods, the first of each group known. Labels: the answers within the group."""
    groups: dict[str, list[Labelled]] = {}
    for row in _rows(folder, 'timeqa_nearmiss_en'):
        labels = frozenset(f'{row["group"]}/{answer}' for answer in row['answers'])
        groups.setdefault(row['group'], []).append((_alone(row['question'], 'en'), labels))
    return LabelledSet('TimeQA, other period (en)', tuple(rows[0] for rows in groups.values()),
                       tuple(itertools.chain.from_iterable(rows[1:] for rows in groups.values())), _showroom_names())


def xquad(folder: Path) -> LabelledSet:
    """Every second question known; asked are noisy forms of every fourth pair of questions, so that half of them have
    an answer. Label: the question.
    """
    rows = _rows(folder, 'xquad_noise_en_zh')
    known = [(_alone(row['question_en'], 'en'), frozenset({str(number)}))
             for number, row in enumerate(rows) if number % 2 == 0]
    asked = [(_alone(row[form], 'en'), frozenset({str(number)}))
             for number, row in enumerate(rows) if number % 8 < 2 for form in NOISE]
    return LabelledSet('XQuAD, noisy forms (en)', tuple(known), tuple(asked), _showroom_names())


def banking(folder: Path) -> LabelledSet:
    """Known are the train questions, asked every third test question. Label: the intent, looser than an answer."""
    parts: dict[str, list[Labelled]] = {'train': [], 'test': []}
    for row in _rows(folder, 'banking77_en'):
        parts[row['split']].append((_alone(row['text'], 'en'), frozenset({row['intent']})))
    return LabelledSet('BANKING77, one intent (en)', tuple(parts['train']), tuple(parts['test'][::3]),
                       _showroom_names())


def showroom(locale: str) -> LabelledSet:
    """The packaged knowledge: one wording of each entry known, the others asked. Label: the entry."""
    known, asked = list[Labelled](), list[Labelled]()
    for file in sorted((packaged.config_dir() / 'knowledge').glob('*.yaml')):
        for entry in yaml.safe_load(file.read_text(encoding='utf-8')):
            wordings = [(_standing(text, locale), frozenset({str(entry['id'])}))
                        for text in entry['questions'].get(locale, ())]
            known += wordings[:1]
            asked += wordings[1:]
    return LabelledSet(f'showroom, one entry ({locale})', tuple(known), tuple(asked), _showroom_names())


def carqa(locale: str) -> LabelledSet:
    """CarQA in one language: of two in three meanings the seed is known, asked are every fifth paraphrase of all.
    Label: the meaning.
    """
    try:
        data = load_carqa()
    except (CarQAError, packaged.MissingPackage) as error:
        raise Unavailable(f'CarQA ({locale}): {error}') from error
    return of_data_set(data.in_language(locale), locale, 5)


def of_data_set(data: DataSet, locale: str, every: int) -> LabelledSet:
    """Seeds without each third, and each so-manieth paraphrase of all."""
    names = _showroom_names() if data.names_file is None else ProductNames.read(data.names_file)
    reader = ScopeReader.read(LEXICON, names)

    def labelled(question: Question) -> Labelled:
        scope = reader.of(question.text, question.locale, ())
        return Asked(question.text, locale, scope.key), frozenset({question.meaning})

    known = (each for number, each in enumerate(data.seeds) if number % 3)
    return LabelledSet(f'{data.name}, paraphrases ({locale})', tuple(map(labelled, known)),
                       tuple(map(labelled, data.paraphrases[::every])), names)


def _rows(folder: Path, name: str) -> list[Row]:
    """The rows of a data file. Raises Unavailable where there is none."""
    file = folder / f'{name}.jsonl'
    try:
        lines: Iterable[str] = file.read_text(encoding='utf-8').splitlines()
    except OSError as error:
        raise Unavailable(f'{file}: {error.strerror}') from error
    return [json.loads(line) for line in lines if line.strip()]


@functools.cache
def _showroom_names() -> ProductNames:
    return ProductNames.read(packaged.config_dir() / 'names.yaml')


@functools.cache
def _showroom_reader() -> ScopeReader:
    return ScopeReader.read(LEXICON, _showroom_names())


def _alone(text: str, locale: str) -> Asked:
    """A question of a set without dialogue: it stands by itself."""
    return Asked(text, locale, locale)


def _standing(text: str, locale: str) -> Asked:
    """A showroom question without anything said before."""
    return Asked(text, locale, _showroom_reader().of(text, locale, ()).key)
