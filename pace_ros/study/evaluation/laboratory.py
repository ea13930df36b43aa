"""What all runs of a process share: encoder, data sets with their indexes, judge, filler latencies."""
from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pace_ros.config import Config
from pace_ros.embedding import Embedder, Vector, open_embedder
from pace_ros.retrieval.index import KnowledgeIndex
from pace_ros.settings import with_values
from pace_ros.study.datasets.question import DataSet
from pace_ros.study.datasets.registry import load
from pace_ros.study.judging.reference import ReferenceJudge
from pace_ros.study.virtual.fillers import FillerLatencies
from pace_ros.understanding import Understanding


@dataclass(frozen=True)
class Subject:
    """A data set made ready: its ``index`` is the robot's knowledge, ``texts`` what each entry says, by id."""

    data: DataSet
    index: KnowledgeIndex
    texts: Mapping[str, tuple[str, ...]]
    understanding: Understanding
    judge: ReferenceJudge
    base: Config


class Remembering:
    """An encoder that computes each text once: for knowledge and snapshots, which no visitor waits for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self.dimension, self.fingerprint = embedder.dimension, embedder.fingerprint

    def embed(self, text: str) -> Vector:
        """As the encoder's own."""
        if text not in self._known:
            self._known[text] = self._embedder.embed(text)
        return self._known[text]

    def embed_passage(self, text: str) -> Vector:
        """As the encoder's own."""
        return self._embedder.embed_passage(text)


class Laboratory:
    """One for each process; ``folder`` is where public data lie, ``language`` (zh, en) in which is asked."""

    def __init__(self, *, language: str = 'zh', folder: Path | None = None) -> None:
        self.embedder = open_embedder(Config().embedding)
        self.remembering = Remembering(self.embedder)
        self.latencies = FillerLatencies.read()
        self._language = language
        self._folder = folder
        self.subject = functools.cache(self._subject)

    def _subject(self, name: str) -> Subject:
        """Load a data set. Raises DataSetError."""
        data = load(name, self._folder)
        if any(each.locale.startswith(self._language) for each in data.seeds):
            data = data.in_language(self._language)
        names = {} if data.names_file is None else {'names_file': str(data.names_file)}
        base = with_values(Config(), {
            'l0.file': 'none', 'record.file': 'none', 'router.file': 'none', 'speech.enabled': False, **names,
        })
        understanding = Understanding.read(base, self.embedder.fingerprint)
        index = KnowledgeIndex(data.knowledge, self.remembering)
        texts = {key: tuple(entry.answers.values()) for key, entry in index.entries.items()}
        return Subject(data, index, texts, understanding, ReferenceJudge(understanding.facts), base)
