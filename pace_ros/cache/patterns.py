"""Lists of patterns in files, one a line, matched all at once in linear time by RE2, whatever the patterns."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import re2

from pace_ros.language import language, normal_form

_SECTION = re.compile(r'\[([a-z][a-z0-9_-]*)\]')


class PatternError(ValueError):
    """A line that is no pattern; the message names file and line."""


class Line(NamedTuple):
    """One pattern with the section it stands in and its place in the file."""

    pattern: str
    section: str
    number: int


class _Compiled(NamedTuple):
    lines: list[Line]
    all_at_once: re2.Set


class PatternLists:
    """Patterns by language, searched anywhere in the normal form of a text; of several that match, the first counts."""

    def __init__(self, lists: Mapping[str, list[Line]]) -> None:
        self._lists = {key: _Compiled(lines, _set_of(lines)) for key, lines in lists.items()}

    @classmethod
    def read(cls, folder: Path, name: str) -> PatternLists:
        """Read ``<name>.<language>.txt`` files.

        A line is a pattern in RE2's syntax, a ``[section]``, or a comment after ``#``. Raises PatternError naming the
        line, or if there is no such file.
        """
        lists = {path.name.split('.')[1]: list(_lines(path)) for path in sorted(folder.glob(f'{name}.*.txt'))}
        if not lists:
            raise PatternError(f'There is no {name}.<language>.txt in {folder}.')
        return cls(lists)

    @property
    def sections(self) -> set[str]:
        """The sections of all languages."""
        return {line.section for each in self._lists.values() for line in each.lines}

    def find(self, text: str, locale: str) -> Line | None:
        """The first line of the language of ``locale`` that matches; without a list for it, of any language."""
        written = normal_form(text)
        mine = self._lists.get(language(locale))
        for each in [mine] if mine is not None else self._lists.values():
            if each.lines and (found := each.all_at_once.Match(written)):
                return each.lines[int(min(found))]
        return None


def _lines(path: Path) -> Iterator[Line]:
    try:
        content = path.read_text(encoding='utf-8-sig').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PatternError(f'{path} cannot be read: {error}.') from error
    section = ''
    for number, written in enumerate(content, start=1):
        line = written.strip()
        if not line or line.startswith('#'):
            continue
        if heading := _SECTION.fullmatch(line):
            section = heading.group(1)
            continue
        try:
            re2.compile(line, _options())
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            raise PatternError(f'{path}, line {number}: {line!r} is no pattern: {reason}.') from error
        yield Line(line, section, number)


def _set_of(lines: list[Line]) -> re2.Set:
    patterns = re2.Set.SearchSet(_options())
    for line in lines:
        patterns.Add(line.pattern)
    if lines:
        patterns.Compile()
    return patterns


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options
