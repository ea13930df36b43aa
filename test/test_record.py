from __future__ import annotations

import dataclasses
import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import typing
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pace_ros import packaged, record
from pace_ros.cache import Lexicon
from pace_ros.record import RecordWriter, from_json, read_turns, to_json
from pace_ros.turn import Content, Modality, Onset, Outcome, TurnRecord
from pace_ros.turn import Path as Level

DEADLINE = 20.0


def turn(turn_id: str = 't1', **fields: Any) -> TurnRecord:
    return TurnRecord(turn_id, 'visitor', **fields)


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Values of the type a field declares; a field added later is covered by itself."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: strategy(hints[field.name]) for field in dataclasses.fields(kind)})
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return st.sampled_from(list(kind))
    if typing.get_origin(kind) in (list, tuple):
        items = st.lists(strategy(typing.get_args(kind)[0]), max_size=3)
        return items if typing.get_origin(kind) is list else items.map(tuple)
    return {
        bool: st.booleans(),
        int: st.integers(0, 2**32 - 1),
        str: st.text(alphabet=st.characters(exclude_categories=['Cs']), max_size=8),
        # microseconds are kept
        float: st.just(math.nan) | st.floats(-1e9, 1e9).map(lambda value: round(value, 6)),
    }[kind]


TURNS = strategy(TurnRecord)


# -- one line -------------------------------------------------------------------------------------------------------


@given(TURNS)
@example(turn())
def test_a_record_survives_json_unchanged(one: TurnRecord) -> None:
    line = json.dumps(to_json(one), ensure_ascii=False, allow_nan=False)
    assert '\n' not in line
    assert repr(from_json(json.loads(line))) == repr(one)


def test_what_did_not_happen_is_null_and_enums_go_by_name() -> None:
    fields = to_json(turn(path=Level.L2, outcome=Outcome.ANSWERED, ptfr=1.23456789, ttft=math.inf))
    assert fields['completion'] is None
    assert fields['ttft'] is None
    assert (fields['schema'], fields['path'], fields['outcome'], fields['ptfr']) == (4, 'L2', 'ANSWERED', 1.234568)
    assert fields['perceived_latency'] == 1.234568
    assert 'NaN' not in json.dumps(fields)


def test_the_line_holds_every_field_and_the_latency_perceived() -> None:
    fields = to_json(turn(filler_shown=True, filler_elapsed=0.3, ptfr=1.0))
    assert set(fields) == {each.name for each in dataclasses.fields(TurnRecord)} | {'schema', 'perceived_latency'}
    assert fields['perceived_latency'] == 0.3


def test_fields_of_a_later_schema_are_ignored_and_of_an_earlier_one_have_their_default() -> None:
    fields = {**to_json(turn(text='hello')), 'schema': 9, 'mood': 'good'}
    del fields['frames']
    assert from_json(fields).text == 'hello'
    assert from_json(fields).frames == 0


@pytest.mark.parametrize(
    'fields',
    [
        {}, [], None, 3, 'text', {'turn_id': 'a'}, {**to_json(turn()), 'path': 'L9'}, {**to_json(turn()), 'path': None},
        {**to_json(turn()), 'onsets': [{}]}, {**to_json(turn()), 'onsets': 3}, {**to_json(turn()), 'ptfr': 'soon'},
        {**to_json(turn()), 'arm': []},
    ],
)
def test_what_is_no_record_is_refused(fields: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  its words are of no interest, read_turns skips it
        from_json(fields)


# -- privacy --------------------------------------------------------------------------------------------------------

SECRETS = ('zebra', 'giraffe', 'walrus', 'ocelot', 'lemur')


def test_without_text_no_word_said_is_in_the_line() -> None:
    one = turn(
        text=f'visitor {SECRETS[0]}',
        answer=f'robot {SECRETS[1]}',
        cached_question=f'earlier visitor {SECRETS[2]}',
        filler_text=f'filler {SECRETS[3]}',
        onsets=[Onset('t1', 'visitor', Modality.SPEECH, Content.ANSWER, 1.5, detail=f'said {SECRETS[4]}')],
        ptfr=1.5,
        entry_ids=('seats',),
    )
    fields = to_json(one, keep_text=False)
    line = json.dumps(fields, ensure_ascii=False)
    assert not any(secret in line for secret in SECRETS)
    assert (fields['ptfr'], fields['onsets'][0]['elapsed'], fields['entry_ids']) == (1.5, 1.5, ['seats'])
    assert all(secret in json.dumps(to_json(one)) for secret in SECRETS)
    back = from_json(json.loads(line))
    assert (back.text, back.answer, back.onsets[0].detail, back.ptfr) == ('', '', '', 1.5)


@given(one=TURNS, other=st.booleans())
def test_a_line_without_text_tells_nothing_that_depends_on_it(one: TurnRecord, *, other: bool) -> None:
    words = 'quite other words' if other else ''
    changed = dataclasses.replace(
        one, text=words, answer=words, cached_question=words, filler_text=words,
        onsets=[dataclasses.replace(onset, detail=words) for onset in one.onsets],
    )
    assert to_json(one, keep_text=False) == to_json(changed, keep_text=False)


@pytest.mark.parametrize(
    ('question', 'locale', 'words'),
    [('Is there a discount?', 'en-US', ['discount']), ('今天有优惠吗', 'zh-CN', ['今天', '优惠'])],
)
def test_the_reason_for_volatility_gives_no_spoken_word_away(question: str, locale: str, words: list[str]) -> None:
    verdict = Lexicon.read(packaged.config_dir() / 'lexicon').classify(question, locale)
    one = turn(text=question, locale=locale, volatile_query=verdict.volatile, volatile_reason=verdict.reason)
    line = json.dumps(to_json(one, keep_text=False), ensure_ascii=False)
    assert '"volatile_query": true' in line
    assert not any(word in line for word in words)


# -- reading --------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'log' / 'turns.jsonl'


def write_all(path: Path, *turns: TurnRecord) -> RecordWriter:
    writer = RecordWriter(path)
    for each in turns:
        writer.write(each)
    writer.close()
    return writer


def ids(path: Path) -> list[str]:
    return [each.turn_id for each in read_turns(path)]


def test_what_is_written_is_read_in_order(path: Path) -> None:
    turns = [turn(f't{number}', text=f'第{number}个 \u2028\r\x85 "question"', ptfr=number / 8) for number in range(200)]
    writer = write_all(path, *turns)
    assert (writer.written, writer.lost, writer.error) == (200, 0, '')
    assert [repr(each) for each in read_turns(path)] == [repr(each) for each in turns]
    assert path.read_bytes().count(b'\n') == 200
    assert path.read_bytes().endswith(b'\n')


def test_a_log_is_continued_and_not_overwritten(path: Path) -> None:
    write_all(path, turn('a'))
    write_all(path, turn('b'))
    assert ids(path) == ['a', 'b']


def test_a_torn_last_line_is_skipped_wherever_it_was_torn(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_all(path, turn('a'), turn('b', text='第二个'))
    whole = path.read_bytes()
    first = whole.index(b'\n') + 1
    for length in range(first, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        caplog.clear()
        assert ids(path) == ['a']
        assert ('torn' in caplog.text) is (length > first)
    path.write_bytes(whole[:-1])  # only the line end is missing: the record is whole
    assert ids(path) == ['a', 'b']


def test_after_a_crash_a_torn_line_does_not_swallow_the_next_record(path: Path) -> None:
    write_all(path, turn('a'), turn('torn', text='多字节'))
    whole = path.read_bytes()
    for length in (-1, -2, -30, whole.index('多'.encode()) + 1 - len(whole)):
        path.write_bytes(whole[:length])
        write_all(path, turn('next'), turn('last'))
        survived = ['torn'] if length == -1 else []
        assert ids(path) == ['a', *survived, 'next', 'last']


@pytest.mark.parametrize(
    'line', [b'', b'   ', b'3', b'[]', b'{}', b'null', b'\xff\xfe\x00', b'{"turn_id": "x"}', b'{' * 50]
)
def test_foreign_lines_are_skipped(path: Path, line: bytes) -> None:
    write_all(path, turn('a'))
    path.write_bytes(path.read_bytes() + line + b'\n')
    write_all(path, turn('b'))
    assert ids(path) == ['a', 'b']


def test_a_character_that_cannot_be_written_costs_no_record(path: Path) -> None:
    writer = write_all(path, turn('a', answer='half \ud83d an emoji'), turn('b'))
    assert (writer.lost, ids(path)) == (0, ['a', 'b'])


# -- a disk that refuses --------------------------------------------------------------------------------------------


class Disk:
    """Stands before ``Path.open`` for one file: may refuse, may make the writer wait, says when it was tried."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.tries = threading.Semaphore(0)
        self.stalls = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        real = Path.open

        def opened(self_: Path, *args: Any, **kwargs: Any) -> Any:
            if self_ == path and args[:1] == ('ab+',):
                self.tries.release()
                if not self.gate.is_set():
                    self.stalls.release()
                assert self.gate.wait(DEADLINE)
                if self.full:
                    raise OSError(28, 'No space left on device')
            return real(self_, *args, **kwargs)

        monkeypatch.setattr(Path, 'open', opened)
        monkeypatch.setattr(record, 'RETRY_PERIOD', 0.001)

    def tried(self, times: int = 1) -> None:
        """Wait for so many more attempts to write."""
        for _ in range(times):
            assert self.tries.acquire(timeout=DEADLINE)


@pytest.fixture
def disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(path, monkeypatch)


def test_a_disk_that_refuses_and_recovers_loses_nothing(
    path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    writer = RecordWriter(path)
    disk.full = True
    with caplog.at_level(logging.ERROR):
        for number in range(50):
            writer.write(turn(f't{number}'))
        disk.tried(3)
        assert 'No space left' in writer.error
        disk.full = False
        writer.write(turn('t50'))
        writer.close()
    assert ids(path) == [f't{number}' for number in range(51)]
    assert (writer.written, writer.lost, writer.error) == (51, 0, '')
    assert len(caplog.records) == 1  # an operator reads it once


def test_a_disk_that_never_recovers_stops_nobody_and_the_loss_is_counted(
    path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    writer = RecordWriter(path)
    disk.full = True
    for number in range(3):
        writer.write(turn(f't{number}'))
    disk.tried()
    with caplog.at_level(logging.ERROR):
        writer.close()
    assert (writer.written, writer.lost) == (0, 3)
    assert '3 turn records are lost' in caplog.text
    assert not path.exists()


def test_a_disk_that_fills_up_in_the_middle_of_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own full disk, /dev/full; then room again behind half a line."""
    if not Path('/dev/full').exists():
        pytest.skip('this system has no /dev/full')
    monkeypatch.setattr(record, 'RETRY_PERIOD', 0.001)
    refused = threading.Event()
    monkeypatch.setattr(record.log, 'error', lambda *_args: refused.set())
    path.parent.mkdir()
    path.symlink_to('/dev/full')
    writer = RecordWriter(path)
    writer.write(turn('a'))
    assert refused.wait(DEADLINE)
    assert 'space' in writer.error
    half = path.with_name('half')
    half.write_bytes(b'{"turn_id": "half a li')
    half.replace(path)
    writer.write(turn('b'))
    writer.close()
    assert ids(path) == ['a', 'b']
    assert (writer.written, writer.lost) == (2, 0)


def test_beyond_its_memory_the_oldest_are_lost_and_counted(
    path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, 'MAX_PENDING', 3)
    writer = RecordWriter(path)
    disk.full = True
    writer.write(turn('t0'))
    disk.tried(2)
    for number in range(1, 10):
        writer.write(turn(f't{number}'))
    disk.full = False
    writer.close()
    written = ids(path)
    assert written[-1] == 't9'
    assert len(written) + writer.lost == 10
    assert set(written) >= {'t7', 't8', 't9'}


def test_a_record_handed_over_while_the_disk_stalls_is_not_lost_for_one_already_being_written(
    path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is full, the disk hangs in the very write that would empty it, one more turn ends."""
    monkeypatch.setattr(record, 'MAX_PENDING', 3)
    writer = RecordWriter(path)
    disk.full = True
    for name in ('a', 'b', 'c'):
        writer.write(turn(name))
    disk.tried(3)
    disk.gate.clear()
    assert disk.stalls.acquire(timeout=DEADLINE)
    disk.full = False
    writer.write(turn('d'))
    disk.gate.set()
    writer.close()
    written = ids(path)
    assert written[-1] == 'd'
    assert len(written) + writer.lost == 4


def test_handing_over_never_waits_for_the_disk(path: Path, disk: Disk) -> None:
    writer = RecordWriter(path)
    disk.gate.clear()
    writer.write(turn('a'))
    disk.tried()
    for number in range(100):
        writer.write(turn(f't{number}'))  # returns though the disk hangs, else the test would time out
    disk.gate.set()
    writer.close()
    assert len(ids(path)) == 101


def test_many_threads_may_hand_over(path: Path) -> None:
    writer = RecordWriter(path)
    threads = [
        threading.Thread(target=lambda seed=seed: [writer.write(turn(f'{seed}-{n}')) for n in range(50)], daemon=True)
        for seed in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    writer.close()
    read = ids(path)
    assert len(read) == len(set(read)) == 400
    for seed in range(8):
        assert [name for name in read if name.startswith(f'{seed}-')] == [f'{seed}-{n}' for n in range(50)]


def test_closing_an_idle_writer_and_closing_twice_do_no_harm(path: Path) -> None:
    writer = write_all(path, turn('a'))
    writer.close()
    assert (ids(path), writer.lost) == (['a'], 0)
    assert not write_all(path).lost


# -- a process that is killed ---------------------------------------------------------------------------------------

VICTIM = """
import sys
from pathlib import Path
from pace_ros.record import RecordWriter
from pace_ros.turn import TurnRecord
writer = RecordWriter(Path(sys.argv[1]))
number = 0
while True:
    writer.write(TurnRecord(f't{number}', 'visitor', text='第几个 ' * 40))
    number += 1
    if number % 20 == 0:
        print(writer.written, flush=True)
"""


def test_after_a_kill_every_complete_line_is_a_record(path: Path) -> None:
    path.parent.mkdir()
    victim = subprocess.Popen(
        [sys.executable, '-c', VICTIM, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
    )
    watchdog = threading.Timer(60, victim.kill)
    watchdog.start()
    try:
        assert victim.stdout is not None
        written = next(count for count in map(int, victim.stdout) if count >= 100)
    finally:
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait(DEADLINE)
        watchdog.cancel()
    content = path.read_bytes()
    complete = content[: content.rindex(b'\n') + 1].splitlines(keepends=True)
    assert [json.loads(line)['turn_id'] for line in complete] == [f't{number}' for number in range(len(complete))]
    read = ids(path)
    assert len(complete) <= len(read) <= len(complete) + 1
    assert len(read) >= written
    write_all(path, turn('after'))
    assert ids(path)[-1] == 'after'
    assert ids(path)[: len(complete)] == [f't{number}' for number in range(len(complete))]


def test_without_text_a_verdict_keeps_its_kind_only() -> None:
    record = turn(filler_verdict='none: unclear: they said the visitor lives in Paris')
    assert to_json(record, keep_text=False)['filler_verdict'] == 'none: unclear'
    assert to_json(record)['filler_verdict'] == record.filler_verdict
    assert to_json(turn(filler_verdict='agree'), keep_text=False)['filler_verdict'] == 'agree'
