"""Which products a text names."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

Name = tuple[str, str]  # kind and name, such as ('model', 'lark')


class NamesError(ValueError):
    """A file of names that cannot be used; the message names file and field."""


class ProductNames:
    """Names by kind with all their spellings. Latin ones match whole words, others anywhere; case is ignored."""

    def __init__(self, spellings: Mapping[str, Name]) -> None:
        self._names = {spelling.casefold(): name for spelling, name in spellings.items()}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile('|'.join(_whole(each) for each in longest_first) or r'(?!)', re.IGNORECASE)

    @classmethod
    def read(cls, path: Path) -> ProductNames:
        """Read kind -> name -> spellings. Raises NamesError naming file and field."""
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise NamesError(f'{path} cannot be read: {error}.') from error
        if not isinstance(content, dict):
            raise NamesError(f'{path}: must map kinds to names.')
        found: dict[str, Name] = {}
        for kind, names in content.items():
            if not isinstance(names, dict):
                raise NamesError(f"{path}, field '{kind}': must map names to lists of spellings.")
            for name, spellings in names.items():
                if not isinstance(spellings, list) or not all(isinstance(s, str) and s.strip() for s in spellings):
                    raise NamesError(f"{path}, field '{kind}.{name}': must be a list of spellings.")
                for spelling in spellings:
                    if found.setdefault(spelling.casefold(), (str(kind), str(name))) != (str(kind), str(name)):
                        raise NamesError(f"{path}, field '{kind}.{name}': {spelling!r} is also another name.")
        return cls(found)

    def find(self, text: str) -> frozenset[Name]:
        """The names in a text."""
        return frozenset(self._names[match.group().casefold()] for match in self._pattern.finditer(text))


def _whole(spelling: str) -> str:
    before = r'(?<![a-z0-9])' if spelling[0].isascii() else ''
    after = r'(?![a-z0-9])' if spelling[-1].isascii() else ''
    return before + re.escape(spelling) + after
