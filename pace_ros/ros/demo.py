"""`demo`: the whole robot on this machine. With a terminal you talk to it; without one it is asked a scripted set."""
from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path as FilePath

from rich.console import Console

from pace_msgs import msg
from pace_ros.record import read_turns
from pace_ros.ros import ask
from pace_ros.ros.ask_client import AskClient, NoAnswer
from pace_ros.ros.processes import START_DEADLINE, ProcessError, cloud, exit_on_sigterm, robot
from pace_ros.ros.turn_view import FramePrinter, summary, table
from pace_ros.turn import Outcome, Path

# Conversation and question. What the knowledge base answers takes L1; what it does not takes L2, and on its repeat L0
# unless it is volatile.
SCRIPT = (
    ('anna-zh', '云雀的续航是多少？'),
    ('ben-en', 'How long does the Heron take at a fast charger?'),
    ('cleo-en', 'Why do people love road trips?'),
    ('dan-en', 'What is a good name for a cat?'),
    ('emil-zh', '给孩子讲个笑话吧'),
    ('fay-zh', '我们想去海边看日出，您推荐哪款车？'),
    ('anna-zh', '苍鹭多少钱？'),
    ('ben-en', 'How much is the Bison?'),
    ('gus-en', 'What should I wear today?'),
    ('hana-en', 'why do people love road trips'),
    ('ivo-en', 'What is a good name for a cat?'),
    ('jun-zh', '给孩子讲个笑话吧'),
    ('kim-en', 'What should I wear today?'),
    ('anna-zh', '北野能坐几个人？'),
)


def missing(turns: list[msg.Turn]) -> list[str]:
    """What the scripted set was to show and did not."""
    answered = [turn for turn in turns if turn.outcome == Outcome.ANSWERED]
    expected = {'every answer': len(answered) == len(turns)}
    for tongue in ('zh', 'en'):
        mine = [turn for turn in answered if turn.conversation_id.endswith(tongue)]
        for path in (Path.L0, Path.L1, Path.L2):
            expected[f'{path.name} in {tongue}'] = any(turn.path == path for turn in mine)
        expected[f'a filler before an L2 answer in {tongue}'] = any(
            turn.path == Path.L2 and turn.filler_shown for turn in mine
        )
        expected[f'a volatile question in {tongue}'] = any(turn.volatile_query for turn in mine)
    expected['no volatile answer from L0'] = not any(t.volatile_query and t.path == Path.L0 for t in answered)
    return [name for name, seen in expected.items() if not seen]


def run_script(client: AskClient, folder: FilePath, console: Console) -> int:
    """Ask the scripted set, print the table of turns, and return the exit code."""
    rows = []
    for number, (conversation, question) in enumerate(SCRIPT, start=1):
        console.print(f'[bold]{number}/{len(SCRIPT)} {conversation}>[/] {question}')
        printer = FramePrinter(console)
        turn = client.ask(question, conversation=conversation, on_frame=printer.show)
        printer.end()
        console.print(f'           [dim]{summary(turn)}[/]')
        rows.append((question, turn))
    console.print(table(rows))
    if not os.environ.get('PACE_L2_BASE_URL'):
        console.print('[dim]L2 was the local stand-in, 135 million parameters: mind its timing, not its words.[/]')
    console.print(f'one record a turn in {folder / "turns.jsonl"}')
    absent = missing([turn for _, turn in rows])
    for name in absent:
        console.print(f'[red]not seen: {name}[/]')
    return 1 if absent else 0


def main() -> None:
    """Start everything, talk, and take everything down again."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--script', action='store_true', help='ask the scripted set even with a terminal')
    parser.add_argument('--data-dir', type=FilePath, help='where cache, records and logs go (default: a new folder)')
    options = parser.parse_args()
    exit_on_sigterm()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    folder = options.data_dir or FilePath(tempfile.mkdtemp(prefix='pace-demo-'))
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)
    scripted = options.script or not sys.stdin.isatty()
    begin = time.monotonic()
    try:
        console.print('[dim]loading the models …[/]')
        with (
            cloud(folder, dict(os.environ)) as base_url,
            robot(folder, base_url, dict(os.environ)),
            AskClient() as client,
        ):
            client.wait_for_node(START_DEADLINE)
            console.print(f'[dim]ready after {time.monotonic() - begin:.1f} s, L2 at {base_url}[/]')
            code = run_script(client, folder, console) if scripted else 0
            if not scripted:
                ask.Session(client, ask.arguments([]), console).converse()
        if scripted:
            written = sum(1 for _ in read_turns(folder / 'turns.jsonl'))
            console.print(f'{written} records on disk after the node has ended')
            code = code or int(written != len(SCRIPT))
    except (ProcessError, NoAnswer) as error:
        sys.exit(f'{error} The logs are in {folder}.')
    sys.exit(code)


if __name__ == '__main__':
    main()
