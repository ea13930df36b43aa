"""Stalls: the worst gap in the streams of others while one visitor's long first prompt is read.

    scripts/campaign.sh serving_stall [ROUNDS] [TOKENS]

One prefiller with a core of its own, two decoders on the other; the packaged small model. As many visitors are
listening to long answers as there are replicas, so that no policy finds an idle one; then another comes with a first
prompt of TOKENS tokens. The worst gap between two pieces in any of their streams, from its request to its first token,
is put beside the worst one in the 4 s before it came. Policies follow each other round by round. Exit code 1 where
somebody was not answered, or the worst gap is not ten times as long collocated as pinned.
"""
from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pace_ros.study.live_serving.brochure import brochure
from pace_ros.study.live_serving.exactness import emptied
from pace_ros.study.live_serving.live_fleet import live_fleet, one_prefiller_two_decoders
from pace_ros.study.live_serving.visitor import ANSWERED, PATIENCE, Heard, Visitor
from pace_ros.study.refusal import refusing

ROUNDS, TOKENS = 2, 1500
SMALL_BATCH = 32
GOAL = 10.0
LISTENERS, SLOTS = 3, 4
UNDISTURBED = 4.0  # s that the listeners are alone
LONGEST = 240.0  # s for one round of one policy
NEVER_ENDS = {'max_tokens': 1900, 'logit_bias': {'2': -100.0}}  # token 2 ends an answer of the packaged model
PATIENT = {
    'admission': {'utilisation': 10.0, 'wait': 120.0}, 'limits': {'answer': 2000},
    'deadlines': {'prefill': 120.0, 'first_token': 120.0, 'next_token': 120.0, 'hand_over': 60.0},
}


@dataclass(frozen=True)
class Arm:
    """A policy, and how many prompt tokens its replicas read at a time."""

    policy: str
    batch: int = 512

    @property
    def name(self) -> str:
        """As it is shown."""
        return self.policy if self.batch == Arm.batch else f'{self.policy}, batches of {self.batch}'


ARMS = (Arm('pinned'), Arm('collocated'), Arm('collocated', SMALL_BATCH), Arm('disaggregated'), Arm('predicted'),
        Arm('least-loaded'), Arm('round-robin'))


async def disturbed(base_url: str, tokens: int, seed: int) -> dict[str, float | bool]:
    """Listeners, then one who disturbs them."""
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http, anyio.create_task_group() as group:
        heard = [Heard(0.0) for _ in range(LISTENERS)]
        visitors = [Visitor(http, base_url, f'listener-{seed}-{each}') for each in range(LISTENERS)]
        for visitor, one in zip(visitors, heard, strict=True):
            group.start_soon(_listen, visitor, one)
        while not all(each.pieces for each in heard):  # noqa: ASYNC110  what arrives is looked at from outside
            await anyio.sleep(0.02)
        begin = time.monotonic()
        await anyio.sleep(UNDISTURBED)
        newcomer = Visitor(http, base_url, f'newcomer-{seed}', brochure(tokens, seed))
        before = time.monotonic()
        new = await newcomer.ask('Which model is the quiet one?', max_tokens=4)
        until = new.pieces[0] if new.pieces else time.monotonic()
        streaming = sum(not each.ended and not each.error for each in heard)
        group.cancel_scope.cancel()
    return {
        'alone': max(each.worst_gap(begin, before) for each in heard),
        'stalled': max(each.worst_gap(before, until) for each in heard),
        'waited': new.ttfet, 'prompt': new.prompt, 'good': new.outcome == ANSWERED and streaming == LISTENERS,
    }


async def _listen(visitor: Visitor, heard: Heard) -> None:
    await visitor.ask('Tell me a very long story about a lighthouse.', heard=heard, patience=LONGEST, **NEVER_ENDS)


async def _bounded(base_url: str, tokens: int, seed: int) -> dict[str, float | bool]:
    with anyio.fail_after(LONGEST):
        return await disturbed(base_url, tokens, seed)


def rounds(folder: Path, count: int, tokens: int) -> Iterator[dict[str, float | bool | str]]:
    """One row an arm and round. Fleets that differ in their batches run at the same time; the other one is idle."""
    with contextlib.ExitStack() as stack:
        fleets = {}
        for batch in sorted({each.batch for each in ARMS}):
            place = folder / str(batch)
            place.mkdir()
            fleets[batch] = stack.enter_context(
                live_fleet(place, one_prefiller_two_decoders(slots=SLOTS, batch=batch)))
        for number in track(range(count * len(ARMS)), 'listening', console=Console(stderr=True), transient=True):
            arm = ARMS[number % len(ARMS)]
            fleet = fleets[arm.batch]
            emptied(fleet.urls, SLOTS)
            with fleet.gateway(arm.policy, **PATIENT) as gateway:
                yield {'arm': arm.name, **anyio.run(_bounded, gateway.url, tokens, number)}


def stalls_table(frame: pd.DataFrame) -> Table:
    """The worst of all rounds, and the worst ratio of one round."""
    table = Table('policy', 'rounds', 'prompt', 'newcomer waits', 'worst gap, undisturbed', 'worst gap, meanwhile',
                  'ratio, by round', title=f'{LISTENERS} listeners while a long prompt is read')
    for name in dict.fromkeys(frame.arm):
        own = frame[frame.arm == name]
        ratios = own.stalled / own.alone
        table.add_row(name, f'{own.good.sum()} of {len(own)}', f'{own.prompt.median():.0f}',
                      f'{own.waited.median():.1f} s', f'{own.alone.max() * 1000:.0f} ms',
                      f'{own.stalled.max() * 1000:.0f} ms', ', '.join(f'{each:.1f}' for each in ratios))
    return table


def campaign(count: int, tokens: int) -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame(rounds(Path(folder), count, tokens))
    Console(width=130).print(stalls_table(frame))
    worst = frame.groupby('arm').stalled.max()
    ratio = worst['collocated'] / worst['pinned']
    print(f'worst gap of collocated over pinned: {ratio:.1f} (goal {GOAL:.0f})')
    return int(not frame.good.all() or ratio < GOAL)


def main() -> int:
    """Run and print."""
    count, tokens = [int(each) for each in sys.argv[1:]] + [ROUNDS, TOKENS][len(sys.argv) - 1:]
    return refusing('serving_stall', lambda: campaign(count, tokens))


if __name__ == '__main__':
    sys.exit(main())
