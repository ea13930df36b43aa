"""What the robot knows: entries for half of the meanings, leaflets that answer the others, brochures with all facts."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.carqa.catalogue import Item
from pace_ros.study.carqa.chance import chance
from pace_ros.study.carqa.templates import LANGUAGES

SOURCE = 'CarQA catalogue'


def entry_id(item: Item) -> str:
    """Of the entry that answers a meaning."""
    return item.key


def passage_id(item: Item, language: str) -> str:
    """Of the passage that states the answer to a meaning."""
    return f'{item.thing}/{item.aspect.part}.{language}'


def leaflet_id(item: Item, language: str) -> str:
    """Of the leaflet that answers a meaning without an entry."""
    return f'{item.key}/leaflet.{language}'


def chosen(items: Sequence[Item], seed: int) -> frozenset[str]:
    """The meanings that have an entry: half of them."""
    keys = [item.key for item in items]
    return frozenset(chance(seed, 'entries').sample(keys, len(keys) // 2))


def entries(items: Iterable[Item], questions: Mapping[tuple[str, str], str]) -> list[KnowledgeEntry]:
    """One for each item, with its seed questions (by meaning and language)."""
    return [
        KnowledgeEntry(
            entry_id(item),
            {language: (questions[item.key, language],) for language in LANGUAGES},
            {language: item.answer(language) for language in LANGUAGES},
            topic=item.aspect.topic, volatile=item.volatile, source=SOURCE,
        )
        for item in items
    ]


def leaflets(items: Iterable[Item], seeds: Mapping[tuple[str, str], str]) -> list[KnowledgeEntry]:
    """One for each item and language: a heading that asks in other words than the seed (by meaning and language), and
    the answer. Texts of facts alone are found by few questions, as their vectors lie far from any question's.
    """
    return [
        KnowledgeEntry(leaflet_id(item, language), {}, {language: _leaflet(item, language, seeds[item.key, language])},
                       topic=item.aspect.topic, volatile=item.volatile, source=SOURCE)
        for item in items for language in LANGUAGES
    ]


def _leaflet(item: Item, language: str, seed: str) -> str:
    headings = (item.fill(each, language) for each in item.aspect.phrases[language].plain)
    heading = next(each for each in headings if each != seed)
    return f"{heading}{' ' if language == 'en' else ''}{item.answer(language)}"


def passages(items: Iterable[Item]) -> list[KnowledgeEntry]:
    """One for each thing, part and language, since a passage is found by its text."""
    grouped: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        for language in LANGUAGES:
            grouped.setdefault((passage_id(item, language), language), []).append(item)
    return [
        KnowledgeEntry(name, {}, {language: _text(group, language)}, topic=group[0].aspect.part,
                       volatile=any(item.volatile for item in group), source=SOURCE)
        for (name, language), group in grouped.items()
    ]


def _text(group: Sequence[Item], language: str) -> str:
    first = group[0]
    part = first.family.parts[first.aspect.part][language]
    facts = [item.fill(item.aspect.phrases[language].fact, language) for item in group]
    if language == 'zh':
        return first.fill(f"{{x}}{'的' + part if part else ''}：{'；'.join(facts)}。", 'zh')
    return first.fill(f"{{X}}{', ' + part if part else ''}: {'; '.join(facts)}.", 'en')
