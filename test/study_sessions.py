"""Sessions made up for the tests of the report: turns with their onsets, written as a log or as a bag."""
from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

from pace_ros.bags.definitions import installed_store
from pace_ros.bags.writing import BagWriter
from pace_ros.record import to_json
from pace_ros.turn import Arm, Content, Modality, Onset, Outcome, Path, Source, TurnRecord

NOON = 1_780_000_000.0
GATES = {'adaptive': 1, 'static': 2}
ACK, FILLER, ANSWER = Content.ACKNOWLEDGEMENT, Content.FILLER, Content.ANSWER


def turn(
    turn_id: str, ptfr: float = math.nan, *, filler: float = math.nan, path: Path = Path.L2, **fields: Any
) -> TurnRecord:
    """A turn answered at ``ptfr`` s, or, without one, failed; with a filler at ``filler`` s."""
    answered = not math.isnan(ptfr)
    fields = {
        'received_wall': NOON, 'outcome': Outcome.ANSWERED if answered else Outcome.FAILED, 't_embed': 0.005,
        't_route': 0.003, 'utterance_id': f'u-{turn_id}', 'completion': ptfr + 1, **fields,
    }
    shown = not math.isnan(filler)
    return TurnRecord(turn_id, 'visitor', path=path, ptfr=ptfr, filler_shown=shown, filler_launched=shown,
                      filler_elapsed=filler, **fields)


def onset(record: TurnRecord, modality: Modality, content: Content, elapsed: float, **fields: Any) -> None:
    """Add a commanded onset to a turn."""
    record.onsets.append(Onset(record.turn_id, record.conversation_id, modality, content, elapsed, **fields))


def observed(record: TurnRecord, modality: Modality, content: Content, elapsed: float, detail: str = '') -> Onset:
    """What an observer says of a turn."""
    return Onset(record.turn_id, record.conversation_id, modality, content, elapsed, Source.OBSERVED, detail)


def write_log(path: FilePath, records: Iterable[TurnRecord], *, keep_text: bool = True) -> FilePath:
    """A log of turns."""
    lines = [json.dumps(to_json(record, keep_text=keep_text), ensure_ascii=False) for record in records]
    path.write_text('\n'.join([*lines, '']), encoding='utf-8')
    return path


def write_bag(
    path: FilePath, records: Iterable[TurnRecord], seen: Iterable[Onset] = (), *, namespace: str = '',
    truth: Iterable[Onset] = (),
) -> FilePath:
    """A bag of utterances, onsets and turns, and of the ground truth of a simulated body."""
    received = {record.turn_id: record.received_wall for record in records}
    messages: list[tuple[float, str, str, dict[str, Any]]] = []
    for record in records:
        start = record.received_wall
        messages.append((start, 'utterance', 'Utterance', {
            'stamp': start - 0.2, 'utterance_id': record.utterance_id, 'conversation_id': record.conversation_id,
            'text': record.text, 'locale': record.locale}))
        messages += [(start + each.elapsed, 'onset', 'Onset', _onset(each, start)) for each in record.onsets]
        ended = start + (1.0 if math.isnan(record.completion) else record.completion)
        messages.append((ended, 'turn', 'Turn', _turn(record, ended)))
    for topic, onsets in (('onset', seen), ('ground_truth', truth)):
        for each in onsets:
            start = received.get(each.turn_id, NOON)
            when = start + (3.0 if math.isnan(each.elapsed) else each.elapsed)
            messages.append((when, topic, 'Onset', _onset(each, start)))
    with BagWriter(path) as bag:
        for topic, kind in sorted({(topic, kind) for _, topic, kind, _ in messages}):
            bag.add_topic(f'{namespace}/{topic}', f'pace_msgs/msg/{kind}')
        for when, topic, kind, fields in sorted(messages, key=lambda each: each[0]):
            bag.write(f'{namespace}/{topic}', f'pace_msgs/msg/{kind}', round(when * 1e9), _cdr(kind, fields))
    return path


def _onset(each: Onset, start: float) -> dict[str, Any]:
    return {'stamp': start + (0.0 if math.isnan(each.elapsed) else each.elapsed), 'turn_id': each.turn_id,
            'conversation_id': each.conversation_id, 'modality': int(each.modality), 'content': int(each.content),
            'source': int(each.source), 'elapsed': each.elapsed, 'detail': each.detail, 'audible': each.audible}


def _turn(record: TurnRecord, ended: float) -> dict[str, Any]:
    same = ('turn_id', 'conversation_id', 'utterance_id', 'path', 'outcome', 'reason', 'ptfr', 'perceived_latency',
            'completion', 't_embed', 't_route', 't_path', 'ttft', 'filler_launched', 'filler_shown', 'filler_budget',
            'filler_elapsed', 'answer', 'filler_decision', 'filler_conflict', 'ttfet', 'ttfet_preamble', 'tool_rounds')
    fields = {name: getattr(record, name) for name in same}
    fields.update(stamp=ended, arm=record.arm.label, path=int(record.path), outcome=int(record.outcome),
                  gate=GATES.get(record.gate, 0))
    return fields


def _cdr(kind: str, fields: dict[str, Any]) -> bytes:
    name = f'pace_msgs/msg/{kind}'
    store = installed_store(name)
    nanoseconds = round(fields.pop('stamp') * 1e9)
    blank = _blank(store, name)
    blank.header.stamp.sec, blank.header.stamp.nanosec = divmod(nanoseconds, 1_000_000_000)
    for key, value in fields.items():
        object.__setattr__(blank, key, value)
    return bytes(store.serialize_cdr(blank, name))


def _blank(store: Any, name: str) -> Any:
    """A message with every field empty."""
    values = {}
    for field, (node, content) in store.fielddefs[name][1]:
        if node == 1:  # a base type
            values[field] = '' if content[0] == 'string' else False if content[0] == 'bool' else (
                math.nan if content[0].startswith('float') else 0)
        elif node == 2:  # a message
            values[field] = _blank(store, content)
        else:
            values[field] = []
    return store.types[name](**values)


def showroom(count: int, *, seed: int = 1, arm: str = '', slow: float = 1.0, start: float = NOON,
             body: bool = True) -> tuple[list[TurnRecord], list[Onset]]:
    """A plausible session, for looking at and for measuring: turns, and what an observer saw of them."""
    chance = random.Random(seed)
    records: list[TurnRecord] = []
    seen: list[Onset] = []
    for place in range(count):
        path = chance.choices([Path.L0, Path.L1, Path.L2, Path.FALLBACK], [0.25, 0.25, 0.46, 0.04])[0]
        ptfr = 0.008 + chance.random() * 0.02 if path in (Path.L0, Path.L1) else slow * chance.lognormvariate(0.4, 0.5)
        failed = path is Path.L2 and chance.random() < 0.05
        filler = 0.5 + 0.4 * chance.random()
        record = turn(
            f'{place:08x}{seed:024x}', math.nan if failed else ptfr, path=path,
            filler=filler if path is Path.L2 and filler < ptfr else math.nan, text=f'问题 {place}: how far does it go?',
            answer='' if failed else 'It goes 410 km on one charge.', arm=Arm(label=arm), filler_budget=0.9,
            filler_decision='adaptive: P(inst) 0.5 <= 0.7', received_wall=start + 20.0 * place, since_speech_end=0.2,
            filler_conflict='quantity' if chance.random() < 0.03 else '', filler_text='Good question!',
            ttft=ptfr - 0.01, speech_end=ptfr + 4.0, speech_outcome='spoken',
        )
        if body:
            seen += _body(record, chance)
        records.append(record)
    return records, seen


def _body(record: TurnRecord, chance: random.Random) -> list[Onset]:
    """Commands, and what is seen of them 40 to 150 ms later."""
    told: list[tuple[Modality, Content, float, str]] = [
        (Modality.GAZE, ACK, 0.01, 'speaker'), (Modality.GESTURE, ACK, 0.012, 'nod')]
    if record.filler_shown:
        at = record.filler_elapsed
        told += [(Modality.TEXT, FILLER, at, ''), (Modality.SPEECH, FILLER, at + 0.05, 'Good question!'),
                 (Modality.GAZE, FILLER, at + 0.001, 'aversion'), (Modality.GESTURE, FILLER, at + 0.3, 'think')]
    if record.has_answer:
        at = record.ptfr
        spoken = at + 0.2 + 0.2 * chance.random()
        told += [(Modality.TEXT, ANSWER, at + 0.001, ''), (Modality.SPEECH, ANSWER, spoken, 'It goes'),
                 (Modality.GAZE, ANSWER, at + 0.002, 'speaker'), (Modality.GESTURE, ANSWER, at + 0.9, 'beat')]
    seen = []
    for modality, content, at, detail in told:
        audible = at + 0.06 if modality is Modality.SPEECH else math.nan
        onset(record, modality, content, at, detail=detail, audible=audible)
        if modality is Modality.TEXT:
            continue
        delay = {Modality.SPEECH: 0.06, Modality.GAZE: 0.09, Modality.GESTURE: 0.13}[modality]
        delay += abs(chance.gauss(0, 0.015))
        if chance.random() < 0.03:
            seen.append(observed(record, modality, content, math.nan, 'no motion within 1.0 s'))
        else:
            seen.append(observed(record, modality, content, at + delay))
    return seen
