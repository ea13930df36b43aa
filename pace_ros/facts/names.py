"""Which products a text names."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from pace_ros.facts.numerals import plain

Name = tuple[str, str]  # kind and name, such as ('model', 'lark')
_EVERYDAY = 'everyday'
_NEXT = re.compile(r"(?:'s)?[\s,/-]*(?:(?:and|or|和|或)\s*)?")  # what may stand between a name and the next


class NamesError(ValueError):
    """A file of names that cannot be used; the message names file and field."""


class Mention(NamedTuple):
    """A name at [start, end) of a text."""

    name: Name
    start: int
    end: int


class ProductNames:
    """Names by kind with all their spellings. Latin ones match whole words and plurals, others anywhere.

    Case is ignored, but for spellings that are everyday words (*plus*): written small they are names only in a text
    without capitals, or right after another name.
    """

    def __init__(self, spellings: Mapping[str, Name], everyday: Iterable[str] = ()) -> None:
        self._names = {plain(spelling).lower(): name for spelling, name in spellings.items()}
        self._everyday = frozenset(plain(word).lower() for word in everyday)
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile('|'.join(re.escape(each) for each in longest_first) or r'(?!)')

    @classmethod
    def read(cls, path: Path) -> ProductNames:
        """Read kind -> name -> spellings, and ``everyday`` -> spellings. Raises NamesError naming file and field."""
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise NamesError(f'{path} cannot be read: {error}.') from error
        if not isinstance(content, dict):
            raise NamesError(f'{path}: must map kinds to names.')
        everyday = _spellings(content.pop(_EVERYDAY, None) or [], path, _EVERYDAY)
        found: dict[str, Name] = {}
        for kind, names in content.items():
            if not isinstance(names, dict):
                raise NamesError(f"{path}, field '{kind}': must map names to lists of spellings.")
            for name, spellings in names.items():
                for spelling in _spellings(spellings, path, f'{kind}.{name}'):
                    if found.setdefault(spelling.lower(), (str(kind), str(name))) != (str(kind), str(name)):
                        raise NamesError(f"{path}, field '{kind}.{name}': {spelling!r} is also another name.")
        for word in everyday:
            if word.lower() not in found:
                raise NamesError(f"{path}, field '{_EVERYDAY}': {word!r} is no spelling of a name.")
        return cls(found, everyday)

    def find(self, text: str) -> tuple[Name, ...]:
        """The names in a text in its ``plain`` form, each once.

        Sorted by kind; those of one kind in the order of their first mention, since *is A faster than B* matters.
        """
        return listed(self.mentions(text))

    def mentions(self, text: str) -> Iterator[Mention]:
        """Every name in a text in its ``plain`` form, in order."""
        small = text.lower()
        if len(small) != len(text):  # a letter whose small form is two
            text = small
        last = -1
        for match in self._pattern.finditer(small):
            spelling = match.group()
            start, end = match.span()
            if not _is_whole(small, start, end):
                continue
            written_small = spelling in self._everyday and small != text and text[start:end] == spelling
            if written_small and not (last >= 0 and _NEXT.fullmatch(small, last, start)):
                continue
            yield Mention(self._names[spelling], start, end)
            last = end


def listed(mentions: Iterable[Mention]) -> tuple[Name, ...]:
    """The names mentioned, each once, sorted by kind; those of one kind in the order of their first mention."""
    return tuple(sorted(dict.fromkeys(mention.name for mention in mentions), key=lambda name: name[0]))


def _spellings(value: object, path: Path, field: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise NamesError(f"{path}, field '{field}': must be a list of spellings.")
    return [plain(item.strip()) for item in value]


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether [start, end) is no part of a longer Latin word; a plural is none."""
    if text[start].isascii() and start and _is_latin(text[start - 1]):
        return False
    if text[end - 1].isascii() and _is_latin(text[end:end + 1]):
        return text[end] == 's' and not _is_latin(text[end + 1:end + 2])
    return True


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()
