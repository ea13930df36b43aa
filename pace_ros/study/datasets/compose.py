"""From the items of a public file to a data set: wordings that are told apart, knowledge for the robot, a version."""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pace_ros.language import language, normal_form
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.derived import DERIVED, derived
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import DataSetError

MOST = 1000
"""Meanings taken of a large file, so that its knowledge is encoded within seconds."""


@dataclass(frozen=True)
class Item:
    """A question of a file with its further wordings, as (kind, text)."""

    seed: Question
    others: tuple[tuple[str, str], ...] = ()


def compose(name: str, items: Iterable[Item], passages: Sequence[KnowledgeEntry] = (), *, most: int = MOST) -> DataSet:
    """A data set of at most ``most`` meanings, taken evenly from all.

    Every second meaning has a knowledge entry that may be returned directly, asked in the words of its seeds; those
    passages inform the language model that a question names as its source. Where a file has one wording of a question,
    light ones are derived. Words that two questions share are the first one's. Raises DataSetError for none.
    """
    words = _Words()
    seeds: list[Question] = []
    others: list[Question] = []
    entries: list[KnowledgeEntry] = []
    kept = 0
    for group in _selected(items, most):
        mine = [item for item in group if words.take(item.seed.text)]
        if not mine:
            continue
        kept += 1
        if kept % 2:
            entries.append(_entry([item.seed for item in mine]))
            mine = [_sourced(item, entries[-1].entry_id) for item in mine]
        seeds += [item.seed for item in mine]
        others += [other for item in mine for other in _paraphrases(item, words)]
    if not seeds:
        raise DataSetError(f"data set '{name}': the files have no question with an answer.")
    used = {source for seed in seeds for source in seed.sources}
    informing = tuple(each for each in passages if each.entry_id in used)
    version = hashlib.sha256(repr((seeds, others)).encode()).hexdigest()[:12]
    return DataSet(name, version, tuple(seeds), tuple(others), (*entries, *informing))


def passage(entry_id: str, texts: Mapping[str, str], topic: str = '') -> KnowledgeEntry:
    """Text by language (zh, en) that informs the language model."""
    return KnowledgeEntry(entry_id, {}, texts, topic)


class _Words:
    """Wordings given out so far, each once, by their normal form: what the robot takes for the same words."""

    def __init__(self) -> None:
        self._taken = {''}

    def take(self, text: str) -> bool:
        """Whether these words were free."""
        form = normal_form(text)
        free = form not in self._taken
        self._taken.add(form)
        return free


def _selected(items: Iterable[Item], most: int) -> list[list[Item]]:
    grouped: dict[str, list[Item]] = {}
    for item in items:
        grouped.setdefault(item.seed.meaning, []).append(item)
    groups = list(grouped.values())
    return groups if len(groups) <= most else [groups[place * len(groups) // most] for place in range(most)]


def _entry(asked: Sequence[Question]) -> KnowledgeEntry:
    first = asked[0]
    return KnowledgeEntry(
        f'faq-{first.meaning}',
        {language(each.locale): (each.text,) for each in asked},
        {language(each.locale): each.answer for each in asked},
        first.topic,
        first.volatile,
    )


def _sourced(item: Item, entry_id: str) -> Item:
    return replace(item, seed=replace(item.seed, sources=(entry_id, *item.seed.sources)))


def _paraphrases(item: Item, words: _Words) -> list[Question]:
    """Those of the file that are not mere copies of the seed; without any, derived ones."""
    given = [(kind, text) for kind, text in item.others if words.take(text)]
    made = [] if given else [text for text in derived(item.seed.text, item.seed.locale) if words.take(text)]
    return [
        replace(item.seed, question_id=f'{item.seed.question_id}/{number}', text=text, kind=kind)
        for number, (kind, text) in enumerate([*given, *((DERIVED, text) for text in made)], start=1)
    ]
