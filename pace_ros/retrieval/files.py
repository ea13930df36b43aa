"""Reading knowledge from YAML, JSONL, CSV and Markdown files."""
from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pace_ros.language import detect_locale, is_blank, language
from pace_ros.retrieval.entry import KnowledgeEntry
from pace_ros.retrieval.parse import KnowledgeError, entry_of

Located = tuple[str, KnowledgeEntry]


def read_knowledge(paths: Sequence[Path]) -> list[KnowledgeEntry]:
    """Read all files, and all files of all folders, in order of name.

    Raises KnowledgeError for a missing path, an unknown ending, a bad entry, a repeated id, or no entry at all.
    """
    seen: dict[str, str] = {}
    entries = []
    for path in paths:
        for file in _files(path):
            for where, entry in READERS[file.suffix](file):
                if entry.entry_id in seen:
                    raise KnowledgeError(
                        f"{where}, field 'id': {entry.entry_id!r} was given before, in {seen[entry.entry_id]}."
                    )
                seen[entry.entry_id] = where
                entries.append(entry)
    if not entries:
        raise KnowledgeError(f'There is no knowledge in {", ".join(map(str, paths))}.')
    return entries


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob('*') if file.is_file() and file.suffix in READERS)
    if not path.is_file():
        raise KnowledgeError(f'There is no knowledge file {path}.')
    if path.suffix not in READERS:
        raise KnowledgeError(f'{path}: knowledge files end in {", ".join(READERS)}.')
    return [path]


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding='utf-8-sig')
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f'{path} cannot be read: {error}.') from error


def _read_yaml(path: Path) -> Iterator[Located]:
    text = _content(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        line = mark.line if mark else text.count('\n', 0, getattr(error, 'position', 0))
        raise KnowledgeError(f'{path}, line {line + 1}: no valid YAML: {getattr(error, "problem", error)}.') from error
    if node is None:
        return
    if not isinstance(node, yaml.SequenceNode):
        raise KnowledgeError(f'{path}, line 1: a knowledge file must be a list of entries.')
    constructor = _Constructor()
    for item in node.value:
        where = f'{path}, line {item.start_mark.line + 1}'
        try:
            fields = constructor.construct_object(item, deep=True)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
            raise KnowledgeError(f'{where}: {error}.') from error
        yield where, entry_of(fields, where)


class _Constructor(yaml.constructor.SafeConstructor):
    """Leaves dates as they are written, for ``entry_of`` to judge, and refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f'{key!r} is given twice', node.start_mark)
        return super().construct_mapping(node, deep=deep)


_Constructor.yaml_constructors = {
    **yaml.constructor.SafeConstructor.yaml_constructors,
    'tag:yaml.org,2002:timestamp': yaml.constructor.SafeConstructor.construct_yaml_str,
}


def _read_jsonl(path: Path) -> Iterator[Located]:
    for number, line in enumerate(_content(path).split('\n'), start=1):
        if is_blank(line):
            continue
        where = f'{path}, line {number}'
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise KnowledgeError(f'{where}: no valid JSON: {error}.') from error
        yield where, entry_of(fields, where)


def _read_csv(path: Path) -> Iterator[Located]:
    """Columns ``id``, ``questions.<language>`` (several separated by "|"), ``answer.<language>``, and the others."""
    reader = csv.DictReader(io.StringIO(_content(path), newline=''))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise KnowledgeError(f'{path}, line {reader.line_num}: no valid CSV: {error}.') from error
        where = f'{path}, line {reader.line_num}'
        if None in row or None in row.values():
            raise KnowledgeError(f'{where}: the row has not as many cells as the header has columns.')
        fields: dict[str, object] = {}
        nested: dict[str, dict[str, object]] = {'questions': {}, 'answer': {}}
        for column, cell in row.items():
            name, dot, key = column.partition('.')
            if dot and name in nested:
                if cell.strip():
                    nested[name][key] = [q.strip() for q in cell.split('|')] if name == 'questions' else cell
            else:
                fields[column] = cell
        yield where, entry_of({**fields, **nested}, where)


def _read_markdown(path: Path) -> Iterator[Located]:
    """One passage for each heading with text below it, named by the headings it stands under."""
    for start, headings, text in _sections(_content(path).splitlines()):
        title = ' / '.join(headings) or path.stem
        passage = f'{title}\n{text}'
        key = language(detect_locale(passage, 'en'))
        yield f'{path}, line {start}', KnowledgeEntry(f'{path.stem}#{title}', {}, {key: passage}, source=path.name)


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
    """First line, headings from the outermost in, and text of each section; a fenced block holds no headings."""
    headings: dict[int, str] = {}
    start, body, fenced = 1, list[str](), False
    for number, line in enumerate([*lines, '# '], start=1):
        fenced = fenced != line.lstrip().startswith(('```', '~~~'))
        match = re.match(r'(#{1,6})(?:\s+(.*?))?\s*#*\s*$', line)
        if match is None or (fenced and number <= len(lines)):
            body.append(line)
            continue
        text = '\n'.join(body).strip()
        if not is_blank(text):
            yield start, [headings[level] for level in sorted(headings)], text
        level = len(match.group(1))
        headings = {outer: title for outer, title in headings.items() if outer < level}
        headings[level] = match.group(2) or ''
        start, body = number, []


READERS: dict[str, Callable[[Path], Iterator[Located]]] = {
    '.yaml': _read_yaml,
    '.yml': _read_yaml,
    '.jsonl': _read_jsonl,
    '.csv': _read_csv,
    '.md': _read_markdown,
}
