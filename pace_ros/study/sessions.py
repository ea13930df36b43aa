"""Logs and bags of sessions, read into plain rows; what several of them say of one turn is put together."""
from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path as FilePath
from typing import Any

from pace_ros.clock import seconds
from pace_ros.study.refusal import Refusal
from pace_ros.turn import Arm, Content, Modality, Outcome, Path, Source, TurnRecord

log = logging.getLogger(__name__)
Row = dict[str, Any]
RECORD_FIELDS = tuple(each.name for each in fields(TurnRecord) if each.name not in ('onsets', 'arm', 'switches'))
SAME = 1e-5  # s between one onset in a log, rounded to 1 us, and in a bag
UTTERANCE_WITHIN = 0.25  # s between an utterance without an id and the receipt of its turn
_GATES = {1: 'adaptive', 2: 'static'}
_BAG_TYPES = ('pace_msgs/msg/Turn', 'pace_msgs/msg/Onset', 'pace_msgs/msg/Utterance')


class SourceError(Refusal):
    """A log or bag that cannot be read; the sentence names it."""


@dataclass
class Sessions:
    """Rows by turn id; ``onsets`` may name turns that have no row, as in a bag cut short."""

    turns: dict[str, Row] = field(default_factory=dict)
    onsets: dict[str, list[Row]] = field(default_factory=dict)

    def add_turn(self, row: Row) -> None:
        """Take a turn; of one already known, only what was missing is filled in."""
        known = self.turns.setdefault(row['turn_id'], row)
        if known is not row:
            for name, value in row.items():
                if is_missing(known.get(name)):
                    known[name] = value

    def add_onsets(self, turn_id: str, rows: list[Row]) -> None:
        """Take the onsets of a turn, without those another source has brought already."""
        known = self.onsets.setdefault(turn_id, rows)
        for row in rows if known is not rows else ():
            same = next((other for other in known if _is_same(other, row)), None)
            if same is None:
                known.append(row)
                continue
            same['stamp'] = row['stamp'] if row['from_bag'] else same['stamp']
            if is_missing(same['audible']):
                same['audible'] = row['audible']


def is_missing(value: object) -> bool:
    """Whether a source says nothing: None, an empty string, NaN, or UNKNOWN."""
    return value is None or value in ('', 'UNKNOWN') or (isinstance(value, float) and math.isnan(value))


def _is_same(one: Row, other: Row) -> bool:
    if any(one[name] != other[name] for name in ('source', 'modality', 'content')):
        return False
    if math.isnan(one['elapsed']) or math.isnan(other['elapsed']):
        return math.isnan(one['elapsed']) and math.isnan(other['elapsed']) and one['detail'] == other['detail']
    return bool(abs(one['elapsed'] - other['elapsed']) < SAME)


def read_sessions(paths: Iterable[FilePath | str]) -> Sessions:
    """Read logs (JSONL) and bags, in any mixture. Raises SourceError for one that cannot be read."""
    from pace_ros.bags.reading import BagError, is_bag  # noqa: PLC0415  a log is read without it

    sessions = Sessions()
    for each in paths:
        path = FilePath(each)
        try:
            if not path.exists():
                raise SourceError(f'{each}: no such file or folder')
            if is_bag(path):
                _read_bag(path, str(each), sessions)
            elif path.is_dir():
                raise SourceError(f'{each}: this folder is no bag')
            else:
                _read_log(path, str(each), sessions)
        except BagError as error:
            raise SourceError(str(error)) from error
        except OSError as error:
            raise SourceError(f'{each}: cannot be read: {error.strerror or error}') from error
    return sessions


# A log is taken line by line as it stands: building a record of every line first takes many times as long, and a report
# on a month of floor time is to come in seconds.


def _read_log(path: FilePath, name: str, sessions: Sessions) -> None:
    read, torn = 0, 0
    with path.open(encoding='utf-8', errors='replace') as file:
        for line in file:
            try:
                fields_ = json.loads(line)
                onsets = list(_logged_onsets(fields_, name))
                turn = _logged_turn(fields_, name)
            except (ValueError, KeyError, TypeError, AttributeError):
                torn += bool(line.strip())
                continue
            read += 1
            sessions.add_turn(turn)
            sessions.add_onsets(turn['turn_id'], onsets)
    if torn and not read:
        raise SourceError(f'{name}: neither a bag nor a log of turns')
    if torn:
        log.warning('%s: %d torn lines are skipped', name, torn)


def _logged_turn(fields_: Row, name: str) -> Row:
    row = {each: fields_.get(each) for each in RECORD_FIELDS}
    if not (isinstance(row['turn_id'], str) and row['turn_id']):
        raise ValueError('no turn')
    for each in ('refused', 'entry_ids'):
        row[each] = '; '.join(row[each] or ())
    row['tools'] = '; '.join(f'{use["name"]}{" failed" if use["error"] else ""}' for use in row['tools'] or ())
    return {
        **row, 'perceived_latency': fields_.get('perceived_latency'), 'robot': '', 'file': name,
        'arm': _arm(fields_.get('arm') or {}), 'switches': _switches(fields_.get('switches') or {}),
    }


def _arm(arm: Row) -> str:
    """The arm's label, or its switches where it has none."""
    return str(arm.get('label') or '') or _switches(arm)


def _switches(arm: Row) -> str:
    names = [each.name for each in fields(Arm) if each.name != 'label']
    return ' '.join(f'{name}={arm[name]}' for name in names if arm.get(name))


def _logged_onsets(fields_: Row, name: str) -> Iterator[Row]:
    received = _number(fields_.get('received_wall'))
    for each in fields_.get('onsets') or ():
        elapsed = _number(each.get('elapsed'))
        yield {
            'turn_id': fields_['turn_id'], 'conversation_id': fields_.get('conversation_id') or '',
            'modality': str(each['modality']), 'content': str(each['content']),
            'source': str(each.get('source') or 'COMMANDED'), 'elapsed': elapsed,
            'audible': _number(each.get('audible')), 'stamp': received + elapsed, 'detail': each.get('detail') or '',
            'file': name, 'from_bag': False,
        }


def _number(value: object) -> float:
    return math.nan if value is None else float(value)  # type: ignore[arg-type]


def _read_bag(path: FilePath, name: str, sessions: Sessions) -> None:
    from pace_ros.bags.reading import read_messages  # noqa: PLC0415

    turns: dict[str, Row] = {}
    onsets: dict[str, list[Row]] = {}
    receipts: dict[str, float] = {}
    utterances: list[Row] = []
    for each in read_messages(path, types=_BAG_TYPES):
        space, _, topic = each.topic.rpartition('/')
        robot = space.strip('/')
        kind = each.type.rpartition('/')[2]
        if kind == 'Turn':
            turns[each.message.turn_id] = _bagged_turn(each.message, robot, name)
        elif kind == 'Onset':
            if topic != 'onset':  # a simulated body's ground truth has the same type
                continue
            onset = _bagged_onset(each.message, name)
            onsets.setdefault(onset['turn_id'], []).append(onset)
            if onset['source'] == 'COMMANDED' and not math.isnan(onset['elapsed']):
                receipts.setdefault(onset['turn_id'], onset['stamp'] - onset['elapsed'])
        elif not each.message.partial:
            utterances.append(_utterance(each.message, robot, each.received))
    for turn_id, row in turns.items():
        ended, completion = row.pop('stamp'), row['completion']
        row['received_wall'] = receipts.get(turn_id, ended - completion if completion == completion else ended)  # noqa: PLR0124  NaN
    _join_utterances(turns, utterances)
    for row in turns.values():
        sessions.add_turn(row)
    for turn_id, rows in onsets.items():
        sessions.add_onsets(turn_id, rows)


def _bagged_turn(message: Any, robot: str, name: str) -> Row:
    row = {each: getattr(message, each, None) for each in RECORD_FIELDS}
    row.update(
        path=_name(Path, message.path), outcome=_name(Outcome, message.outcome),
        gate=_GATES.get(int(getattr(message, 'gate', 0)), ''), refused='; '.join(getattr(message, 'refused', ())),
        perceived_latency=float(message.perceived_latency), robot=robot, file=name, arm=str(message.arm), switches='',
        stamp=seconds(message.header.stamp),
    )
    return row


def _name(kind: Any, value: int) -> str:
    try:
        return str(kind(value).name)
    except ValueError:
        return 'UNKNOWN'


def _bagged_onset(message: Any, name: str) -> Row:
    return {
        'turn_id': str(message.turn_id), 'conversation_id': str(message.conversation_id),
        'modality': _name(Modality, message.modality), 'content': _name(Content, message.content),
        'source': _name(Source, message.source), 'elapsed': float(message.elapsed),
        'audible': float(getattr(message, 'audible', math.nan)), 'stamp': seconds(message.header.stamp),
        'detail': str(message.detail), 'file': name, 'from_bag': True,
    }


def _utterance(message: Any, robot: str, received: float) -> Row:
    return {
        'id': str(message.utterance_id), 'conversation_id': str(message.conversation_id) or 'default', 'robot': robot,
        'received': received, 'end': seconds(message.header.stamp), 'text': str(message.text),
        'locale': str(message.locale), 'asr_confidence': float(message.confidence),
    }


def _join_utterances(turns: dict[str, Row], utterances: list[Row]) -> None:
    """Give each turn what its utterance says: found by id, else by conversation and time."""
    named = {each['id']: each for each in utterances if each['id']}
    nameless: dict[tuple[str, str], list[Row]] = {}
    for each in utterances:
        if not each['id']:
            nameless.setdefault((each['robot'], each['conversation_id']), []).append(each)
    for turn in sorted(turns.values(), key=lambda row: float(row['received_wall'])):
        said = named.get(turn['utterance_id']) or _nearest(nameless, turn)
        if said is not None:
            turn.update({each: said[each] for each in ('text', 'locale', 'asr_confidence')})
            turn['since_speech_end'] = turn['received_wall'] - said['end'] if said['end'] else math.nan


def _nearest(nameless: dict[tuple[str, str], list[Row]], turn: Row) -> Row | None:
    waiting = nameless.get((turn['robot'], turn['conversation_id']), [])
    found = min(waiting, key=lambda each: abs(each['received'] - turn['received_wall']), default=None)
    if found is None or abs(found['received'] - turn['received_wall']) > UTTERANCE_WITHIN:
        return None
    waiting.remove(found)
    return found
