"""Two robots through one gateway: every conversation on one decoder from its first turn to its last.

    scripts/campaign.sh serving_robots [VISITS] [TURNS]

Two dialogue nodes in namespaces of their own, one prefiller and two decoders, the packaged small model, policy pinned.
Visitors come to both robots at the same time, say that they are called the same, and ask the same questions; each visit
is ended by `~/end_conversation`. GET /v1/conversations is looked at ten times a second. Exit code 1 where two visits
share a conversation, one lives in two places, a turn is not answered by the language model, or the ledger is not exact.
"""
from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault('ROS_DOMAIN_ID', '83')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rich.table import Table

from pace_msgs import msg
from pace_ros import packaged
from pace_ros.ros.ask_client import AskClient
from pace_ros.ros.processes import (
    STAND_IN,
    START_DEADLINE,
    ProcessError,
    executable,
    exit_on_sigterm,
    started,
    wait_for_line,
)
from pace_ros.study.live_serving.audit import audited, figures
from pace_ros.study.live_serving.live_fleet import live_fleet, one_prefiller_two_decoders
from pace_ros.study.live_serving.lives import PERIOD, Lives, watched
from pace_ros.study.refusal import refusing

VISITS, TURNS = 3, 4
ROBOTS = ('robot_1', 'robot_2')
CALLED = 'visitor'
TURN_DEADLINE = 120.0  # s
SETTLED = 10.0  # s
QUESTIONS = (
    'Why do people love road trips?', 'What is a good name for a cat?', 'Do you like jazz music?',
    'What makes a good picnic?', 'Why is the sea salty?',
)
PARAMETERS = {  # every turn is the language model's
    **STAND_IN, 'l0.enabled': 'false', 'l0.file': 'none', 'l1.enabled': 'false', 'filler.mode': 'fixed',
    'l2.sticky': 'gateway', 'l2.layout': 'append', 'l2.first_token_timeout': '60.0', 'l2.total_timeout': '110.0',
}
COUNTED = ('turns', 'handed_over', 'hand_overs_failed', 'refused', 'failed', 'read', 'cached')
SETTINGS = {'deadlines': {'hand_over': 60.0}, 'admission': {'utilisation': 10.0, 'wait': 30.0}}
Heard = list[tuple[int, msg.Turn]]


@contextlib.contextmanager
def robots(folder: Path, base_url: str) -> Iterator[None]:
    """Both dialogue nodes, listening. Raises ProcessError."""
    environment = {**os.environ, 'PACE_L2_BASE_URL': base_url}
    persona = f'l2.persona_file:={packaged.config_dir() / "persona.local_llm.yaml"}'
    with contextlib.ExitStack() as stack:
        running = []
        for name in ROBOTS:
            place = folder / name
            place.mkdir()
            given = [f'data_dir:={place}', persona, *(f'{key}:={value}' for key, value in PARAMETERS.items())]
            command = [*executable('dialogue'), '--ros-args', '-r', f'__ns:=/{name}']
            command += [part for each in given for part in ('-p', each)]
            running.append((stack.enter_context(started(command, place / 'dialogue.log', environment)), place))
        for process, place in running:
            wait_for_line(process, place / 'dialogue.log', 'listening')
        yield


def visit(robot: str, visits: int, turns: int, heard: Heard) -> None:
    """All visitors of one robot, one after the other; every turn with its number in its visit."""
    with AskClient(robot) as client:
        client.wait_for_node(START_DEADLINE)
        for _ in range(visits):
            for number in range(turns):
                text = QUESTIONS[number % len(QUESTIONS)]
                heard.append((number, client.ask(text, conversation=CALLED, locale='en', timeout=TURN_DEADLINE)))
            time.sleep(3 * PERIOD)  # so that the last turn is listed, too
            client.end_conversation(CALLED)


def both(visits: int, turns: int) -> Heard:
    """Both robots' visitors at the same time; all their turns."""
    heard: Heard = []
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        threads = [threading.Thread(target=visit, args=(each, visits, turns, heard)) for each in ROBOTS]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        rclpy.try_shutdown()
    return heard


def faults_of(lives: Lives, heard: Heard, visits: int, turns: int) -> list[str]:
    """What is not as it must be."""
    wanted = len(ROBOTS) * visits
    faults = [f'{len(lives.seen)} conversations at the gateway for {wanted} visits'] * (len(lives.seen) != wanted)
    for key, life in lives.seen.items():
        places = {place for each in life.turns.values() for place in each}
        if len(places) != 1 or life.last_turn != turns:
            faults.append(f'{key}: {life.last_turn} turns in {sorted(places)}')
    all_turns = [each for _, each in heard]
    good = [each for each in all_turns
            if each.outcome == msg.Turn.OUTCOME_ANSWERED and each.path == msg.ResponseFrame.PATH_L2]
    if len(good) != wanted * turns:
        faults.append(f'{len(good)} of {wanted * turns} turns answered by the language model: '
                      f'{sorted({each.reason for each in all_turns if each not in good})}')
    return faults


def shown(lives: Lives, heard: Heard, turns: int) -> None:
    """Print where each conversation lived, and how long first tokens took by turn."""
    console = Console(width=120, highlight=False)
    table = Table('conversation', 'turns', 'lived on', 'slot', 'tokens held', title='seen in GET /v1/conversations')
    for key, life in lives.seen.items():
        places = sorted({place for each in life.turns.values() for place in each})
        table.add_row(key[:24], str(life.last_turn), ', '.join(replica for replica, _ in places),
                      ', '.join(str(slot) for _, slot in places), str(life.held))
    console.print(table)
    table = Table('turn of the visit', 'turns', 'TTFT of L2, p50', 'worst', title='as the robots record it')
    for number in range(turns):
        waits = [each.ttft for place, each in heard if place == number]
        table.add_row(str(number + 1), str(len(waits)), f'{np.nanmedian(waits):.3f} s', f'{np.nanmax(waits):.3f} s')
    console.print(table)


def campaign(visits: int, turns: int) -> int:
    """Start everything, let the visitors come, look."""
    with tempfile.TemporaryDirectory() as name, live_fleet(Path(name), one_prefiller_two_decoders()) as fleet:
        with fleet.gateway('pinned', **SETTINGS) as gateway, robots(Path(name), gateway.url):
            with watched(gateway.url) as lives:
                heard = both(visits, turns)
            until = time.monotonic() + SETTLED
            while (left := audited(gateway.url, fleet.urls, fleet.slot_dir)) and time.monotonic() < until:
                time.sleep(0.5)
            counted = figures(gateway.url, *COUNTED)
        left += [f'left behind: {each.name}' for each in fleet.slot_dir.iterdir()]
    faults = faults_of(lives, heard, visits, turns) + left
    shown(lives, heard, turns)
    print('gateway: ' + ', '.join(f'{name} {value:.0f}' for name, value in counted.items()))
    print(f'{len(faults)} faults')
    for fault in faults[:20]:
        print('  ', fault)
    return int(bool(faults))


def main() -> int:
    """Run and print."""
    exit_on_sigterm()
    visits, turns = [int(each) for each in sys.argv[1:]] + [VISITS, TURNS][len(sys.argv) - 1:]
    try:
        return refusing('serving_robots', lambda: campaign(visits, turns))
    except ProcessError as error:
        sys.exit(str(error))


if __name__ == '__main__':
    sys.exit(main())
