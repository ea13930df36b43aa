"""Which wordings a meaning gets: its seed, a variant, and paraphrases of several kinds."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pace_ros.language import normal_form
from pace_ros.study.carqa.catalogue import Item
from pace_ros.study.carqa.chance import chance
from pace_ros.study.carqa.noise import noisy
from pace_ros.study.carqa.spoken import spoken
from pace_ros.study.carqa.templates import TemplateError

KINDS = {'lexical': 3.0, 'syntactic': 3.0, 'spoken': 2.4, 'elliptic': 0.8, 'asr': 0.9}
"""Kinds of paraphrase, with how often each is tried first."""
_TRIES = 60
_SYNONYMS = {
    'zh': (('卖多少钱', '卖什么价'), ('多久', '多长时间'), ('什么时候', '啥时候'), ('现在', '目前'), ('几个', '多少个'),
           ('每个月', '一个月'), ('多少台', '几台'), ('有多大', '是多大的'), ('要花', '得花')),
    'en': (('right now', 'at the moment'), ("What's the", 'What is the'), ("When's", 'When is'),
           ('a month', 'per month'), ('What does the {x} cost?', 'What do you want for the {x}?'),
           ('per 100', 'for every 100')),
}


class Wording(NamedTuple):
    """A text with the kind of paraphrase it is, seed for the seed."""

    kind: str
    text: str


def seed_wording(item: Item, language: str, seed: int) -> tuple[str, Wording]:
    """The seed of a meaning, with the template it was made from."""
    template = _source(item, language, seed).choice(item.aspect.phrases[language].plain)
    return template, Wording('seed', item.fill(template, language))


def paraphrases(
    item: Item, language: str, seed: int, count: int, taken: set[str], keeps: Callable[[str], bool]
) -> Iterator[Wording]:
    """As many paraphrases, none of which is ``taken`` (normal forms, added to); ``keeps`` tells whether a wording asks
    for the facts of the seed. Raises TemplateError where a meaning has too few wordings.
    """
    template, _ = seed_wording(item, language, seed)
    source = _source(item, language, f'{seed}/paraphrases')
    made = _candidates(item, language, template, source)
    for _ in range(_TRIES * count):
        wording = next(made)
        form = normal_form(wording.text)
        if form in taken or not keeps(wording.text):
            continue
        taken.add(form)
        yield wording
        count -= 1
        if not count:
            return
    raise TemplateError(f'{item.key} has too few wordings in {language}.')


def _candidates(item: Item, language: str, template: str, source: random.Random) -> Iterator[Wording]:
    """Kinds in a random order in which none is used up soon."""
    phrases = item.aspect.phrases[language]
    long = phrases.plain + phrases.turned
    swapped = [template.replace(one, other, 1) for one, other in _SYNONYMS[language] if one in template]
    fixed = {
        'lexical': _shuffled([*phrases.plain, *swapped[:1]], source),
        'syntactic': _shuffled(phrases.turned, source),
        'elliptic': _shuffled(phrases.short, source),
    }
    thing = item.family.kind == 'model'
    while True:
        kind = source.choices(list(KINDS), list(KINDS.values()))[0]
        if kind == 'spoken':
            written = source.choice(long)
            said = spoken(written, language, source, thing=thing, direct=written in phrases.plain)
            if said == written:
                continue
            text = item.fill(said, language)
        elif kind == 'asr':
            text = noisy(item.fill(source.choice(long), language), language, source)
        elif fixed[kind]:
            text = item.fill(fixed[kind].pop(), language)
        else:
            continue
        yield Wording(kind, text)


def _shuffled(texts: tuple[str, ...] | list[str], source: random.Random) -> list[str]:
    return source.sample(texts, len(texts))


def _source(item: Item, language: str, seed: int | str) -> random.Random:
    return chance(seed, item.key, language)
