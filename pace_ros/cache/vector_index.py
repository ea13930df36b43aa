"""Which vectors are near a question's: exactly while they are few, by an inverted file when they are many."""
from __future__ import annotations

import contextlib
import logging
import threading
from typing import Protocol

import faiss
import numpy as np
import numpy.typing as npt

from pace_ros.embedding import Vector
from pace_ros.nearest import nearest

log = logging.getLogger(__name__)
Matrix = npt.NDArray[np.float32]
RowNumbers = npt.NDArray[np.int64]
FLAT_LIMIT = 50_000  # vectors searched exactly: about 7 ms at 512 dimensions
LISTS = 1024  # of the inverted file: a thousand vectors each at a million
PROBES = 32  # lists looked into (measured by benchmarks/large_cache.py)
TRAINING = 40 * LISTS  # vectors that the lists are made from
PORTION = 20_000  # vectors added at once


class _Vectors(Protocol):
    """Vectors by row number."""

    exact: bool

    def add(self, rows: RowNumbers, vectors: Matrix) -> None: ...

    def remove(self, row: int) -> None: ...

    def nearest(self, query: Vector, k: int) -> list[tuple[int, float]]: ...


class FlatVectors:
    """All vectors side by side, the row number is the place. FAISS's own ``remove_ids`` would move those behind a
    removed one; here a freed place is zeroed (a zero vector never scores above 0) and used again.
    """

    exact = True

    def __init__(self, dimension: int) -> None:
        self._index = faiss.IndexFlatIP(dimension)

    def add(self, rows: RowNumbers, vectors: Matrix) -> None:
        """Put vectors in freed places, or behind the last one, in order."""
        begin = 0
        while begin < len(rows) and rows[begin] < self._index.ntotal:
            self._place(int(rows[begin]))[:] = vectors[begin]
            begin += 1
        if begin < len(rows):
            self._index.add(vectors[begin:])

    def remove(self, row: int) -> None:
        """Give a place back."""
        self._place(row)[:] = 0.0

    def nearest(self, query: Vector, k: int) -> list[tuple[int, float]]:
        """The ``k`` nearest rows with their cosine, best first."""
        return nearest(self._index, query, k)

    def vectors(self, rows: RowNumbers) -> Matrix:
        """A copy of these rows, shape (n, d)."""
        count, dimension = self._index.ntotal, self._index.d
        every: Matrix = faiss.rev_swig_ptr(self._index.get_xb(), count * dimension).reshape(count, dimension)
        return every[rows]

    def _place(self, row: int) -> Vector:
        start = row * self._index.d
        every: Vector = faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * self._index.d)
        return every[start : start + self._index.d]


class InvertedVectors:
    """Vectors in lists around centroids, a byte a component: a quarter of the memory, near neighbours missed rarely."""

    exact = False

    def __init__(self, sample: Matrix) -> None:
        """Make the lists from typical vectors, shape (n, d)."""
        dimension, lists = sample.shape[1], max(1, min(LISTS, len(sample) // 40))
        self._quantizer = faiss.IndexFlatIP(dimension)
        self._index = faiss.IndexIVFScalarQuantizer(
            self._quantizer, dimension, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        self._index.sq.rangestat_arg = 0.5  # room for components beyond those of the sample
        self._index.cp.niter = 5  # of the default's ten: rescoring and 32 probes make up for rougher lists
        self._index.cp.min_points_per_centroid = 1
        self._index.train(sample[:: max(1, len(sample) // TRAINING)])
        self._index.set_direct_map_type(faiss.DirectMap.Hashtable)  # type: ignore[attr-defined]  # the stubs lack it
        self._index.nprobe = PROBES

    def add(self, rows: RowNumbers, vectors: Matrix) -> None:
        """Add vectors under row numbers not in use."""
        self._index.add_with_ids(vectors, rows)

    def remove(self, row: int) -> None:
        """Remove a vector; the others keep their row numbers."""
        rows = np.array([row], np.int64)
        self._index.remove_ids(faiss.IDSelectorArray(1, faiss.swig_ptr(rows)))

    def nearest(self, query: Vector, k: int) -> list[tuple[int, float]]:
        """About the ``k`` nearest rows with about their cosine, best first."""
        return nearest(self._index, query, k)


class VectorIndex:
    """Unit vectors by row number; a freed number is used again. Every call but ``close`` is made under ``lock``.

    Beyond ``flat_limit`` vectors an inverted file is built on a thread of its own while the flat index serves, and
    takes its place, with what has changed meanwhile, under ``lock``.
    """

    def __init__(self, dimension: int, lock: threading.Lock, *, flat_limit: int = FLAT_LIMIT) -> None:
        self._dimension = dimension
        self._lock = lock
        self._flat_limit = flat_limit
        self._closing = threading.Event()
        self._builder: threading.Thread | None = None
        self.clear()

    def __len__(self) -> int:
        """Vectors held."""
        return self._rows - len(self._free)

    @property
    def exact(self) -> bool:
        """Whether scores are exact and no neighbour is missed."""
        return self._vectors.exact

    def clear(self) -> None:
        """Remove everything."""
        self._vectors: _Vectors = FlatVectors(self._dimension)
        self._rows = 0
        self._free: list[int] = []
        self._live: set[int] | None = None  # rows of a build under way that are still as they were at its begin
        self._build = object()  # which one may still take its result into use

    def train(self, sample: Matrix) -> None:
        """Use an inverted file from the beginning; ``sample`` is typical of what will be added."""
        self._vectors = InvertedVectors(sample)

    def put(self, vector: Vector) -> int:
        """Hold a vector, shape (d,); returns its row number."""
        faiss.omp_set_num_threads(1)  # of this thread: for one vector a second one costs 2 ms on a busy machine
        row = self._free.pop() if self._free else self._rows
        self._rows = max(self._rows, row + 1)
        self._vectors.add(np.array([row], np.int64), vector[None, :])
        self._grow()
        return row

    def put_all(self, vectors: Matrix) -> RowNumbers:
        """Hold vectors, shape (n, d), under the row numbers behind the last; returns them."""
        rows = np.arange(self._rows, self._rows + len(vectors), dtype=np.int64)
        self._vectors.add(rows, vectors)
        self._rows += len(vectors)
        return rows

    def free(self, row: int) -> None:
        """Hold a vector no longer."""
        self._vectors.remove(row)
        self._free.append(row)
        if self._live is not None:
            self._live.discard(row)

    def nearest(self, query: Vector, k: int) -> list[tuple[int, float]]:
        """The ``k`` nearest row numbers with their score, best first; freed ones may be among them, with no score
        above 0.
        """
        return self._vectors.nearest(query, k)

    def close(self) -> None:
        """End a build under way; not under ``lock``."""
        self._closing.set()
        self.settle()

    def settle(self) -> None:
        """Wait for a build under way; not under ``lock``."""
        if self._builder is not None:
            self._builder.join()

    def _grow(self) -> None:
        flat = self._vectors
        if not isinstance(flat, FlatVectors) or self._live is not None or len(self) <= self._flat_limit:
            return
        rows = np.setdiff1d(np.arange(self._rows, dtype=np.int64), np.array(self._free, np.int64))
        self._live = set(rows.tolist())
        self._build = object()
        self._builder = threading.Thread(
            target=self._build_inverted, args=(self._build, rows, flat.vectors(rows)), name='cache-index', daemon=True
        )
        self._builder.start()

    def _build_inverted(self, build: object, rows: RowNumbers, vectors: Matrix) -> None:
        faiss.omp_set_num_threads(1)  # of this thread: visitors' turns need the rest
        try:
            self._fill_inverted(build, rows, vectors)
        except (RuntimeError, MemoryError) as error:  # FAISS raises RuntimeError; the exact index goes on
            log.error('the inverted file for %d answers cannot be built: %s', len(rows), error)

    def _fill_inverted(self, build: object, rows: RowNumbers, vectors: Matrix) -> None:
        inverted = InvertedVectors(vectors)
        for begin in range(0, len(rows), PORTION):
            if self._closing.is_set():
                return
            inverted.add(rows[begin : begin + PORTION], vectors[begin : begin + PORTION])
        with self._lock, contextlib.suppress(_Outrun):
            self._take_over(build, rows, inverted)

    def _take_over(self, build: object, rows: RowNumbers, inverted: InvertedVectors) -> None:
        flat = self._vectors
        if build is not self._build or self._live is None or not isinstance(flat, FlatVectors):
            raise _Outrun
        for row in set(rows.tolist()) - self._live:
            inverted.remove(row)
        late = np.array(sorted(set(range(self._rows)) - set(self._free) - self._live), np.int64)
        if len(late):
            inverted.add(late, flat.vectors(late))
        self._vectors, self._live = inverted, None
        log.info('the cache of %d answers is searched by an inverted file', len(self))


class _Outrun(Exception):
    """What was built from is gone."""
