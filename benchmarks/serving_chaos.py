"""Chaos: conversations through the gateway while replicas die, stand still, and slot files vanish or rot.

    scripts/campaign.sh serving_chaos [CONVERSATIONS] [AT_ONCE]

One prefiller, two decoders, the packaged small model, policy pinned. AT_ONCE visitors at a time have conversations of
five turns, closed loop. What is refused or fails is asked again, three times at most. On the way a slot file is
removed, one corrupted and one truncated between save and restore, the prefiller is killed during a hand-over, a decoder
is killed, and the decoders are stopped in their tracks, for less and for longer than the deadline between two tokens.
Exit code 1 where an answer ends without a word, a turn is never answered, something on the list did not happen, the
ledger is not what the servers hold, or a slot file is left.
"""
from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx
from rich.console import Console
from rich.table import Table

from pace_ros.study.live_serving.audit import audited, figures
from pace_ros.study.live_serving.brochure import brochure
from pace_ros.study.live_serving.live_fleet import LiveFleet, live_fleet, one_prefiller_two_decoders
from pace_ros.study.live_serving.sabotage import (
    NextHandOver,
    corrupted,
    dies,
    removed,
    spoiling,
    stands_still,
    truncated,
)
from pace_ros.study.live_serving.visitor import ANSWERED, CUT, HUNG, PATIENCE, Heard, Visitor
from pace_ros.study.refusal import refusing

CONVERSATIONS, AT_ONCE, TURNS, ATTEMPTS = 30, 4, 5, 4
PROMPT, ANSWER = 80, 12
EVERY = 6  # one conversation of so many is not ended by its visitor, so that the ledger has something to say at the end
ABSENT = 3.0  # s until a killed server is started again
SETTLED = 30.0  # s within which everything must be well again
SETTINGS = {
    'admission': {'utilisation': 10.0, 'wait': 10.0}, 'health_period': 0.5, 'idle': 600.0,
    'deadlines': {'prefill': 60.0, 'hand_over': 30.0, 'first_token': 60.0, 'next_token': 4.0, 'total': 150.0},
}
QUESTIONS = ('Which model is quiet?', 'Which one is wide?', 'How is the charger?', 'Is there a roof?', 'Thank you!')
COUNTED = ('turns', 'refused', 'failed', 'handed_over', 'hand_overs_failed', 'rebound', 'deaths', 'drift')


@dataclass
class Outcome:
    """What the visitors met: attempts by outcome, errors by their words, turns never answered, the longest wait."""

    attempts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    lost: int = 0
    longest: float = 0.0
    happened: list[str] = field(default_factory=list)
    planned: int = 0


class Chaos:
    """What goes wrong after how many turns, as a share of all."""

    def __init__(self, fleet: LiveFleet, outcome: Outcome, turns: int) -> None:
        servers = fleet.replicas
        self._fleet = fleet
        self._outcome = outcome
        self._watch: tuple[str, NextHandOver] | None = None
        plan: list[tuple[float, Callable[[], None]]] = [
            (0.05, lambda: self._arm('slot file removed', spoiling(fleet, removed))),
            (0.15, lambda: self._arm('slot file corrupted', spoiling(fleet, corrupted))),
            (0.25, lambda: self._arm('slot file truncated', spoiling(fleet, truncated))),
            (0.35, lambda: self._arm('prefiller killed during a hand-over',
                                     lambda _file: dies(servers['prefill-1'], ABSENT))),
            (0.50, lambda: self._now('decoder killed', lambda: dies(servers['decode-1'], ABSENT))),
            (0.65, lambda: self._now('decoder stopped for 2 s', lambda: stands_still(servers['decode-2'], 2.0))),
            (0.80, lambda: self._now('decoder stopped for 8 s', lambda: stands_still(servers['decode-1'], 8.0))),
        ]
        self._plan = [(round(share * turns), act) for share, act in plan]
        outcome.planned = len(plan)

    def turn_over(self) -> None:
        """One more turn has ended."""
        self._collect()
        while self._plan and self._outcome.turns >= self._plan[0][0] and self._watch is None:
            self._plan.pop(0)[1]()

    def close(self) -> None:
        """Nothing more goes wrong."""
        self._collect()
        if self._watch is not None:
            self._watch[1].close()

    def _now(self, name: str, act: Callable[[], None]) -> None:
        act()
        self._outcome.happened.append(name)

    def _arm(self, name: str, strike: Callable[[Path], None]) -> None:
        self._watch = name, NextHandOver(self._fleet, strike)

    def _collect(self) -> None:
        if self._watch is not None and self._watch[1].struck.is_set():
            self._outcome.happened.append(self._watch[0])
            self._watch = None


async def visit(visitor: Visitor, outcome: Outcome, chaos: Chaos) -> None:
    """Five turns; what is not answered is asked again."""
    for question in QUESTIONS[:TURNS]:
        begin = time.monotonic()
        for _ in range(ATTEMPTS):
            heard = await visitor.ask(question, max_tokens=ANSWER)
            note(heard, outcome)
            if heard.outcome == ANSWERED:
                break
            await anyio.sleep(max(0.5, min(heard.retry_after, 5.0)))
        outcome.lost += heard.outcome != ANSWERED
        outcome.turns += 1
        outcome.longest = max(outcome.longest, time.monotonic() - begin)
        chaos.turn_over()


def note(heard: Heard, outcome: Outcome) -> None:
    """Count one attempt."""
    outcome.attempts[heard.outcome] += 1
    if heard.outcome != ANSWERED:
        outcome.errors[f'{heard.outcome}, HTTP {heard.status}: {heard.error or "nothing"}'] += 1


async def everyone(base_url: str, fleet: LiveFleet, conversations: int, at_once: int) -> Outcome:
    """All visitors, so many at a time."""
    outcome, waiting = Outcome(), [*range(conversations)][::-1]
    chaos = Chaos(fleet, outcome, conversations * TURNS)

    async def worker() -> None:
        while waiting:
            number = waiting.pop()
            visitor = Visitor(http, base_url, f'visitor-{number}', brochure(PROMPT, number))
            await visit(visitor, outcome, chaos)
            if number % EVERY:
                await visitor.end()

    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        try:
            async with anyio.create_task_group() as group:
                for _ in range(at_once):
                    group.start_soon(worker)
        finally:
            chaos.close()
    return outcome


def settled(base_url: str, fleet: LiveFleet) -> list[str]:
    """The faults that are left once every replica had time to come back."""
    until, faults = time.monotonic() + SETTLED, ['not looked at']
    while faults and time.monotonic() < until:
        time.sleep(0.5)
        try:
            faults = audited(base_url, fleet.urls, fleet.slot_dir)
        except httpx.HTTPError as error:
            faults = [f'a server does not answer: {error}']
    return faults


def end_all(base_url: str) -> int:
    """End what visitors have left; how many conversations there were."""
    with httpx.Client(timeout=PATIENCE, trust_env=False) as http:
        known = http.get(f'{base_url}/conversations').json()['conversations']
        for each in known:
            http.delete(f'{base_url}/conversations/{each["id"]}')
    return len(known)


def shown(outcome: Outcome, counted: dict[str, float], console: Console) -> None:
    """Print what happened."""
    table = Table('what went wrong on purpose', 'in order', title='chaos')
    for number, each in enumerate(outcome.happened, 1):
        table.add_row(each, str(number))
    console.print(table)
    table = Table('attempts', 'count', title=f'{outcome.turns} turns')
    for name, count in [*outcome.attempts.most_common(), *outcome.errors.most_common()]:
        table.add_row(name, str(count))
    console.print(table)
    console.print('gateway: ' + ', '.join(f'{name} {value:.0f}' for name, value in counted.items()))


def campaign(conversations: int, at_once: int) -> int:
    """Everything, and the account at the end."""
    console = Console(width=140, highlight=False)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        fleet = stack.enter_context(live_fleet(folder, one_prefiller_two_decoders(slots=8, context=512)))
        with fleet.gateway('pinned', **SETTINGS) as gateway:
            begin = time.monotonic()
            outcome = anyio.run(everyone, gateway.url, fleet, conversations, at_once)
            took = time.monotonic() - begin
            faults = settled(gateway.url, fleet)
            counted = figures(gateway.url, *COUNTED)
            left = end_all(gateway.url)
            faults += [f'after the last end: {each}' for each in settled(gateway.url, fleet)]
            alive = gateway.alive
        faults += [f'left behind by the gateway: {each.name}' for each in fleet.slot_dir.iterdir()]
        shown(outcome, counted, console)
        errors = [line for line in gateway.log.read_text().splitlines() if 'Traceback' in line]
    faults += [] if alive else ['the gateway has ended']
    faults += [f'{len(errors)} tracebacks in the log of the gateway'] if errors else []
    faults += [f'{outcome.lost} turns never answered'] if outcome.lost else []
    faults += [f'only {len(outcome.happened)} of {outcome.planned} faults happened'] * (
        len(outcome.happened) < outcome.planned)
    silent = outcome.attempts[CUT] + outcome.attempts[HUNG]
    faults += [f'{silent} answers ended without a word'] if silent else []
    print(f'{took:.0f} s, the longest turn {outcome.longest:.1f} s, {left} conversations left at the end, '
          f'{len(faults)} faults')
    for fault in faults[:20]:
        print('  ', fault)
    return int(bool(faults))


def main() -> int:
    """Run and print."""
    conversations, at_once = [int(each) for each in sys.argv[1:]] + [CONVERSATIONS, AT_ONCE][len(sys.argv) - 1:]
    return refusing('serving_chaos', lambda: campaign(conversations, at_once))


if __name__ == '__main__':
    sys.exit(main())
