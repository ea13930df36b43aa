"""Those who wait, in the order in which they came; those who come again stand before the others."""
from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator

import anyio


class Place:
    """One in the line."""


class WaitingLine:
    """Whoever is first is served; the others are told when something has changed."""

    def __init__(self) -> None:
        self._again: deque[Place] = deque()
        self._places: deque[Place] = deque()
        self._changed = anyio.Event()

    def __len__(self) -> int:
        return len(self._again) + len(self._places)

    @contextlib.contextmanager
    def place(self, *, again: bool = False) -> Iterator[Place]:
        """A place at the end for as long as the context is open; whoever is behind is told when it is given up."""
        line, place = self._again if again else self._places, Place()
        line.append(place)
        try:
            yield place
        finally:
            line.remove(place)
            self.changed()

    def is_first(self, place: Place) -> bool:
        """Whether nobody stands before."""
        return (self._again or self._places)[0] is place

    def changed(self) -> None:
        """Something became free: who waits looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def wait(self, longest: float) -> None:
        """Until something has changed, or ``longest`` s."""
        changed = self._changed
        with anyio.move_on_after(longest):
            await changed.wait()
