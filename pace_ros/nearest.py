"""Exact nearest neighbours of one vector, by FAISS on the calling thread alone."""
from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import numpy.typing as npt


def nearest(index: Any, query: npt.NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """The ``k`` nearest rows of an inner-product index with their scores, best first; ``query`` has shape (d,).

    Fewer where the index has fewer, none for a query that is not finite. OpenMP's threads gain nothing for one query
    and spin beside the encoder (100,000 rows: 48 ms instead of 15 from a worker thread on two cores); how many it may
    use is a setting of the calling thread, so it is made here, at each call.
    """
    if index.ntotal == 0 or not np.isfinite(query).all():
        return []
    faiss.omp_set_num_threads(1)
    scores, rows = index.search(query[None, :], min(k, index.ntotal))
    return [(int(row), float(score)) for row, score in zip(rows[0], scores[0], strict=True) if row >= 0]
