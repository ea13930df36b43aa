"""Vectors in fixed places of a FAISS inner-product index, so that an id stays valid while others come and go."""
from __future__ import annotations

import faiss
import numpy as np
import numpy.typing as npt

from pace_ros.embedding import Vector
from pace_ros.nearest import nearest


class VectorSlots:
    """At most ``capacity`` unit vectors. FAISS's own ``remove_ids`` moves the vectors behind a removed one; here a
    freed slot is zeroed (a zero vector never scores above 0) and used again.
    """

    def __init__(self, dimension: int, capacity: int) -> None:
        self._index = faiss.IndexFlatIP(dimension)
        self._capacity = capacity
        self._free: list[int] = []

    def __len__(self) -> int:
        """Vectors held."""
        return int(self._index.ntotal) - len(self._free)

    @property
    def full(self) -> bool:
        """Whether a slot must be freed before the next vector."""
        return len(self) >= self._capacity

    def put(self, vector: Vector) -> int:
        """Store a unit vector, shape (d,), and return its slot. Raises OverflowError when full."""
        if self.full:
            raise OverflowError(f'all {self._capacity} slots are taken')
        if self._free:
            slot = self._free.pop()
            self._row(slot)[:] = vector
            return slot
        self._index.add(vector[None, :])
        return int(self._index.ntotal) - 1

    def free(self, slot: int) -> None:
        """Give a slot back; its vector is zeroed."""
        self._row(slot)[:] = 0.0
        self._free.append(slot)

    def vector(self, slot: int) -> Vector:
        """A copy of the vector in a slot, shape (d,)."""
        return np.array(self._row(slot))

    def vectors(self) -> npt.NDArray[np.float32]:
        """A copy of all slots, shape (slots, d); the freed ones are zero."""
        count, dimension = self._index.ntotal, self._index.d
        if not count:
            return np.zeros((0, dimension), np.float32)
        return np.array(faiss.rev_swig_ptr(self._index.get_xb(), count * dimension)).reshape(count, dimension)

    def nearest(self, query: Vector, k: int) -> list[tuple[int, float]]:
        """The ``k`` nearest slots with their cosine, best first; freed and absent ones score no more than 0."""
        return nearest(self._index, query, k)

    def _row(self, slot: int) -> npt.NDArray[np.float32]:
        rows: npt.NDArray[np.float32] = faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * self._index.d)
        start = slot * self._index.d
        return rows[start : start + self._index.d]
