"""Logs and bags as tables: nothing lost, nothing counted twice."""
from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path as FilePath

import pytest
from bag_support import example
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from study_sessions import ACK, ANSWER, FILLER, NOON, observed, onset, turn, write_bag, write_log

from pace_ros.bags.definitions import Definition, definition, stored
from pace_ros.bags.writing import BagWriter, Storage
from pace_ros.study import load_onsets, load_turns
from pace_ros.study.sessions import SourceError
from pace_ros.turn import Arm, Modality, Onset, Outcome, Path, TurnRecord

TODAY = datetime.fromtimestamp(NOON).astimezone().strftime('%Y-%m-%d')


def two_turns() -> list[TurnRecord]:
    first = turn('a1', 2.0, filler=0.8, text='How far?', answer='410 km', arm=Arm(label='PACE-full'), gate='static',
                 filler_conflict='quantity', refused=('L0 x: number', 'L1 y: date'))
    onset(first, Modality.GAZE, ACK, 0.01)
    onset(first, Modality.SPEECH, FILLER, 0.85, audible=0.95)
    onset(first, Modality.SPEECH, ANSWER, 2.1234567)
    second = turn('b2', path=Path.UNKNOWN, received_wall=NOON + 60, text='And?', arm=Arm(router='static', l0='off'))
    return [first, second]


def seen() -> list[Onset]:
    return [observed(two_turns()[0], Modality.GAZE, ACK, 0.11),
            observed(two_turns()[0], Modality.SPEECH, ANSWER, math.nan, 'no sound within 2 s')]


def test_a_log_is_one_row_a_turn(tmp_path: FilePath) -> None:
    log = write_log(tmp_path / 'turns.jsonl', reversed(two_turns()))
    turns = load_turns(log)
    first, second = (turns.iloc[place] for place in (0, 1))
    assert list(turns['turn_id']) == ['a1', 'b2']  # by receipt
    assert (first['ptfr'], first['perceived_latency'], first['path'], first['outcome']) == (2.0, 0.8, 'L2', 'ANSWERED')
    assert (first['robot'], first['day'], first['arm'], first['file']) == ('', TODAY, 'PACE-full', str(log))
    assert first['refused'] == 'L0 x: number; L1 y: date'
    assert math.isnan(second['ptfr'])
    assert (second['arm'], second['outcome'], bool(second['filler_shown'])) == ('router=static l0=off', 'FAILED', False)
    assert 'FALLBACK' in turns['path'].cat.categories


def test_a_bag_is_one_row_a_turn_with_its_robot_and_its_utterance(tmp_path: FilePath) -> None:
    bag = write_bag(tmp_path / 'bag', two_turns(), seen(), namespace='/robot7',
                    truth=[observed(two_turns()[0], Modality.GESTURE, ACK, 0.07)])  # no observation
    first = load_turns(bag).iloc[0]
    assert (first['robot'], first['text'], first['gate'], first['filler_conflict']) == (
        'robot7', 'How far?', 'static', 'quantity')
    assert first['received_wall'] == pytest.approx(NOON, abs=1e-3)
    assert first['since_speech_end'] == pytest.approx(0.2, abs=1e-3)
    assert (first['ptfr'], first['perceived_latency']) == (2.0, 0.8)
    onsets = load_onsets(bag)
    assert list(zip(onsets['modality'], onsets['content'], onsets['source'], strict=True)) == [
        ('SPEECH', 'ANSWER', 'OBSERVED'), ('GAZE', 'ACKNOWLEDGEMENT', 'COMMANDED'),
        ('GAZE', 'ACKNOWLEDGEMENT', 'OBSERVED'), ('SPEECH', 'FILLER', 'COMMANDED'), ('SPEECH', 'ANSWER', 'COMMANDED')]
    vain = onsets.iloc[0]
    assert math.isnan(vain['elapsed'])
    assert vain['detail'] == 'no sound within 2 s'
    assert onsets['audible'].dropna().tolist() == [0.95]
    assert set(onsets['robot']) == {'robot7'}


def test_a_bag_tells_the_rounds_of_tools_and_when_preamble_and_answer_began(tmp_path: FilePath) -> None:
    asked = [turn('a1', 3.5, ttfet=3.5, ttfet_preamble=0.9, tool_rounds=2),
             turn('b2', 1.0, ttfet=1.0, received_wall=NOON + 60)]
    turns = load_turns(write_bag(tmp_path / 'bag', asked))
    assert turns['ttfet'].tolist() == [3.5, 1.0]
    assert turns['ttfet_preamble'].iloc[0] == 0.9
    assert math.isnan(turns['ttfet_preamble'].iloc[1])
    assert turns['tool_rounds'].tolist() == [2, 0]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_bag_older_than_fields_of_a_turn_says_nothing_of_them(tmp_path: FilePath, storage: Storage) -> None:
    kind, later = 'pace_msgs/msg/Turn', ('ttfet', 'ttfet_preamble', 'tool_rounds')
    lines = definition(kind).text.splitlines(keepends=True)
    text = ''.join(line for line in lines if line.split()[1:2] not in [[name] for name in later])
    store = stored(kind, MessageDefinition(MessageDefinitionFormat.MSG, text))
    old = example(kind, store)
    old.turn_id, old.ptfr, old.path, old.refused = 'a1', 2.0, int(Path.L1), ['L0 x: number']
    with BagWriter(tmp_path / 'bag', storage=storage) as bag:
        bag.add_topic('/turn', kind, definition_=Definition(text, store.hash_rihs01(kind)))
        bag.write('/turn', kind, round(NOON * 1e9), bytes(store.serialize_cdr(old, kind)))
    turns = load_turns(tmp_path / 'bag')
    row = turns.iloc[0]
    assert (row['turn_id'], row['ptfr'], row['path'], row['refused']) == ('a1', 2.0, 'L1', 'L0 x: number')
    assert turns[list(later)].isna().all(axis=None)


def test_a_log_and_a_bag_of_one_session_are_counted_once(tmp_path: FilePath) -> None:
    log, bag = write_log(tmp_path / 'turns.jsonl', two_turns()), write_bag(tmp_path / 'bag', two_turns(), seen(),
                                                                            namespace='/robot7')
    for sources in ((log, bag), (bag, log), (log, bag, log, bag)):
        turns, onsets = load_turns(*sources), load_onsets(*sources)
        assert list(turns['turn_id']) == ['a1', 'b2']
        assert list(turns['robot']) == ['robot7', 'robot7']  # only the bag says so
        assert list(turns['file']) == [str(sources[0])] * 2
        assert len(onsets) == 5
        assert list(onsets['source']).count('OBSERVED') == 2


def test_a_turn_of_a_nameless_utterance_finds_its_words_by_conversation_and_time(tmp_path: FilePath) -> None:
    said = two_turns()
    for record in said:
        record.onsets or onset(record, Modality.GAZE, ACK, 0.01)
    bag = write_bag(tmp_path / 'bag', [replace(record, utterance_id='') for record in said])
    assert list(load_turns(bag)['text']) == ['How far?', 'And?']


def test_old_lines_without_later_fields_are_read(tmp_path: FilePath) -> None:
    line = {'schema': 1, 'turn_id': 'x', 'conversation_id': 'c', 'path': 'L1', 'outcome': 'ANSWERED', 'ptfr': 0.5,
            'received_wall': NOON, 'onsets': [{'modality': 'GAZE', 'content': 'ACKNOWLEDGEMENT', 'elapsed': 0.1}]}
    later = {**line, 'turn_id': 'y', 'schema': 9, 'path': 'L7', 'unheard_of': 1}
    log = tmp_path / 'old.jsonl'
    log.write_text(json.dumps(line) + '\n' + json.dumps(later) + '\n', encoding='utf-8')
    turns, onsets = load_turns(log), load_onsets(log)
    assert list(turns['path']) == ['L1', 'UNKNOWN']
    assert turns['exact_repeat'].isna().all()
    assert list(onsets['source']) == ['COMMANDED', 'COMMANDED']
    assert onsets['audible'].isna().all()
    assert onsets['stamp'].tolist() == pytest.approx([NOON + 0.1] * 2)


def test_torn_lines_are_skipped_with_one_word(tmp_path: FilePath, caplog: pytest.LogCaptureFixture) -> None:
    log = write_log(tmp_path / 'turns.jsonl', two_turns())
    log.write_text('{"turn_id": "q"\n[]\n' + log.read_text(encoding='utf-8') + '{"turn', encoding='utf-8')
    with caplog.at_level(logging.WARNING):
        assert len(load_turns(log)) == 2
    assert [record.getMessage() for record in caplog.records] == [f'{log}: 3 torn lines are skipped']


@pytest.mark.parametrize('content', [b'\x00\xff' * 500, b'# Notes\n', b'{"question": "?"}\n'])
def test_what_is_no_log_is_named(tmp_path: FilePath, content: bytes) -> None:
    path = tmp_path / 'notes.txt'
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r'notes\.txt: neither a bag nor a log of turns'):
        load_turns(path)


def test_what_cannot_be_opened_is_named(tmp_path: FilePath) -> None:
    with pytest.raises(SourceError, match='gone: no such file or folder'):
        load_turns(tmp_path / 'gone')
    with pytest.raises(SourceError, match='this folder is no bag'):
        load_turns(tmp_path)
    (tmp_path / 'broken.mcap').write_bytes(b'not a bag')
    with pytest.raises(SourceError, match=r'broken\.mcap'):
        load_turns(tmp_path / 'broken.mcap')


def test_nothing_is_read_from_nothing(tmp_path: FilePath) -> None:
    empty = tmp_path / 'empty.jsonl'
    empty.touch()
    assert (len(load_turns(empty)), len(load_onsets(empty))) == (0, 0)
    assert 'ptfr' in load_turns(empty)
    assert 'elapsed' in load_onsets(empty)


def test_an_onset_of_a_turn_without_a_record_is_kept(tmp_path: FilePath) -> None:
    first, second = two_turns()
    bag = write_bag(tmp_path / 'bag', [first], [observed(second, Modality.GAZE, ACK, 0.2)])
    stray = load_onsets(bag).iloc[-1]
    assert (stray['turn_id'], stray['file'], stray['day']) == ('b2', str(bag), '')


def test_tables_need_neither_ros_nor_a_slow_import_of_the_room(tmp_path: FilePath) -> None:
    log = write_log(tmp_path / 'turns.jsonl', two_turns())
    program = ('import sys, pace_ros.study as s; assert "pandas" not in sys.modules; '
               'sys.modules["rclpy"] = None; sys.modules["pace_msgs"] = None; '
               f'print(len(s.load_turns({str(log)!r})), len(s.latencies(s.load_turns({str(log)!r}), '
               f's.load_onsets({str(log)!r}))))')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split()[0] == '2'


def test_outcomes_are_categories_by_name() -> None:
    assert load_turns()['outcome'].cat.categories.tolist() == [each.name for each in Outcome]
