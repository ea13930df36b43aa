"""Patterns for text that comes in pieces: what is there whole, and what may still become it."""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Partial:
    """``whole`` matches at the beginning of a text, ``begun`` all of a text that may grow into such a one."""

    whole: re.Pattern[str]
    begun: re.Pattern[str]


def sequence(*parts: str | re.Pattern[str]) -> Partial:
    """These one after the other: literal text, or patterns that match every beginning of what they match."""
    atoms = [
        atom for part in parts
        for atom in ([re.escape(each) for each in part] if isinstance(part, str) else [f'(?:{part.pattern})'])
    ]
    begun = ''
    for atom in reversed(atoms):
        begun = f'(?:{atom}{begun})?'
    return Partial(re.compile(''.join(atoms)), re.compile(begun))


def either(*partials: Partial) -> Partial:
    """Any of these."""
    return Partial(
        re.compile('|'.join(f'(?:{each.whole.pattern})' for each in partials) or '(?!)'),
        re.compile('|'.join(f'(?:{each.begun.pattern})' for each in partials) or '(?!)'),
    )


def one_of(words: Iterable[str]) -> Partial:
    """Any of these words."""
    words = sorted(words, reverse=True)
    beginnings = sorted({word[:end] for word in words for end in range(len(word) + 1)}, reverse=True)
    return Partial(
        re.compile('|'.join(map(re.escape, words)) or '(?!)'), re.compile('|'.join(map(re.escape, beginnings)))
    )


def followed(first: Partial, second: Partial) -> Partial:
    """The one, and then the other."""
    whole = f'(?:{first.whole.pattern})'
    return Partial(
        re.compile(f'{whole}(?:{second.whole.pattern})'),
        re.compile(f'{first.begun.pattern}|{whole}(?:{second.begun.pattern})'),
    )
