"""`ask`: talk to the dialogue node from a terminal."""
from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import Any

from rich.console import Console
from rich.live import Live

from pace_msgs import msg
from pace_ros.command_line import own_words
from pace_ros.ros.ask_client import AskClient, NoAnswer
from pace_ros.ros.turn_view import FramePrinter, state_table, summary
from pace_ros.turn import FrameKind, Outcome, Path

HELP = '/c NAME  go to conversation NAME · /end  end it · /stop  silence the robot · /quit'
FAILED, ABSENT = 1, 3


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='ask', description=__doc__, epilog=f'In the conversation: {HELP}')
    parser.add_argument('question', nargs='?', help='ask this and exit; without it a conversation starts')
    parser.add_argument('--conversation', default='', metavar='ID', help='visitor session (default: "default")')
    parser.add_argument('--locale', default='', help='e.g. zh-CN or en-US (default: detected)')
    parser.add_argument('--namespace', default='', help="the robot's namespace, e.g. robot1")
    parser.add_argument('--timeout', type=float, default=60.0, metavar='S', help='(default: %(default)s)')
    parser.add_argument('--json', action='store_true', help='one JSON object a turn, with all its frames')
    parser.add_argument('--state', action='store_true', help="show the controllers' state live until Ctrl-C; "
                        'without a terminal once; with --json a line a second and for every change')
    parser.add_argument('--frames', action='store_true', help='a line for every frame')
    return parser.parse_args(own_words(argv))


def plain(message: Any) -> Any:
    """A message as JSON types: what is no number becomes null, path, kind and outcome their names."""
    if isinstance(message, list | tuple):
        return [plain(item) for item in message]
    if not hasattr(message, 'get_fields_and_field_types'):
        return None if isinstance(message, float) and not math.isfinite(message) else message
    names = {'path': Path, 'kind': FrameKind, 'outcome': Outcome}
    fields = ((name, getattr(message, name)) for name in message.get_fields_and_field_types())
    return {name: names[name](value).name if name in names else plain(value) for name, value in fields}


class Session:
    """One terminal: asks, shows, and remembers in which conversation it is."""

    def __init__(self, client: AskClient, options: argparse.Namespace, console: Console) -> None:
        self._client = client
        self._options = options
        self._console = console
        self._conversation = options.conversation

    def ask(self, question: str) -> bool:
        """Ask one question and show the turn; says whether it was answered. Raises NoAnswer."""
        frames: list[msg.ResponseFrame] = []
        printer = FramePrinter(self._console, every_frame=self._options.frames)
        turn = self._client.ask(
            question,
            conversation=self._conversation,
            locale=self._options.locale,
            timeout=self._options.timeout,
            on_frame=frames.append if self._options.json else printer.show,
        )
        if self._options.json:
            result = {'turn': plain(turn), 'frames': [plain(frame) for frame in frames]}
            sys.stdout.write(json.dumps(result, ensure_ascii=False) + '\n')
            sys.stdout.flush()
        else:
            printer.end()
            self._console.print(f'           [dim]{summary(turn)}[/]')
        return turn.outcome == Outcome.ANSWERED

    def converse(self) -> None:
        """Read questions until the input ends; arrow keys bring earlier ones back."""
        import readline  # noqa: F401, PLC0415  gives input() its history

        self._console.print(f'[dim]{HELP}[/]')
        while True:
            try:
                line = input(f'{self._conversation or "default"}> ').strip()
            except (EOFError, KeyboardInterrupt):
                self._console.print()
                return
            if line in ('/quit', '/q'):
                return
            if line:
                self._command(line) if line.startswith('/') else self.ask(line)

    def _command(self, line: str) -> None:
        word, _, rest = line.partition(' ')
        if word == '/c' and rest:
            self._conversation = rest.strip()
        elif word == '/end':
            known = self._client.end_conversation(self._conversation)
            self._console.print('[dim]forgotten[/]' if known else '[dim]it was not known[/]')
        elif word == '/stop':
            self._console.print(f'[dim]{self._client.stop()}[/]')
        else:
            self._console.print(f'[dim]{HELP}[/]')


def watch(client: AskClient, options: argparse.Namespace, console: Console) -> None:
    """Show the controllers' state as it comes. Raises NoAnswer where none comes."""
    states = client.states(options.timeout)
    if options.json:
        for state in states:
            sys.stdout.write(json.dumps(plain(state), ensure_ascii=False) + '\n')
            sys.stdout.flush()
    elif not console.is_terminal:
        console.print(state_table(next(states)))
    else:
        with Live(console=console, auto_refresh=False) as screen:
            for state in states:
                screen.update(state_table(state), refresh=True)


def main() -> None:
    """Ask one question, converse, or watch the controllers."""
    options = arguments()
    console = Console(highlight=False)
    try:
        with AskClient(options.namespace) as client:
            client.wait_for_node(min(10.0, options.timeout))
            if options.state:
                watch(client, options, console)
                return
            session = Session(client, options, console)
            if options.question is None:
                session.converse()
                return
            sys.exit(0 if session.ask(options.question) else FAILED)
    except NoAnswer as error:
        sys.stderr.write(f'{error}\n')
        sys.exit(ABSENT)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == '__main__':
    main()
