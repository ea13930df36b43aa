"""Which settings of a replica are measured, and the table of what was."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from pace_ros.study.serving.probes import Probed, Prober

COLUMNS = tuple(each.name for each in dataclasses.fields(Probed))
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """Token counts to read at once, depths to read ``appends`` at, batches and contexts of steps, token counts to hand
    over; each ``repeats`` times, one setting after the other, so that a disturbance does not hit all of one.

    Lengths that are read are no powers of two: whole tiles of 64 tokens are read faster than what a prompt leaves of
    the last one.
    """

    reads: tuple[int, ...] = (30, 100, 250, 500, 1000)
    appends: tuple[int, ...] = (10, 50, 120)
    depths: tuple[int, ...] = (250, 1000)
    batches: tuple[int, ...] = (1, 2, 4)
    contexts: tuple[int, ...] = (64, 512)
    moved: tuple[int, ...] = (128, 512, 1024)
    repeats: int = 3

    @property
    def context(self) -> int:
        """Tokens that a slot must hold."""
        return max(*self.reads, max(self.depths) + max(self.appends), *self.contexts, *self.moved) + 64

    @property
    def slots(self) -> int:
        """Slots that are needed."""
        return max(2, *self.batches)

    def count(self) -> int:
        """Calls of ``measured`` in all."""
        return self.repeats * (len(self.reads) + len(self.appends) * len(self.depths) + len(self.moved)
                               + len(self.batches) * len(self.contexts))


def measured(prober: Prober, settings: Settings, progress: Progress = lambda _done, _total: None) -> pd.DataFrame:
    """All settings, one row a measurement with the columns COLUMNS. Raises ProbeError."""
    rows: list[Probed] = []
    prober.read(settings.reads[0], 0)  # the first request of a process is slower than all that follow
    done = 0
    for _ in range(settings.repeats):
        for found in _once(prober, settings):
            rows += found
            done += 1
            progress(done, settings.count())
    return pd.DataFrame([dataclasses.asdict(each) for each in rows], columns=list(COLUMNS))


def _once(prober: Prober, settings: Settings) -> Iterator[list[Probed]]:
    for tokens in settings.reads:
        yield [prober.read(tokens, 0)]
    for depth in settings.depths:
        for tokens in settings.appends:
            yield [prober.read(tokens, depth)]
    for batch in settings.batches:
        for context in settings.contexts:
            yield [prober.step(range(batch), context)]
    for tokens in settings.moved:
        yield prober.hand_over(tokens)
