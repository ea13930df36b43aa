"""Questions and answers in the real GPTCache: SQLite for the texts, FAISS for the vectors, our encoder."""
from __future__ import annotations

import contextlib
import math
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from pace_ros.embedding import DegenerateText, Embedder, Vector
from pace_ros.study.gptcache.library import load

MAX_DISTANCE = 4.0  # squared distance of two opposite unit vectors


class Recall(NamedTuple):
    """What a lookup found: the answer or None, the cosine of the nearest question (NaN without one), the asked
    question's own vector, shape (d,), None if it has none, and the nearest question, '' without one.
    """

    answer: str | None
    score: float
    vector: Vector | None
    question: str = ''


def setting_of(cosine: float) -> float:
    """The library's ``similarity_threshold`` for a least cosine.

    Its FAISS index gives the squared distance of unit vectors, D = |a - b|^2 = 2 - 2 cos, its evaluation the rank
    4 - D = 2 + 2 cos in [0, 4]. A hit has a rank of at least 4 t, hence t = (1 + cos) / 2: 0.975 for a cosine of 0.95.
    """
    return (1 + cosine) / 2


def cosine_of(rank: float) -> float:
    """The cosine that a rank of the library's stands for: rank / 2 - 1."""
    return rank / 2 - 1


class _Evaluation:
    """The library's evaluation by distance, whose last rank and candidate can be read."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.forget()

    def forget(self) -> None:
        """As if nothing had been ranked."""
        self.rank, self.question = math.nan, ''

    def evaluation(self, asked: dict[str, Any], cached: dict[str, Any], **others: object) -> float:
        """Rank a candidate, 0 to 4."""
        self.rank = float(self._inner.evaluation(asked, cached, **others))
        self.question = str(cached.get('question', ''))
        return self.rank

    def range(self) -> tuple[float, float]:
        """The least and the greatest rank."""
        least, greatest = self._inner.range()
        return least, greatest


class _Closed:
    """Stands for the store's data once they are closed: the library closes them again when the process ends."""

    def close(self) -> None:
        """Nothing is left to close."""


class GptCacheStore:
    """Thread-safe. Blocking: a lookup takes milliseconds and may wait for the disk.

    As the library comes: exact search, nearest candidate only, LRU of ``capacity``, SQLite on a file, a report of
    every hit written to it (``reports``). ``folder`` holds its files and what they had; None: a temporary one, removed
    by ``close``. ``threshold`` is a cosine.
    """

    def __init__(
        self, embedder: Embedder, *, threshold: float = 0.95, capacity: int = 2000, folder: Path | None = None,
        reports: bool = True,
    ) -> None:
        """Open the files. Raises GptCacheUnusable where the library is missing, ValueError for a bad threshold."""
        if not -1 <= threshold <= 1:
            raise ValueError(f'threshold must be a cosine, from -1 to 1, not {threshold}.')
        self._library = load()
        self._embedder = embedder
        self._lock = threading.Lock()
        self._closing = contextlib.ExitStack()
        self._given: Vector | None = None
        self._embedded: Callable[[], None] | None = None
        self._asked: Vector | None = None
        if folder is None:
            folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix='gptcache-')))
        folder.mkdir(parents=True, exist_ok=True)
        self._evaluation = _Evaluation(self._library.evaluation.SearchDistanceEvaluation(MAX_DISTANCE))
        self._cache = self._library.core.Cache()
        self._cache.init(
            pre_embedding_func=self._library.prompt_of,
            embedding_func=self._embed,
            data_manager=self._open_data(folder, capacity),
            similarity_evaluation=self._evaluation,
            config=self._library.core.Config(
                similarity_threshold=setting_of(threshold), disable_report=not reports
            ),
        )
        self._closing.callback(self._close_data)

    def _open_data(self, folder: Path, capacity: int) -> Any:
        manager = self._library.manager
        with warnings.catch_warnings():  # the library uses a name SQLAlchemy has moved
            warnings.filterwarnings('ignore', message='.*declarative_base')
            texts = manager.CacheBase('sqlite', sql_url=f'sqlite:///{folder / "sqlite.db"}')
        return manager.get_data_manager(
            texts,
            manager.VectorBase('faiss', dimension=self._embedder.dimension, index_path=str(folder / 'faiss.index')),
            max_size=capacity,
        )

    def __enter__(self) -> GptCacheStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Questions held."""
        with self._lock:
            return int(self._cache.data_manager.s.count())

    def get(self, text: str, embedded: Callable[[], None] = lambda: None) -> Recall:
        """Look a question up; ``embedded`` is told between encoder and search."""
        with self._lock:
            self._asked, self._embedded = None, embedded
            self._evaluation.forget()
            try:
                answer = self._library.api.get(text, cache_obj=self._cache)
            except DegenerateText:
                answer = None
            finally:
                self._embedded = None
            return Recall(None if answer is None else str(answer), cosine_of(self._evaluation.rank), self._asked,
                          self._evaluation.question)

    def put(self, text: str, answer: str, vector: Vector | None = None) -> bool:
        """Store an answer; ``vector`` is the question's where it is known. Says whether it is stored: the library does
        not store an empty answer, nor a question without a vector.
        """
        with self._lock:
            saved = self._cache.report.op_save
            before, self._given = saved.count, vector
            try:
                self._library.api.put(text, answer, cache_obj=self._cache)
            except DegenerateText:
                return False
            finally:
                self._given = None
            return bool(saved.count > before)

    def fill(self, entries: Sequence[tuple[str, str, Vector]]) -> None:
        """Store many questions with their answers and vectors in one step, by the library's own import: a ``put`` each
        may wait for the disk.
        """
        if entries:
            questions, answers, vectors = map(list, zip(*entries, strict=True))
            with self._lock:
                self._cache.data_manager.import_data(questions, answers, vectors, [None] * len(questions))

    def close(self) -> None:
        """Write the index and let go of the files; may be called again."""
        with self._lock:
            self._closing.close()

    def _embed(self, text: str, **_: object) -> Vector:
        vector = self._embedder.embed(text) if self._given is None else self._given
        self._asked = vector
        if self._embedded is not None:
            self._embedded()
        return vector

    def _close_data(self) -> None:
        data, self._cache.data_manager = self._cache.data_manager, _Closed()
        data.close()
        data.s.Session.kw['bind'].dispose()  # the library leaves its connections open
