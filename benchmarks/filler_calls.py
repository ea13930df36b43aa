"""Filler calls of the adaptive policy against the fixed one, on the running node.

    scripts/campaign.sh filler_calls [TURNS] [DELAY]

Two nodes, one after the other, hear the same stream of questions: most are in the knowledge base (instant paths), a few
are the language model's. The local stand-in for the cloud is slowed down artificially by DELAY s. The first 40 turns,
in which the 32-decision window of P(inst) fills, are not counted. Exit code 1 unless, at an instant share of at least
0.9, the adaptive policy saves more than 94 % of the filler calls, no filler follows a first informative frame, and no
filler conflicts with its answer by the fact extractor.
"""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '78')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')


from pace_msgs import msg
from pace_ros import packaged
from pace_ros.record import read_turns
from pace_ros.retrieval import read_knowledge
from pace_ros.ros.ask_client import AskClient
from pace_ros.turn import FrameKind, Outcome, Path, TurnRecord

TURNS, WARM_UP, DELAY = 1000, 40, 0.8
L2_SHARE = 0.06
START_DEADLINE, TURN_DEADLINE = 120.0, 60.0  # s
THINGS = ('a lighthouse', 'jazz', 'the moon', 'an old clock', 'penguins', 'a violin', 'the desert', 'snow', 'a bakery',
          'chess', 'a lost key', 'whales', 'a juggler', 'rain', 'a castle', 'honey', 'a comet', 'origami', 'volcanoes')


def stream(turns: int, seed: int) -> list[str]:
    """The questions: those of the knowledge base as they stand, and now and then one that nobody has an answer to."""
    chance = random.Random(seed)
    entries = [each for each in read_knowledge([packaged.config_dir() / 'knowledge']) if not each.is_passage]
    known = [question for each in entries for questions in each.questions.values() for question in questions]
    return [
        f'Please make up a verse about {" and ".join(chance.sample(THINGS, 2))}' if chance.random() < L2_SHARE
        else chance.choice(known)
        for _ in range(turns)
    ]


def is_late(frames: list[msg.ResponseFrame]) -> bool:
    """Whether a filler's place in the turn is behind the first informative frame's."""
    first = min((frame.seq for frame in frames if frame.kind == FrameKind.ANSWER and frame.text), default=1 << 30)
    return any(frame.seq > first for frame in frames if frame.kind == FrameKind.FILLER)


def run_arm(mode: str, url: str, questions: list[str]) -> tuple[int, list[TurnRecord]]:
    """One node, the whole stream; the late fillers, and the records of the counted turns."""
    with tempfile.TemporaryDirectory() as folder:
        options = [f'data_dir:={folder}', f'l2.base_url:={url}', f'filler.mode:={mode}', 'speech.enabled:=false',
                   'l2.max_tokens:=12', 'l2.first_token_timeout:=30.0', 'record.text:=true']
        with (FilePath(folder) / 'log').open('w') as log:
            robot = subprocess.Popen(
                [sys.executable, '-m', 'pace_ros.ros.dialogue', '--ros-args', *(p for o in options for p in ('-p', o))],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
        late = 0
        try:
            with AskClient() as client:
                client.wait_for_node(START_DEADLINE)
                for number, question in enumerate(questions):
                    frames: list[msg.ResponseFrame] = []
                    client.ask(question, conversation=f'u{number}', timeout=TURN_DEADLINE, on_frame=frames.append)
                    late += is_late(frames)
                    if (number + 1) % 200 == 0:
                        print(f'{mode}: {number + 1} of {len(questions)} turns', file=sys.stderr, flush=True)
        finally:
            robot.send_signal(signal.SIGINT)
            robot.wait(20.0)
        return late, list(read_turns(FilePath(folder) / 'turns.jsonl'))[WARM_UP:]


def main() -> None:
    """Run both arms and compare."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    delay = float(sys.argv[2]) if len(sys.argv) > 2 else DELAY
    cloud = subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.serving.local_llm', '--port', '0', '--delay', str(delay)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )
    url = (cloud.stdout or sys.exit('no output')).readline().strip()
    questions = stream(turns + WARM_UP, seed=1)
    print(f'{turns} turns an arm after {WARM_UP} for warming up, first token held back {delay} s')
    print('arm        answered  L0+L1    L2  launched  generated  shown  late  conflicts  median PL of L2 turns')
    calls, good = {}, True
    try:
        for mode in ('fixed', 'adaptive'):
            late, records = run_arm(mode, url, questions)
            paths = Counter(record.path for record in records)
            instant = paths[Path.L0] + paths[Path.L1]
            conflicts = sum(bool(record.filler_conflict) for record in records)
            calls[mode] = sum(record.filler_launched for record in records)
            slow = sorted(record.perceived_latency for record in records if record.path is Path.L2)
            answered = sum(record.outcome is Outcome.ANSWERED for record in records)
            print(f'{mode:10} {answered:8} {instant:6} {paths[Path.L2]:5} {calls[mode]:9} '
                  f'{sum(record.filler_calls for record in records):10} '
                  f'{sum(record.filler_shown for record in records):6} {late:5} {conflicts:10} '
                  f'{slow[len(slow) // 2] if slow else 0.0:10.3f} s', flush=True)
            good = good and len(records) == turns and instant / turns >= 0.9 and not late and not conflicts
    finally:
        cloud.terminate()
    saved = 1.0 - calls['adaptive'] / calls['fixed']
    print(f'filler calls saved by the adaptive policy: {saved:.1%} (goal: more than 94 %)')
    sys.exit(0 if good and saved > 0.94 else 1)


if __name__ == '__main__':
    main()
