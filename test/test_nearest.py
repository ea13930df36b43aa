from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
import pytest

from pace_ros.nearest import nearest


def index_of(*rows: tuple[float, float]) -> faiss.IndexFlatIP:
    index = faiss.IndexFlatIP(2)
    if rows:
        index.add(np.array(rows, np.float32))
    return index


def test_the_best_come_first_with_their_inner_products() -> None:
    index = index_of((0.0, 1.0), (1.0, 0.0), (0.6, 0.8))
    found = nearest(index, np.array([1.0, 0.0], np.float32), 2)
    assert [row for row, _ in found] == [1, 2]
    assert [score for _, score in found] == pytest.approx([1.0, 0.6])


def test_no_more_than_there_are() -> None:
    assert len(nearest(index_of((1.0, 0.0)), np.array([1.0, 0.0], np.float32), 50)) == 1
    assert nearest(index_of(), np.array([1.0, 0.0], np.float32), 5) == []


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_query_that_is_not_finite_finds_nothing(bad: float) -> None:
    assert nearest(index_of((1.0, 0.0)), np.array([bad, 0.0], np.float32), 1) == []


def test_openmp_gets_one_thread_on_every_thread_that_searches() -> None:
    def threads_after_a_search() -> int:
        nearest(index_of((1.0, 0.0)), np.array([1.0, 0.0], np.float32), 1)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(max_workers=1) as worker:
        assert worker.submit(threads_after_a_search).result(10.0) == 1
