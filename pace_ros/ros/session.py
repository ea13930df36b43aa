"""`session`: the whole embodied robot on this machine, simulated body included. Scripted visitors ask and interrupt, a
bag is recorded, what an observer saw is compared with what the simulated robot did, and the report is made.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath

from rich.console import Console
from rich.progress import Progress

from pace_ros.ros.processes import (
    START_DEADLINE,
    ProcessError,
    cloud,
    executable,
    exit_on_sigterm,
    node,
    robot,
    started,
    wait_for_line,
)
from pace_ros.ros.visitors import MOMENTS, STOP, UTTERANCE, VOICE, Interruption, RobotAbsent, Visitors
from pace_ros.study.agreement import Agreement, ModalityAgreement, agreement_of, agreement_table

TURN_DEADLINE = 60.0  # s
RECORDER_PATIENCE = 30.0  # s that a bag may take to be closed
EVERY = 6  # turns: one of so many is interrupted
THINKING = 1.0  # s by which the stand-in is held back, so that there is a wait to fill
TOLERANCE = 0.02  # s at P95 between an observed onset and the simulated robot's own
MISSED = 0.15  # share of onsets that may go unobserved: nods amid another motion of the head are left out as ambiguous
EMBODIED = ('speech.sink:=topic', 'barge_in.on_voice:=true', 'record.l2:=true', 'filler.mode:=fixed')
KNOWN = (
    '云雀的续航是多少？', 'How long does the Heron take at a fast charger?', '苍鹭多少钱？', 'How much is the Bison?',
    '北野能坐几个人？', 'What is the range of the Lark?', '试驾怎么预约？', 'What warranty does the battery have?',
)
OPEN = (
    'Why do people love road trips?', 'What is a good name for a cat?', 'Tell me a story about a lighthouse.',
    'Do you like jazz music?', '给孩子讲个笑话吧', 'What makes a good picnic?', 'Why is the sea salty?',
    'Describe a quiet morning in the mountains.',
)
THINGS = ('an old clock', 'a violin', 'the desert', 'snow', 'a bakery', 'chess', 'a lost key', 'whales', 'a juggler',
          'rain', 'a castle', 'honey', 'a comet', 'origami', 'volcanoes', 'penguins', 'the moon')


@dataclass(frozen=True)
class Ask:
    """One question of a visitor, and how its turn is interrupted, if at all."""

    conversation: str
    text: str
    interruption: Interruption | None = None


def script(turns: int, seed: int) -> list[Ask]:
    """A scripted day: every visitor asks six questions, known and open ones mixed; every sixth turn, a question nobody
    has asked before, is interrupted, by each means at each moment in turn. The same for the same seed.
    """
    chance = random.Random(seed)  # noqa: S311  a script, no secret
    kinds = [(by, moment) for moment in MOMENTS for by in (UTTERANCE, VOICE, STOP)]
    asks = []
    for number in range(turns):
        interrupted = number % EVERY == EVERY - 1 and number + 1 < turns
        text = chance.choice(OPEN if chance.random() < 0.6 else KNOWN)
        if interrupted:
            text = f'Please tell me a story about {THINGS[number // EVERY % len(THINGS)]}.'
        by, moment = kinds[number // EVERY % len(kinds)]
        asks.append(Ask(
            f'visitor-{(number + EVERY // 2) // EVERY}', text,
            Interruption(by, moment, round(chance.uniform(0.05, 0.6), 3)) if interrupted else None,
        ))
    return asks


@contextlib.contextmanager
def embodied_robot(
    folder: FilePath, environment: dict[str, str], *parameters: str, thinking: float = THINKING
) -> Iterator[None]:
    """Stand-in for the cloud, held back by ``thinking`` s, simulated body, observer, and dialogue node with its
    parameters, as name:=value. Raises ProcessError.
    """
    with (
        cloud(folder, environment, delay=thinking) as base_url,
        node('sim_robot', folder, environment),
        node('onset_observer', folder, environment) as observer,
        robot(folder, base_url, environment, *EMBODIED, *parameters) as dialogue,
    ):
        wait_for_line(observer, folder / 'onset_observer.log', 'observing')
        wait_for_line(dialogue, folder / 'dialogue.log', 'listening')
        yield


@contextlib.contextmanager
def recorded(folder: FilePath, environment: dict[str, str], storage: str) -> Iterator[FilePath]:
    """A bag of all topics meanwhile. Raises ProcessError if it cannot be written to its end."""
    target = folder / 'bag'
    command = [*executable('bag'), 'record', str(target), '--storage', storage]
    log = folder / 'bag.log'
    with started(command, log, environment, patience=RECORDER_PATIENCE) as process:
        wait_for_line(process, log, 'recording')
        yield target
        if process.poll() is not None:
            raise ProcessError(f'The recorder has ended; see {log}.')
    if process.returncode:
        raise ProcessError(f'The recorder did not close the bag; see {log}.')


def visit(visitors: Visitors, asks: list[Ask], console: Console) -> int:
    """Ask everything; returns how many turns were interrupted. Raises RobotAbsent."""
    interrupted = 0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task('visitors', total=len(asks))
        for each in asks:
            known = set(visitors.onsets)
            utterance_id = visitors.say(each.text, each.conversation)
            if each.interruption is None:
                visitors.listen_to_the_end(utterance_id, TURN_DEADLINE)
            else:
                interrupted += visitors.interrupt(known, each.interruption, TURN_DEADLINE) is not None
            progress.advance(task)
    return interrupted


def say_how_it_went(agreement: Agreement, console: Console) -> int:
    """Print the comparison with the ground truth; the exit code says whether it is good enough."""
    console.print(agreement_table(agreement))
    good = not agreement.wrong and all(is_good(each) for each in agreement.modalities)
    if not good:
        console.print(f'[red]In each modality onsets should be observed within {TOLERANCE * 1000:.0f} ms at P95, '
                      f'at most {MISSED:.0%} of them missed, none unfounded and none of a wrong turn.[/]')
    return int(not good)


def is_good(modality: ModalityAgreement) -> bool:
    """Whether an observer has seen enough, and nothing else."""
    few_missed = modality.missed <= MISSED * (modality.count + modality.missed)
    return modality.count > 0 and modality.p95 <= TOLERANCE and few_missed and not modality.unfounded


def reported(recording: FilePath, folder: FilePath) -> int:
    """Make the report of a bag; returns its exit code. Raises ProcessError where its libraries are missing."""
    try:
        from pace_ros.study import report  # noqa: PLC0415  pandas and matplotlib are needed for nothing else here
    except ImportError as error:
        raise ProcessError(f'The report needs requirements/study.txt: {error}.') from error
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    return report.run(parser.parse_args([str(recording), '--out', str(folder), '--format', 'all']))


def main() -> None:
    """Start everything, let the visitors come, take everything down, compare and report."""
    parser = argparse.ArgumentParser(prog='session', description=__doc__)
    parser.add_argument('--turns', type=int, default=60, help='(default: %(default)s)')
    parser.add_argument('--seed', type=int, default=1, help='of the script (default: %(default)s)')
    parser.add_argument('--out', type=FilePath, help='where bag, logs and report go (default: a new folder)')
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap', help='(default: %(default)s)')
    options = parser.parse_args()
    exit_on_sigterm()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    folder = options.out or FilePath(tempfile.mkdtemp(prefix='pace-session-'))
    folder.mkdir(parents=True, exist_ok=True)
    console, environment, begin = Console(highlight=False), dict(os.environ), time.monotonic()
    try:
        console.print('[dim]starting the simulated robot; its body, its loudspeaker and its cloud are stand-ins …[/]')
        with (
            embodied_robot(folder, environment),
            recorded(folder, environment, options.storage) as recording,
            Visitors() as visitors,
        ):
            visitors.wait_for_robot(START_DEADLINE)
            console.print(f'[dim]ready after {time.monotonic() - begin:.1f} s; {options.turns} turns follow[/]')
            interrupted = visit(visitors, script(options.turns, options.seed), console)
        console.print(f'{options.turns} turns, {interrupted} of them interrupted, in {recording}')
        code = say_how_it_went(agreement_of(recording), console)
        made = reported(recording, folder / 'report')
    except (ProcessError, RobotAbsent) as error:
        sys.exit(f'{error} The logs are in {folder}.')
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code or made)


if __name__ == '__main__':
    main()
