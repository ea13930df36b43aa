"""The log of turns: one JSON object a line, written behind the turns' back, readable after any crash."""
from __future__ import annotations

import dataclasses
import functools
import json
import logging
import math
import os
import threading
import types
import typing
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

from pace_ros.turn import TurnRecord

log = logging.getLogger(__name__)
SCHEMA = 4
MAX_PENDING = 10_000
RETRY_PERIOD = 1.0  # s between attempts on a disk that refuses
_SPOKEN = ('text', 'answer', 'cached_question', 'filler_text', 'preamble', 'volatile_reason', 'scope', 'scope_reason')


def to_json(record: TurnRecord, *, keep_text: bool = True) -> dict[str, Any]:
    """The record as JSON types: NaN becomes null, enums their names. Without ``keep_text`` no word said is in it."""
    fields = _plain(dataclasses.asdict(record))
    assert isinstance(fields, dict)  # noqa: S101  of a dataclass
    if not keep_text:
        for name in _SPOKEN:
            fields[name] = None
        for name in ('reason', 'filler_verdict'):  # further on, a server's words may echo the question
            fields[name] = ':'.join(fields[name].split(':')[:2])
        fields['speech_outcome'] = fields['speech_outcome'].split(':')[0]
        for use in fields['tools']:
            use['error'] = use['error'] and 'failed'  # a complaint may quote the arguments
        for onset in fields['onsets']:
            onset['detail'] = None
    return {'schema': SCHEMA, **fields, 'perceived_latency': _plain(record.perceived_latency)}


def from_json(fields: dict[str, Any]) -> TurnRecord:
    """The record of one line; fields of later schemas are ignored. Raises ValueError for what is no record."""
    try:
        return typing.cast(TurnRecord, _built(TurnRecord, fields))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f'not a turn record: {error}') from error


def read_turns(path: Path) -> Iterator[TurnRecord]:
    """All whole records of a log in order; a torn line, as a crash or a full disk leaves it, is skipped."""
    with path.open(encoding='utf-8', errors='replace') as file:
        for line in file:
            try:
                yield from_json(json.loads(line))
            except ValueError:
                if line.strip():
                    log.warning('%s: a torn line is skipped', path)


def _plain(value: object) -> object:
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


_hints = functools.cache(typing.get_type_hints)


def _built(kind: Any, value: Any) -> object:
    """Invert ``_plain`` for the type a field declares."""
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast(Any, kind))
        fields = {field.name for field in dataclasses.fields(kind)}
        return typing.cast(Any, kind)(**{name: _built(hints[name], value[name]) for name in fields & value.keys()})
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return kind[value]
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is str and value is None:
        return ''
    origin = typing.get_origin(kind)
    if origin in (list, tuple):
        items = [_built(typing.get_args(kind)[0], item) for item in value]
        return items if origin is list else tuple(items)
    if origin is types.UnionType and value is None:
        return None
    return value


class RecordWriter:
    """Appends records from a thread of its own. A disk that refuses costs no turn: lines wait, up to 10,000."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines: deque[str] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self.written = 0
        self.lost = 0
        self.error = ''
        self._thread = threading.Thread(target=self._run, name='record-writer', daemon=True)
        self._thread.start()

    def write(self, record: TurnRecord, *, keep_text: bool = True) -> None:
        """Hand over one record; returns at once."""
        line = json.dumps(to_json(record, keep_text=keep_text), ensure_ascii=False, allow_nan=False)
        with self._wake:
            if len(self._lines) >= MAX_PENDING:
                self._lines.popleft()
                self.lost += 1
            self._lines.append(line)
            self._wake.notify()

    def close(self) -> None:
        """Write what waits, to the disk itself, and stop. Lines a refusing disk does not take are logged as lost."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout=1.5)
        if self._lines:
            self.lost += len(self._lines)
            log.error('%d turn records are lost: %s', self.lost, self.error)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._lines or self._closing)
                lines, closing = list(self._lines), self._closing
            if not self._append(lines, sync=closing) and not closing:
                with self._wake:
                    self._wake.wait_for(lambda: self._closing, timeout=RETRY_PERIOD)
            if closing:
                return

    def _append(self, lines: list[str], *, sync: bool) -> bool:
        """Append whole lines; a torn line left by a crash or a full disk is ended first."""
        try:
            with self._path.open('ab+') as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b'\n':
                        file.write(b'\n')
                for line in lines:
                    file.write(line.encode('utf-8', errors='replace') + b'\n')
                    file.flush()
                    with self._wake:
                        if self._lines and self._lines[0] is line:
                            self._lines.popleft()
                        else:  # dropped meanwhile to make room, and yet not lost
                            self.lost -= 1
                    self.written += 1
                if sync:
                    os.fsync(file.fileno())
        except OSError as error:
            if not self.error:
                log.error('turn records cannot be written, they wait in memory: %s', error)
            self.error = str(error)
            return False
        self.error = ''
        return True
