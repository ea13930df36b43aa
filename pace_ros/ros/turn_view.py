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
    refused = f', refused {escape("; ".join(turn.refused))}' if turn.refused else ''
    return (
        f'[{style}]{outcome.name}[/] by {Path(turn.path).name}: PTFR {seconds(turn.ptfr)}, '
        f'PL {seconds(turn.perceived_latency)}{filler}{reason}{refused}'
    )


def state_table(state: msg.ControllerState) -> Table:
    """What the controllers would do now, and why."""
    static = state.gate == msg.ControllerState.GATE_STATIC
    result = Table(title=f'controllers, mode {state.mode}', title_justify='left', show_header=False)
    result.add_column('what', style='bold', no_wrap=True)
    result.add_column('value')
    age = 'none yet' if math.isnan(state.ttft_age) else f'the last one {state.ttft_age:.0f} s ago'
    age += ' [red]STARVED[/]' if state.ttft_starved else ''
    rows = {
        'load λ': f'{bar(state.load_index)} {state.load_index:.3f}',
        'TTFT average x': f'{state.ttft_ewma:.3f} s of {state.ttft_samples} samples, {age}',
        'arrivals r': f'{60 * state.arrival_rate:.1f} a minute',
        'thresholds': f'cache {state.theta_cache:.3f}, direct {state.theta_direct:.3f}: {escape(state.reason)}',
        'gate': f'[{"green" if static else "yellow"}]{"STATIC" if static else "ADAPTIVE"}[/], '
                f'{state.quiet_windows} quiet windows in a row, {state.windows} closed',
        **{f'  {each.name}': f'{each.value:.3f}, p {each.p:.3g}' + (' [yellow]fired[/]' if each.fired else '')
           for each in state.triggers},
        'P(inst)': f'{bar(state.p_instant)} {state.p_instant:.3f}',
        'filler': f'{"launch" if state.filler_launch else "none"} ({escape(state.filler_decision)}), '
                  f'budget {state.filler_budget:.2f} s',
        'conflicts': f'{state.conflict_rate:.1%} of {state.fillers_measured} turns with a filler; '
                     f'the judge: {state.contradiction_rate:.1%} of {state.fillers_judged}',
        'cost a turn': f'{state.tokens_per_turn:.0f} tokens, {state.fillers_per_turn:.2f} filler generations',
        'beside': f'{state.hedged_share:.1%} of requests hedged, {state.used_ahead} of {state.asked_ahead} asked ahead '
                  f'used, {state.probes} probes in 24 h',
    }
    for name, value in rows.items():
        result.add_row(name, value)
    return result


def bar(share: float, width: int = 20) -> str:
    """A share between 0 and 1 as a bar."""
    full = round(share * width)
    return '█' * full + '░' * (width - full)


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
