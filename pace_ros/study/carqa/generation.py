"""CarQA from a seed: catalogue, questions, paraphrases, knowledge and events."""
from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pace_ros.facts import FactExtractor, ProductNames, difference
from pace_ros.facts.facts import Facts
from pace_ros.facts.polarity import Polarity
from pace_ros.language import normal_form
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.carqa import events, passages
from pace_ros.study.carqa.catalogue import Item, items
from pace_ros.study.carqa.chance import chance
from pace_ros.study.carqa.templates import LANGUAGES, Family, TemplateError, read_templates
from pace_ros.study.carqa.wordings import paraphrases, seed_wording
from pace_ros.study.datasets.question import Change, Question

VERSION = '1.0'
SEED = 7
MEANINGS = 905
PARAPHRASES = 4523  # of a language
_UNEVEN = 60  # meanings with six paraphrases; the others have five, but for a few with four
TRIMS = {'lite': ['Lite', '轻享版', '入门版', '最低配'], 'apex': ['Apex', '巅峰版', '顶配', '最高配']}
LOCALES = {'zh': 'zh-CN', 'en': 'en-US'}


@dataclass(frozen=True)
class CarQA:
    """All of it. ``names`` are product names with their spellings by kind."""

    seeds: tuple[Question, ...]
    variants: tuple[Question, ...]
    paraphrases: tuple[Question, ...]
    knowledge: tuple[KnowledgeEntry, ...]
    volatile: tuple[str, ...]
    changes: tuple[Change, ...]
    names: dict[str, dict[str, list[str]]]


def candidates(seed: int, families: Sequence[Family]) -> list[tuple[Item, dict[str, str]]]:
    """Every meaning of the catalogue with its seed questions by language, but those in the words of another."""
    found: list[tuple[Item, dict[str, str]]] = []
    taken: set[str] = set()
    for item in items(families, seed):
        texts = {key: seed_wording(item, key, seed)[1].text for key in LANGUAGES}
        forms = {normal_form(text) for text in texts.values()}
        if not forms & taken:
            taken |= forms
            found.append((item, texts))
    return found


def generate(seed: int, folder: Path, antonyms: Path, near: Collection[str] = ()) -> CarQA:
    """Generate it from the templates in ``folder``, without the meanings ``near`` others (by ``dedup.near_ones``).

    Of the others ``MEANINGS`` are kept at random. Raises TemplateError where there are too few, or too few wordings.
    """
    families = read_templates(folder)
    found = [(item, texts) for item, texts in candidates(seed, families) if item.key not in near]
    if len(found) < MEANINGS:
        raise TemplateError(f'The templates give {len(found)} meanings, fewer than {MEANINGS}.')
    kept = sorted(chance(seed, 'kept').sample(range(len(found)), MEANINGS))
    found = [found[place] for place in kept]
    names = product_names(families)
    facts = extractor(names, antonyms)
    chosen = [item for item, _ in found]
    entered = passages.chosen(chosen, seed)
    everything = list(items(families, seed))
    seeds, variants, further = _questions(found, seed, facts, entered)
    by_meaning = {(item.key, key): text for item, texts in found for key, text in texts.items()}
    knowledge = [
        *passages.entries([item for item in chosen if item.key in entered], by_meaning),
        *passages.leaflets([item for item in chosen if item.key not in entered], by_meaning),
        *passages.passages(everything),
    ]
    aging = events.volatile_items(chosen, seed)
    return CarQA(tuple(seeds), tuple(variants), tuple(further), tuple(knowledge), tuple(item.key for item in aging),
                 tuple(events.changes(aging, seed, facts)), names)


def product_names(families: Sequence[Family]) -> dict[str, dict[str, list[str]]]:
    """The names of all ``named`` families by kind, and those of the trims."""
    found = {
        family.kind: {each.entity_id: [each.names['en'], each.names['zh']] for each in family.entities}
        for family in families if family.named
    }
    return {**found, 'trim': TRIMS}


def extractor(names: dict[str, dict[str, list[str]]], antonyms: Path) -> FactExtractor:
    """What reads facts in CarQA's texts."""
    spellings = {each: (kind, name) for kind, group in names.items() for name, all_ in group.items() for each in all_}
    return FactExtractor(ProductNames(spellings), Polarity.read(antonyms))


def _questions(
    found: Sequence[tuple[Item, dict[str, str]]], seed: int, facts: FactExtractor, entered: frozenset[str]
) -> tuple[list[Question], list[Question], list[Question]]:
    seeds, variants, further = [], [], []
    counts = _counts(seed)
    taken = {normal_form(text) for _, texts in found for text in texts.values()}

    for number, (item, texts) in enumerate(found):
        for language in LANGUAGES:
            keeps = functools.partial(_keeps, facts, facts.facts(texts[language], language), language)
            made = paraphrases(item, language, seed, 1 + counts[number], taken, keeps)
            wordings = [('seed', texts[language]), *made]
            questions = [
                _question(item, language, place, *wording, entered) for place, wording in enumerate(wordings)
            ]
            seeds.append(questions[0])
            variants.append(questions[1])
            further += questions[2:]
    return seeds, variants, further


def _keeps(facts: FactExtractor, asked: Facts, language: str, text: str) -> bool:
    """Whether a text names what a question names; words of another side (large, small) may say the same."""
    return difference(asked, facts.facts(text, language)) in ('', 'polarity', 'negations')


def _question(item: Item, language: str, place: int, kind: str, text: str, entered: frozenset[str]) -> Question:
    if item.key in entered:
        known = [passages.entry_id(item)]
    else:
        known = [passages.leaflet_id(item, each) for each in LANGUAGES]
    sources = (*known, *(passages.passage_id(item, each) for each in LANGUAGES))
    return Question(f'{item.key}.{language}.{place}', text, LOCALES[language], item.key, item.answer(language), kind,
                    item.volatile, item.aspect.topic, sources=sources)


def _counts(seed: int) -> list[int]:
    """How many paraphrases each meaning has."""
    fewer = 5 * MEANINGS + _UNEVEN - PARAPHRASES
    counts = [6] * _UNEVEN + [4] * fewer + [5] * (MEANINGS - _UNEVEN - fewer)
    chance(seed, 'counts').shuffle(counts)
    return counts
