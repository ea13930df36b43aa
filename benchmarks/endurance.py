"""Endurance of the dialogue node: hours of visitors in as many turns as the machine takes, with interruptions.

    scripts/campaign.sh endurance [MINUTES]

Real node, real encoder, real fillers, silent speech with true timing, local stand-in for the cloud. Every utterance
must end in exactly one turn and one record; memory, threads and open files must not grow. Exit code 1 otherwise.
"""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '79')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import rclpy
from rclpy.executors import SingleThreadedExecutor

from pace_msgs import msg
from pace_ros.record import read_turns
from pace_ros.ros.qos import EVENTS
from pace_ros.turn import Outcome, Path

MINUTES = 30.0
REPORTS = 10
GROWTH_MB = 60.0  # the cache fills up to its capacity meanwhile
TURN_DEADLINE = 90.0  # s
KNOWN = ('云雀的续航是多少？', 'What is the range of the Lark?', '北野能坐几个人？', 'How much is the Bison?')


def usage(pid: int) -> tuple[float, int, int]:
    """Resident memory (MB), threads and open files of a process."""
    status = dict(line.split(':', 1) for line in FilePath(f'/proc/{pid}/status').read_text().splitlines())
    return (
        int(status['VmRSS'].split()[0]) / 1024, int(status['Threads']), len(list(FilePath(f'/proc/{pid}/fd').iterdir()))
    )


class Visitors:
    """Publishes utterances of four conversations, now and then before the robot has finished."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._node = rclpy.create_node('visitors')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._out = self._node.create_publisher(msg.Utterance, 'utterance', EVENTS)
        self._node.create_subscription(msg.Turn, 'turn', self._on_turn, EVENTS)
        self.sent = 0
        self.turns: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()

    def wait_for_robot(self) -> None:
        """Wait until the node listens."""
        deadline = time.monotonic() + 120.0
        while not self._out.get_subscription_count():
            if time.monotonic() > deadline:
                sys.exit('the dialogue node does not start')
            self._executor.spin_once(timeout_sec=0.1)
        time.sleep(1.0)

    def speak(self) -> None:
        """Say something and wait for its turn, or interrupt after a moment."""
        unknown = f'Tell me something about the number {self._random.randrange(400)}'
        text = self._random.choice(KNOWN) if self._random.random() < 0.6 else unknown
        name = f'u{self.sent}'
        self.sent += 1
        conversation = f'visitor-{self._random.randrange(4)}'
        self._out.publish(msg.Utterance(text=text, utterance_id=name, conversation_id=conversation))
        patience = self._random.uniform(0.0, 0.5) if self._random.random() < 0.2 else TURN_DEADLINE
        end = time.monotonic() + patience
        while not self.turns[name] and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def drain(self) -> None:
        """Wait for the turns still under way."""
        end = time.monotonic() + TURN_DEADLINE
        while len(self.turns) < self.sent and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def _on_turn(self, turn: msg.Turn) -> None:
        self.turns[turn.utterance_id] += 1
        self.outcomes[f'{Outcome(turn.outcome).name} {Path(turn.path).name}'] += 1


def main() -> None:
    """Run for the given minutes and report ten times on the way."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES
    with tempfile.TemporaryDirectory() as folder:
        cloud = subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.serving.local_llm', '--port', '0'], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )
        url = (cloud.stdout or sys.exit('no output')).readline().strip()
        options = [f'data_dir:={folder}', f'l2.base_url:={url}', 'l2.max_tokens:=24', 'l2.first_token_timeout:=30.0']
        robot = subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.ros.dialogue', '--ros-args', *(p for o in options for p in ('-p', o))],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        rclpy.init()
        visitors = Visitors(seed=1)
        visitors.wait_for_robot()
        begin, reports, first = time.monotonic(), 0, None
        print('  time     turns   RSS MB  threads  files', flush=True)
        while (spent := time.monotonic() - begin) < 60 * minutes:
            visitors.speak()
            if spent >= 60 * minutes * reports / REPORTS:
                reports += 1
                now = usage(robot.pid)
                first = first or (now if reports == 2 else None)  # after the first tenth everything is warm
                print(f'{spent:5.0f} s {len(visitors.turns):8} {now[0]:8.1f} {now[1]:8} {now[2]:6}', flush=True)
        visitors.drain()
        last = usage(robot.pid)
        robot.send_signal(signal.SIGINT)
        begin = time.monotonic()
        robot.wait(10.0)
        ended = time.monotonic() - begin
        cloud.terminate()
        records = sum(1 for _ in read_turns(FilePath(folder) / 'turns.jsonl'))
    print(', '.join(f'{count} {name}' for name, count in sorted(visitors.outcomes.items())))
    once = len(visitors.turns) == visitors.sent and set(visitors.turns.values()) == {1}
    turns = sum(visitors.turns.values())
    print(f'{visitors.sent} utterances, {turns} turns, {records} records, ended in {ended:.2f} s')
    memory, threads, files = (after - before for after, before in zip(last, first or last, strict=True))
    print(f'growth since the first tenth: {memory:.1f} MB, {threads} threads, {files} files')
    rclpy.try_shutdown()
    steady = memory < GROWTH_MB and threads <= 2 and files <= 4
    sys.exit(0 if once and records == visitors.sent and steady and ended < 2.0 else 1)


if __name__ == '__main__':
    main()
