"""Slots with a cache each against slots that share one: which streams step together, and what others' tokens cost.

    scripts/campaign.sh serving_slots [ROUNDS]

Two replicas of the packaged small model on one core, one of each kind, measured in turn: a step of streams in slots
that are neighbours and in slots that are not, and reading; first with all other slots empty, then with five of them
full of other visitors' text. What one measurement leaves in the slots is erased before the next. Medians of the rounds.
"""
from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pace_ros.study.live_serving.live_fleet import Member, live_fleet
from pace_ros.study.refusal import refusing
from pace_ros.study.serving.probes import Prober

ROUNDS = 3
SLOTS, CONTEXT = 12, 1024
DEPTH = 250  # tokens of context that a stream has, or that a prompt is read behind
STREAMS = ((0,), (0, 1), (0, 2), (0, 1, 2, 3), (0, 2, 4, 6))
READS = ((50, DEPTH), (DEPTH, 0))
OTHERS, HELD = range(7, 12), 900  # slots of other visitors, and tokens in each
OWN, SHARED = 'a cache each', 'one cache'
EMPTY, FULL = 'others empty', f'others hold {len(OTHERS) * HELD} tokens'
MEMBERS = [Member(OWN, 'both', 1, slots=SLOTS, context=CONTEXT),
           Member(SHARED, 'both', 1, slots=SLOTS, context=CONTEXT, kv=SLOTS * CONTEXT)]


def measured(probe: Prober) -> Iterator[tuple[str, float]]:
    """What was done, and the s it took."""
    for slots in STREAMS:
        _emptied(probe)
        yield f'a step of slots {", ".join(map(str, slots))}', probe.step(slots, DEPTH).seconds
    for tokens, depth in READS:
        _emptied(probe)
        yield f'reading {tokens} tokens behind {depth}', probe.read(tokens, depth).seconds


def _emptied(probe: Prober) -> None:
    for slot in range(min(OTHERS)):
        probe.erase(slot)


def campaign(probes: Mapping[str, Prober], rounds: int, console: Console) -> pd.DataFrame:
    """One row a measurement: others, kind, what, seconds."""
    rows = []
    for probe in probes.values():
        probe.read(*READS[0])  # the first request of a process is slower than all that follow
    for others in (EMPTY, FULL):
        if others == FULL:
            for probe in probes.values():
                for slot in OTHERS:
                    probe.fill(slot, HELD)
        for _ in track(range(rounds), description=others, console=console):
            rows += [(others, kind, what, seconds) for kind, probe in probes.items()
                     for what, seconds in measured(probe)]
    return pd.DataFrame(rows, columns=['others', 'kind', 'what', 'seconds'])


def shown(found: pd.DataFrame, rounds: int) -> Table:
    """Medians in ms, both kinds side by side."""
    table = Table('others', 'what', f'{OWN} (ms)', f'{SHARED} (ms)', 'ratio', title=f'Medians of {rounds} rounds')
    medians = found.groupby(['others', 'what', 'kind'], sort=False)['seconds'].median().unstack('kind') * 1000
    for (others, what), row in medians.iterrows():
        table.add_row(others, what, f'{row[OWN]:.1f}', f'{row[SHARED]:.1f}', f'{row[SHARED] / row[OWN]:.2f}')
    return table


def main() -> int:
    """All of it; 0."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix='pace-slots-') as folder, live_fleet(Path(folder), MEMBERS) as fleet, \
            Prober(fleet.urls[OWN]) as own, Prober(fleet.urls[SHARED]) as shared:
        console.print(shown(campaign({OWN: own, SHARED: shared}, rounds, Console(stderr=True)), rounds))
    return 0


if __name__ == '__main__':
    sys.exit(refusing('serving_slots', main))
