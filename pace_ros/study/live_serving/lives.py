"""Where conversations live from their first turn to their last, as a gateway lists them over time."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

PERIOD = 0.1  # s between two looks
PATIENCE = 5.0  # s


@dataclass
class Life:
    """One conversation: the replica and slot of each turn that had been answered when it was looked at."""

    turns: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    held: int = 0

    @property
    def replicas(self) -> set[str]:
        """Wherever it has lived."""
        return {replica for places in self.turns.values() for replica, _ in places}

    @property
    def last_turn(self) -> int:
        """The number of the last turn that was seen answered."""
        return max(self.turns, default=0)


class Lives:
    """All conversations that have been listed, by id."""

    def __init__(self) -> None:
        self.seen: dict[str, Life] = {}

    def look(self, listed: Sequence[Mapping[str, Any]]) -> None:
        """One listing. A conversation on its way to its first place has none yet."""
        for each in listed:
            life = self.seen.setdefault(each['id'], Life())
            if 'replica' in each:
                life.turns.setdefault(int(each['turns']), set()).add((each['replica'], int(each['slot'])))
                life.held = max(life.held, int(each['held']))


@contextlib.contextmanager
def watched(base_url: str) -> Iterator[Lives]:
    """Look at a gateway at ``base_url`` (with /v1) ten times a second meanwhile, in a thread, and once at the end."""
    lives, over = Lives(), threading.Event()

    def look(http: httpx.Client) -> None:
        with contextlib.suppress(httpx.HTTPError):
            lives.look(http.get(f'{base_url}/conversations').json()['conversations'])

    def watch() -> None:
        with httpx.Client(timeout=PATIENCE, trust_env=False) as http:
            while not over.wait(PERIOD):
                look(http)
            look(http)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lives
    finally:
        over.set()
        thread.join()
