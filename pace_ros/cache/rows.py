"""What is in memory of each cached entry: its id, scope, life and use, by row number."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
NOBODY = -1  # the scope of a free row
ROOM = 1024  # rows at first; doubled when full


class Rows:
    """Arrays that grow with the highest row; a free row has no scope, and an infinite weight so that it is no minimum.

    ``written`` and ``expires`` are -inf and inf for an entry that does not age; ``last_hit`` is NaN without a hit.
    """

    def __init__(self) -> None:
        self.entry_id: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.scope: npt.NDArray[np.int32] = np.full(0, NOBODY, np.int32)
        self.weight: Floats = np.full(0, np.inf)
        self.written: Floats = np.zeros(0)
        self.expires: Floats = np.zeros(0)
        self.hits: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.last_hit: Floats = np.zeros(0)
        self._of: dict[int, int] = {}
        self._scopes: dict[str, int] = {}

    def __len__(self) -> int:
        """Entries held."""
        return len(self._of)

    def __iter__(self) -> Iterator[int]:
        """The ids held."""
        return iter(self._of)

    def of(self, entry_id: int) -> int | None:
        """The row of an entry, None if it is not held."""
        return self._of.get(entry_id)

    def number(self, scope: str) -> int:
        """What stands for a scope in ``scope``; none of its entries may be held."""
        return self._scopes.get(scope, NOBODY - 1)

    def put(self, row: int, entry_id: int, scope: str, *, life: tuple[float, float | None], weight: float) -> None:
        """Hold an entry that has not been used; ``life`` is when it was written and when it expires."""
        self._make_room(row)
        written, expires = life
        self.entry_id[row], self.weight[row] = entry_id, weight
        self.scope[row] = self._scopes.setdefault(scope, len(self._scopes))
        self.written[row], self.expires[row] = (-np.inf, np.inf) if expires is None else (written, expires)
        self.hits[row], self.last_hit[row] = 0, np.nan
        self._of[entry_id] = row

    def resume(self, row: int, hits: int, last_hit: float | None) -> None:
        """Take over how an entry was used before."""
        self.hits[row], self.last_hit[row] = hits, np.nan if last_hit is None else last_hit

    def drop(self, row: int) -> None:
        """Hold the entry of this row no longer."""
        del self._of[int(self.entry_id[row])]
        self.entry_id[row], self.scope[row], self.weight[row] = 0, NOBODY, np.inf

    def lightest(self) -> int:
        """The row of the least weight."""
        return int(np.argmin(self.weight))

    def expired(self, row: int, now: float) -> bool:
        """Whether an entry's life is over, or has not begun: the clock may have been set back."""
        return not self.written[row] <= now < self.expires[row]

    def use(self, row: int, weight: float, now: float) -> None:
        """Count a hit; log2 of the sum of weights orders the entries as the sum does."""
        self.weight[row] = np.logaddexp2(self.weight[row], weight)
        self.hits[row] += 1
        self.last_hit[row] = now

    def _make_room(self, row: int) -> None:
        old = len(self.scope)
        if row < old:
            return
        more = max(ROOM, old, row + 1 - old)
        self.entry_id = np.concatenate([self.entry_id, np.zeros(more, np.int64)])
        self.scope = np.concatenate([self.scope, np.full(more, NOBODY, np.int32)])
        self.weight = np.concatenate([self.weight, np.full(more, np.inf)])
        self.written, self.expires, self.last_hit = (
            np.concatenate([each, np.zeros(more)]) for each in (self.written, self.expires, self.last_hit)
        )
        self.hits = np.concatenate([self.hits, np.zeros(more, np.int64)])
