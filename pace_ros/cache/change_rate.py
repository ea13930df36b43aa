"""How often knowledge changes, by class, and what life of an answer that allows."""
from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pace_ros.clock import Clock
from pace_ros.files import replacing

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Proposal:
    """``events`` changes seen, ``rate`` r_e an entry and second, and the longest life ``ttl`` (s) for a stale share."""

    events: int
    rate: float
    ttl: float

    def __str__(self) -> str:
        """One line for an operator."""
        return f'{self.events} changes, {self.rate * 86_400:.3g} an entry and day: ttl {self.ttl:.0f} s'


class ChangeRates:
    """Counts change events and the time for which entries could have changed, over restarts.

    The changes of an entry are taken as Poisson at rate r_e, so that an answer of age t is stale with probability
    1 - exp(-r_e t) <= r_e t (design section 5, property 6): a life of epsilon / r_e keeps that under epsilon.
    """

    def __init__(self, clock: Clock, file: Path | None = None) -> None:
        self._clock = clock
        self._file = file
        self._lock = threading.Lock()
        self._live: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._exposure: dict[str, float] = {}  # entry seconds by class
        self._counted = clock.monotonic()
        self._read()

    def watch(self, entries: Iterable[str]) -> None:
        """From now on there are entries of these classes, one class each."""
        with self._lock:
            self._count_time()
            self._live = Counter(entries)

    def note(self, changed: Iterable[str]) -> None:
        """Entries of these classes have changed, one class each."""
        with self._lock:
            self._count_time()
            self._events.update(changed)

    def proposals(self, target: float) -> Mapping[str, Proposal]:
        """For every class that has changed, the life that keeps the share of stale answers at most ``target``."""
        with self._lock:
            self._count_time()
            return {
                category: Proposal(events, events / time, target * time / events)
                for category, events in sorted(self._events.items()) if (time := self._exposure.get(category, 0.0)) > 0
            }

    def save(self) -> None:
        """Write the counts; a disk that refuses is logged."""
        if self._file is None:
            return
        with self._lock:
            self._count_time()
            counts = {'events': dict(self._events), 'entry_seconds': self._exposure}
        try:
            with replacing(self._file) as file:
                file.write(json.dumps(counts).encode())
        except OSError as error:
            log.error('the rates of change cannot be saved: %s', error)

    def _count_time(self) -> None:
        now = self._clock.monotonic()
        for category, entries in self._live.items():
            self._exposure[category] = self._exposure.get(category, 0.0) + entries * (now - self._counted)
        self._counted = now

    def _read(self) -> None:
        if self._file is None or not self._file.exists():
            return
        try:
            counts = json.loads(self._file.read_text(encoding='utf-8'))
            events = {str(key): int(value) for key, value in counts['events'].items()}
            exposure = {str(key): float(value) for key, value in counts['entry_seconds'].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning('%s is damaged, rates of change are counted anew: %s', self._file, error)
            return
        self._events.update(events)
        self._exposure.update(exposure)
