"""Turns and onsets as pandas tables."""
from __future__ import annotations

import math
import typing
from collections.abc import Iterable
from datetime import datetime
from enum import IntEnum
from pathlib import Path as FilePath
from typing import Any

import pandas as pd

from pace_ros.study.sessions import RECORD_FIELDS, Row, Sessions, read_sessions
from pace_ros.turn import Content, Modality, Source, TurnRecord

ORIGIN = ('robot', 'day', 'arm', 'file')
"""The columns by which tables are compared."""
ONSET_COLUMNS = ('turn_id', 'conversation_id', 'modality', 'content', 'source', 'elapsed', 'audible', 'stamp', 'detail',
                 *ORIGIN)
_HINTS = typing.get_type_hints(TurnRecord)
_BOTH = ('arm', 'switches', 'perceived_latency', 'robot', 'day', 'file')
_FIRST = ('turn_id', 'conversation_id', 'utterance_id', *ORIGIN, 'received_wall', 'path', 'outcome', 'reason',
          'ptfr', 'perceived_latency')
TURN_COLUMNS = (*_FIRST, *(each for each in RECORD_FIELDS if each not in _FIRST), 'switches')


def load_turns(*paths: FilePath | str) -> pd.DataFrame:
    """One row a turn, in order of receipt, from logs (JSONL) and bags in any mixture.

    A turn found in several of them is one row; the first source that says something counts. Columns are the fields of
    ``TurnRecord`` (times in s, NaN where it did not happen; ``received_wall`` in s since 1970 UTC), ``path`` and
    ``outcome`` as categories by name, tuples joined with "; ", ``perceived_latency`` (s), ``arm`` (the label, else its
    switches, else empty), ``switches`` (what was in force, as "router=gated filler=…"), ``robot`` (the namespace of a
    bag's topics, else empty), ``day`` (of receipt, local time, YYYY-MM-DD) and ``file`` (the path given). Truth values
    and counts that a source does not know are <NA>. Raises SourceError naming what cannot be read.
    """
    return turn_frame(read_sessions(paths))


def load_onsets(*paths: FilePath | str) -> pd.DataFrame:
    """One row an onset, in order of turn and time, from logs and bags in any mixture, each counted once.

    Columns: ``turn_id``, ``conversation_id``; ``modality`` (TEXT SPEECH GAZE GESTURE), ``content`` (ACKNOWLEDGEMENT
    FILLER ANSWER) and ``source`` (COMMANDED OBSERVED) as categories by name; ``elapsed`` (s since receipt; NaN: an
    observer waited for it in vain, ``detail`` says why); ``audible`` (s since receipt at which a commanded sound can be
    heard, else NaN); ``stamp`` (s since 1970 UTC); ``detail``; and ``robot``, ``day``, ``arm``, ``file`` of its turn.
    Raises SourceError naming what cannot be read.
    """
    sessions = read_sessions(paths)
    return onset_frame(sessions, turn_frame(sessions))


def load(paths: Iterable[FilePath | str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Turns and onsets, reading each source once."""
    sessions = read_sessions(paths)
    turns = turn_frame(sessions)
    return turns, onset_frame(sessions, turns)


def turn_frame(sessions: Sessions) -> pd.DataFrame:
    """The table of ``load_turns``."""
    rows = list(sessions.turns.values())
    columns = {name: _column(name, [row.get(name) for row in rows]) for name in TURN_COLUMNS if name != 'day'}
    columns['day'] = pd.Series([_day(row.get('received_wall')) for row in rows], dtype=object)
    frame = pd.DataFrame({name: columns[name] for name in TURN_COLUMNS})
    return frame.sort_values('received_wall', kind='stable', ignore_index=True)


def onset_frame(sessions: Sessions, turns: pd.DataFrame) -> pd.DataFrame:
    """The table of ``load_onsets``; an onset of a turn without a row keeps the file it came from."""
    rows: list[Row] = [row for onsets in sessions.onsets.values() for row in onsets]
    columns: dict[str, Any] = {}
    for name, kind in (('modality', Modality), ('content', Content), ('source', Source)):
        columns[name] = _category(kind, [row[name] for row in rows])
    for name in ('elapsed', 'audible', 'stamp'):
        columns[name] = pd.Series([row[name] for row in rows], dtype=float)
    for name in ('turn_id', 'conversation_id', 'detail', 'file'):
        columns[name] = pd.Series([row[name] for row in rows], dtype=object)
    frame = pd.DataFrame(columns)
    origin = turns[['turn_id', *ORIGIN]].rename(columns={'file': 'turn_file'})
    frame = frame.merge(origin, on='turn_id', how='left')
    frame['file'] = frame['turn_file'].fillna(frame['file'])
    for name in ('robot', 'day', 'arm'):
        frame[name] = frame[name].fillna('')
    order = frame['turn_id'].map(dict(zip(turns['turn_id'], range(len(turns)), strict=True)))
    frame = frame.assign(order=order).sort_values(['order', 'stamp', 'elapsed'], kind='stable', ignore_index=True)
    return frame[list(ONSET_COLUMNS)]


def _column(name: str, values: list[Any]) -> Any:
    kind = float if name == 'perceived_latency' else str if name in _BOTH else _HINTS[name]
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return _category(kind, values)
    if kind is float:
        return pd.to_numeric(pd.Series(values, dtype=object), errors='coerce').astype(float)
    if kind is bool:
        return pd.Series([pd.NA if each is None else bool(each) for each in values], dtype='boolean')
    if kind is int:
        return pd.to_numeric(pd.Series(values, dtype=object), errors='coerce').astype('Int64')
    return pd.Series(['' if each is None else str(each) for each in values], dtype=object)


def _category(kind: type[IntEnum], values: list[Any]) -> Any:
    known = [each.name for each in kind]
    return pd.Series(pd.Categorical([each if each in known else 'UNKNOWN' for each in values], categories=known))


def _day(received: object) -> str:
    if not isinstance(received, int | float) or math.isnan(received):
        return ''
    return datetime.fromtimestamp(received).astimezone().strftime('%Y-%m-%d')


