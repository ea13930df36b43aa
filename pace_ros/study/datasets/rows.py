"""Data files as rows whose fields are checked when they are asked for: every refusal names file, place and field."""
from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pace_ros.language import is_blank, is_encodable
from pace_ros.study.refusal import Refusal


class DataSetError(Refusal):
    """A data set that cannot be used; the message names file and field."""


@dataclass(frozen=True)
class Row:
    """Named fields; ``where`` is "file, line n" or a path inside a JSON file."""

    where: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A text that is not empty. Raises DataSetError."""
        return self._checked(name, self._given(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, without the empty ones; absent is none. Raises DataSetError."""
        value = self.fields.get(name) or []
        if not isinstance(value, list):
            raise self.refused(name, f'must be a list of texts, not {value!r}')
        return tuple(self._checked(name, each) for each in value if not _empty(each))

    def flag(self, name: str, default: bool | None = None) -> bool:
        """True or false; ``default`` if absent. Raises DataSetError."""
        value = self._given(name) if default is None else self.fields.get(name, default)
        if not isinstance(value, bool):
            raise self.refused(name, f'must be true or false, not {value!r}')
        return value

    def rows(self, name: str) -> list[Row]:
        """A list of objects. Raises DataSetError."""
        value = self._given(name)
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            raise self.refused(name, 'must be a list of objects')
        return [Row(f'{self.where}, {name}[{place}]', each) for place, each in enumerate(value)]

    def refused(self, name: str, why: str) -> DataSetError:
        """The error for one of its fields."""
        return DataSetError(f"{self.where}, field '{name}': {why}.")

    def _given(self, name: str) -> Any:
        if self.fields.get(name) is None:
            raise self.refused(name, 'is missing')
        return self.fields[name]

    def _checked(self, name: str, value: object) -> str:
        if not isinstance(value, str) or is_blank(value) or not is_encodable(value):
            raise self.refused(name, f'must be a text that can be written, not {value!r}')
        return value.strip()


def json_lines(path: Path) -> Iterator[Row]:
    """The objects of a JSONL file; blank lines are skipped. Raises DataSetError."""
    with _opened(path) as lines:
        for number, line in enumerate(_decoded(path, lines), start=1):
            if line.strip():
                yield _object(line, f'{path}, line {number}')


def json_file(path: Path) -> Row:
    """A file that is one JSON object; a list counts as the field ``data`` of one. Raises DataSetError."""
    with _opened(path) as lines:
        text = ''.join(_decoded(path, lines))
    return _object(f'{{"data": {text}}}' if text.lstrip().startswith('[') else text, str(path))


def csv_rows(path: Path) -> Iterator[Row]:
    """The rows of a CSV file with a header. Raises DataSetError."""
    with _opened(path) as lines:
        reader = csv.DictReader(_decoded(path, lines))
        try:
            for fields in reader:
                yield Row(f'{path}, line {reader.line_num}', fields)
        except csv.Error as error:
            raise DataSetError(f'{path}, line {reader.line_num}: is no CSV: {error}.') from error


def _empty(value: object) -> bool:
    return isinstance(value, str) and is_blank(value)


def _opened(path: Path) -> Any:
    try:
        return path.open(encoding='utf-8-sig', newline='')
    except OSError as error:
        raise DataSetError(f'{path}: cannot be read: {error.strerror}.') from error


def _decoded(path: Path, lines: Iterator[str]) -> Iterator[str]:
    try:
        yield from lines
    except (OSError, UnicodeDecodeError) as error:
        raise DataSetError(f'{path}: cannot be read: {error}.') from error


def _object(text: str, where: str) -> Row:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataSetError(f'{where}: is no JSON: {error}.') from error
    if not isinstance(value, Mapping):
        raise DataSetError(f'{where}: must be a JSON object, not {type(value).__name__}.')
    return Row(where, value)
