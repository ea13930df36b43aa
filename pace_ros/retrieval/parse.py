"""From a mapping, as YAML, JSONL and CSV give it, to a knowledge entry; every refusal names place and field."""
from __future__ import annotations

import datetime
from collections.abc import Mapping

from pace_ros.language import is_blank, is_encodable, language
from pace_ros.retrieval.entry import KnowledgeEntry

FIELDS = {'id', 'topic', 'volatile', 'source', 'valid_until', 'questions', 'answer', 'passage'}


class KnowledgeError(ValueError):
    """A knowledge file that cannot be used; the message names file, line and field."""


def entry_of(fields: object, where: str) -> KnowledgeEntry:
    """Check one entry's fields and build it; ``where`` is "file, line n". Raises KnowledgeError."""
    if not isinstance(fields, Mapping):
        raise KnowledgeError(f'{where}: an entry must be a mapping, not {type(fields).__name__}.')
    unknown = sorted(str(name) for name in set(fields) - FIELDS)
    if unknown:
        raise KnowledgeError(f"{where}, field '{unknown[0]}': there is no such field.")
    entry_id = fields.get('id')
    if not isinstance(entry_id, str) or is_blank(entry_id):
        raise KnowledgeError(f"{where}, field 'id': must be a non-empty string, not {entry_id!r}.")
    passage = _flag(fields, 'passage', where)
    if passage and 'questions' in fields:
        raise KnowledgeError(f"{where}, field 'questions': a passage has none.")
    asked = [] if passage else _by_language(fields, 'questions', where)
    return KnowledgeEntry(
        entry_id=entry_id,
        questions={key: _questions(value, where, key) for key, value in asked},
        answers={key: _text(value, where, f'answer.{key}') for key, value in _by_language(fields, 'answer', where)},
        topic=_optional(fields, 'topic', where),
        volatile=_flag(fields, 'volatile', where),
        source=_optional(fields, 'source', where),
        valid_until=_date(fields.get('valid_until'), where),
    )


def _by_language(fields: Mapping[str, object], name: str, where: str) -> list[tuple[str, object]]:
    value = fields.get(name)
    if not isinstance(value, Mapping) or not value:
        raise KnowledgeError(f"{where}, field '{name}': must map languages (zh, en) to text, not {value!r}.")
    keys = [language(str(key)) for key in value]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise KnowledgeError(f"{where}, field '{name}.{twice[0]}': is given twice, under {', '.join(map(str, value))}.")
    return list(zip(keys, value.values(), strict=True))


def _questions(value: object, where: str, key: str) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise KnowledgeError(f"{where}, field 'questions.{key}': must be one or more questions, not {value!r}.")
    return tuple(_text(item, where, f'questions.{key}') for item in items)


def _text(value: object, where: str, name: str) -> str:
    if not isinstance(value, str) or is_blank(value):
        raise KnowledgeError(f"{where}, field '{name}': must be a non-empty string, not {value!r}.")
    if not is_encodable(value):
        raise KnowledgeError(f"{where}, field '{name}': has a character that cannot be written: {value!r}.")
    return value.strip()


def _optional(fields: Mapping[str, object], name: str, where: str) -> str:
    value = fields.get(name)
    return '' if value is None or value == '' else _text(value, where, name)


def _flag(fields: Mapping[str, object], name: str, where: str) -> bool:
    value = fields.get(name, False)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ('true', 'false', ''):
        return value.strip().lower() == 'true'
    raise KnowledgeError(f"{where}, field '{name}': must be true or false, not {value!r}.")


def _date(value: object, where: str) -> datetime.date | None:
    if value is None or value == '':
        return None
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise KnowledgeError(f"{where}, field 'valid_until': must be a date like 2027-12-31, not {value!r}.") from None
