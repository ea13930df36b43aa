"""The main job: the scripted demo, whole."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path as FilePath

from node_process import environment

from pace_msgs import msg
from pace_ros.record import read_turns
from pace_ros.ros import demo
from pace_ros.turn import Outcome, Path


def test_the_scripted_demo_shows_every_path_in_both_languages(tmp_path: FilePath) -> None:
    result = subprocess.run(
        [sys.executable, '-m', 'pace_ros.ros.demo', '--script', '--data-dir', str(tmp_path)], env=environment(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170.0, check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f'{len(demo.SCRIPT)} records on disk' in result.stdout
    records = list(read_turns(tmp_path / 'turns.jsonl'))
    assert {record.path for record in records} == {Path.L0, Path.L1, Path.L2}
    assert sum(record.admitted for record in records) >= 3
    assert not any(record.admitted for record in records if record.volatile_query)
    log = (tmp_path / 'dialogue.log').read_text()
    assert 'Traceback' not in log
    assert 'never retrieved' not in log


def turn(path: Path, conversation: str, *, volatile: bool = False, filler: bool = False) -> msg.Turn:
    return msg.Turn(path=int(path), outcome=int(Outcome.ANSWERED), conversation_id=conversation,
                    volatile_query=volatile, filler_shown=filler)


def test_the_demo_says_what_it_did_not_see() -> None:
    whole = [
        each
        for tongue in ('a-zh', 'a-en')
        for each in (turn(Path.L0, tongue), turn(Path.L1, tongue, volatile=True), turn(Path.L2, tongue, filler=True))
    ]
    assert demo.missing(whole) == []
    assert demo.missing(whole[1:]) == ['L0 in zh']
    assert demo.missing([*whole, turn(Path.L0, 'a-en', volatile=True)]) == ['no volatile answer from L0']
    assert demo.missing([*whole, msg.Turn(outcome=int(Outcome.FAILED))]) == ['every answer']
    assert 'a filler before an L2 answer in en' in demo.missing([each for each in whole if not each.filler_shown])
