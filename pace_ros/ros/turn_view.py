"""How a turn looks in a terminal."""
from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pace_msgs import msg
from pace_ros.turn import FrameKind, Outcome, Path

STYLES = {Path.UNKNOWN: 'yellow', Path.L0: 'bright_green', Path.L1: 'green', Path.L2: 'cyan', Path.FALLBACK: 'red'}


def seconds(value: float) -> str:
    """A duration for reading, a dash where it did not happen."""
    return '–' if math.isnan(value) else f'{value:.3f} s'


class FramePrinter:
    """Prints frames as they come; a stream of tokens shares a line that begins with the time of its first one.

    With ``every_frame`` each frame has a line and a time of its own.
    """

    def __init__(self, console: Console, *, every_frame: bool = False) -> None:
        self._console = console
        self._every_frame = every_frame
        self._line: tuple[int, int] | None = None

    def show(self, frame: msg.ResponseFrame) -> None:
        """Print one frame."""
        path = Path(frame.path)
        label = 'filler' if frame.kind == FrameKind.FILLER else path.name
        style = STYLES[path]
        key = (frame.kind, frame.path)
        if not frame.text:
            return
        if self._every_frame or key != self._line:
            self.end()
            self._console.print(f'[dim]{frame.elapsed:8.3f} s[/dim] [bold {style}]{label:>8}[/]  ', end='')
            self._line = key
        self._console.print(f'[{style}]{escape(frame.text)}[/]', end='', soft_wrap=True)

    def end(self) -> None:
        """End the line under way."""
        if self._line is not None:
            self._console.print()
        self._line = None


def summary(turn: msg.Turn) -> str:
    """One line of rich markup on a finished turn."""
    outcome = Outcome(turn.outcome)
    style = 'green' if outcome is Outcome.ANSWERED else 'red'
    filler = f', filler at {seconds(turn.filler_elapsed)}' if turn.filler_shown else ''
    reason = f', {escape(turn.reason)}' if turn.reason else ''
    return (
        f'[{style}]{outcome.name}[/] by {Path(turn.path).name}: PTFR {seconds(turn.ptfr)}, '
        f'PL {seconds(turn.perceived_latency)}{filler}{reason}'
    )


def table(rows: Iterable[tuple[str, msg.Turn]]) -> Table:
    """The table of turns: one row a question."""
    result = Table(title='turns', title_justify='left', row_styles=['', 'dim'])
    for name in ('question', 'path', 'PTFR', 'PL', 'filler', 'similarity', 'volatile', 'answer'):
        numeric = name in ('PTFR', 'PL', 'filler', 'similarity')
        result.add_column(name, justify='right' if numeric else 'left', no_wrap=name not in {'answer', 'question'})
    for question, turn in rows:
        path = Path(turn.path)
        score = turn.cache_score if path is Path.L0 else turn.retrieval_score
        answer = turn.answer if len(turn.answer) <= 60 else f'{turn.answer[:59]}…'
        result.add_row(
            escape(question),
            f'[{STYLES[path]}]{path.name}[/]' if turn.outcome == Outcome.ANSWERED else Outcome(turn.outcome).name,
            seconds(turn.ptfr),
            seconds(turn.perceived_latency),
            seconds(turn.filler_elapsed),
            '–' if math.isnan(score) else f'{score:.2f}',
            'yes' if turn.volatile_query else '',
            escape(answer),
        )
    return result
